package measurements

import (
	"slices"

	"driftlab/engine"
	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/trainer/method/batch"
)

// configurations counts the distinct greedy responses to a prompt over numbers of slots and of
// tensor-parallel ranks, and measures the exact KL of the least and the greatest number of ranks.
type configurations struct {
	Models []struct {
		Name    string
		Model   frozen
		Tokens  sizes
		Prompts sizes
	}
	Slots, Ranks []int
	// Kinds are families of engines: the numerics, whether ranks change them, and whether the
	// order of sums depends on the batch.
	Kinds []struct {
		Numerics     format
		Fixed        bool // ranks that own whole subtrees leave a tree as it is
		BatchVariant bool `yaml:"batch variant"`
	}
}

// numerics are the numerics of a kind over the given number of ranks.
func (m *configurations) numerics(kind, ranks int) engine.Numerics {
	k := m.Kinds[kind]
	n := k.Numerics.Numerics
	if !k.Fixed {
		n = tensorParallel(n, ranks)
	}
	if k.BatchVariant {
		n.Reduction.BatchVariant = true
	}
	return n
}

// Measure records counts and KL of every model, a value for each kind.
func (m *configurations) Measure(e *claim.Env, o *claim.Observation) {
	for _, f := range m.Models {
		p := f.Model.params(e)
		prompts := promptsFor(e.Rand(promptStream), p.Config.Vocab, f.Prompts.of(e))
		for kind := range m.Kinds {
			outputs := make([][][]int32, len(prompts))
			for _, slots := range m.Slots {
				for _, ranks := range m.Ranks {
					b := sample(e, probe{Params: p, Rollout: m.numerics(kind, ranks), Sequences: len(prompts), Slots: slots, Tokens: f.Tokens.of(e), Prompts: prompts, Greedy: true})
					for i := range prompts {
						from, to := b.Span(i)
						outputs[i] = distinctTexts(outputs[i], b.Token[from:to])
					}
				}
				e.Continue()
			}
			mean := 0.0
			for _, texts := range outputs {
				mean += float64(len(texts)) / float64(len(outputs))
			}
			o.Append(f.Name+" distinct", mean)
			b := sample(e, probe{Params: p, Rollout: m.numerics(kind, slices.Max(m.Ranks)), Sequences: len(prompts), Tokens: f.Tokens.of(e), Prompts: prompts, Distributions: true})
			o.Append(f.Name+" KL", gapTo(b, p, m.numerics(kind, slices.Min(m.Ranks))).ExactKL)
		}
	}
}

// distinctTexts are the texts with another one if it is not among them.
func distinctTexts(texts [][]int32, text []int32) [][]int32 {
	if slices.ContainsFunc(texts, func(other []int32) bool { return slices.Equal(other, text) }) {
		return texts
	}
	return append(texts, text)
}

// copies decodes copies of prompts greedily among other requests that start and end at different
// times, so that the number of rows per call wanders.
type copies struct {
	Models []struct {
		Name   string
		Model  frozen
		Copies sizes
	}
	Prompts, Slots int
	Tokens         sizes
	Engines        []format
}

// Measure records the mean number of distinct completions per prompt and the mean position of the
// first split (the length where there is none), a value for each engine.
func (m *copies) Measure(e *claim.Env, o *claim.Observation) {
	for _, f := range m.Models {
		p := f.Model.params(e)
		for _, n := range m.Engines {
			e.Continue()
			distinct, split := m.decode(e, p, n.Numerics, f.Copies.of(e))
			o.Append(f.Name+" distinct", distinct)
			o.Append(f.Name+" first split", split)
		}
	}
}

func (m *copies) decode(e *claim.Env, p *model.Params, n engine.Numerics, each int) (distinct, split float64) {
	rng, length := e.Rand(promptStream), m.Tokens.of(e)
	own := promptsFor(rng, p.Config.Vocab, m.Prompts)
	var prompts [][]int32
	var owner []int
	for range each {
		for k, prompt := range own {
			prompts, owner = append(prompts, prompt), append(owner, k)
			// A filler as long as the room leaves it from one token to all: it ends
			// when the context does.
			filler := make([]int32, 1+rng.IntN(p.Config.Context-8))
			for i := range filler {
				filler[i] = int32(rng.IntN(p.Config.Vocab))
			}
			prompts, owner = append(prompts, filler), append(owner, -1)
		}
	}
	b := sample(e, probe{Params: p, Rollout: n, Sequences: len(prompts), Tokens: length, Slots: m.Slots, Prompts: prompts, Greedy: true})
	for k := range own {
		d, s := differing(b, owner, k, length)
		distinct += float64(d / float64(m.Prompts))
		split += float64(s / float64(m.Prompts))
	}
	return distinct, split
}

// differing counts the distinct responses of one owner, and where the first of
// them leaves another.
func differing(b *batch.Batch, owner []int, k, length int) (distinct, split float64) {
	var seen [][]int32
	at := length
	for i, who := range owner {
		if who != k {
			continue
		}
		from, to := b.Span(i)
		text := b.Token[from:to]
		for _, other := range seen {
			n := 0
			for n < min(len(other), len(text)) && other[n] == text[n] {
				n++
			}
			if n < max(len(other), len(text)) {
				at = min(at, n)
			}
		}
		seen = distinctTexts(seen, text)
	}
	return float64(len(seen)), float64(at)
}
