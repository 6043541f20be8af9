package reduction

import (
	"context"
	"fmt"
	"slices"

	"driftlab/engine"
	"driftlab/experiments/claims/claim"
	"driftlab/model"
	"driftlab/trainer/method/batch"
)

func uniqueCompletions() claim.Claim {
	return claim.Claim{
		ID:        "unique-completions",
		Title:     "Greedy copies of a prompt differ when the batch decides the order of sums (bf16, 256 tokens, 2 trained or 8 untrained layers)",
		Statement: "Greedy decoding is not reproducible when the batch size changes the reduction order.",
		Source:    "Thinking Machines, Defeating nondeterminism in LLM inference (2025); TBIK, 2511.17826.",
		Figure:    "80 distinct texts in 1,000 copies at temperature 0, first split at token 103; all identical with invariant kernels",
		Threshold: "Distinct completions per prompt, bf16 with the variant order: interval above 1. " +
			"Reported: exactly 1 with the fixed order; fp32 at most as many as bf16.",
		Setup: "Copies of eight prompts decoded greedily among other requests that start and end at different times, 64 slots, so that the number of rows per call wanders. " +
			"Natural: chain-base past the stop token. Amplified: a random model of 8 layers. " +
			"The count grows with the copies of a prompt and their length: here 8 copies of 256 tokens, in the quick form 6 copies of 192, which has a smaller count.",
		LeftOut:  "The cost ratio of the kernels: it belongs to a device.",
		Commands: []string{"simulate measure --rollout bf16-batch-variant --learner bf16"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.OnlyAmplified,
			Check: "all 8 checks in five seeds; decisive: natural, distinct completions per prompt, bf16, batch-variant: > 1 in every seed, not met"},
		Unit:    claim.Model,
		Version: 3,
		Measure: measureUnique,
		Judge:   judgeUnique,
	}
}

func measureUnique(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	length := e.Pick(256, 192, 24)
	shipped, err := e.Base(ctx, length+64)
	if err != nil {
		return nil, err
	}
	for _, m := range []struct {
		name   claim.Level
		params *model.Params
		copies int
	}{{claim.Natural, shipped, e.Pick(16, 12, 2)}, {claim.Amplified, e.Deep(8, 8, 256, length+64), e.Pick(8, 6, 2)}} {
		var distinct, split []float64
		for _, n := range []engine.Numerics{claim.Numerics("bf16-batch-variant"), claim.Numerics("fp32-batch-variant"), claim.Numerics("bf16"), claim.Numerics("fp32")} {
			d, s := copies(e, m.params, n, m.copies, length)
			distinct, split = append(distinct, d), append(split, s)
		}
		o.Set(string(m.name)+" distinct", distinct...)
		o.Set(string(m.name)+" first split", split...)
	}
	return o, nil
}

// uniquePrompts is the number of prompts that are copied.
const uniquePrompts = 8

// copies decodes copies of eight prompts among fillers and returns the mean
// number of distinct completions per prompt, and the mean position of the first
// split (the length where there is none).
func copies(e *claim.Env, p *model.Params, n engine.Numerics, each, length int) (distinct, split float64) {
	rng := e.Rand(claim.PromptStream)
	own := claim.Prompts(rng, p.Config.Vocab, uniquePrompts)
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
	b := e.Sample(claim.Probe{Params: p, Rollout: n, Sequences: len(prompts), Tokens: length, Slots: 64, Prompts: prompts, Greedy: true})
	for k := range own {
		d, s := differing(b, owner, k, length)
		distinct += float64(d / uniquePrompts)
		split += float64(s / uniquePrompts)
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
		if slices.ContainsFunc(seen, func(other []int32) bool { return slices.Equal(other, text) }) {
			continue
		}
		for _, other := range seen {
			n := 0
			for n < min(len(other), len(text)) && other[n] == text[n] {
				n++
			}
			at = min(at, n)
		}
		seen = append(seen, text)
	}
	return float64(len(seen)), float64(at)
}

func judgeUnique(j *claim.Judge) {
	names := []string{"bf16, batch-variant", "fp32, batch-variant", "bf16, fixed order", "fp32, fixed order"}
	for _, d := range []claim.Level{claim.Natural, claim.Amplified} {
		f := string(d) + " distinct"
		j.Primary(claim.Above(d, "distinct completions per prompt, bf16, batch-variant", j.Entry(f, 0), 1))
		j.Secondary(claim.AtMost(d, "fp32 minus bf16, distinct completions", j.Each(func(o *claim.Observation) float64 { return o.List(f)[1] - o.List(f)[0] }), 0))
		for k := 2; k < 4; k++ {
			j.Secondary(claim.Zero(claim.Exact, fmt.Sprintf("distinct completions minus 1, %s, %s", names[k], d), j.Each(func(o *claim.Observation) float64 { return o.List(f)[k] - 1 })))
		}
		j.Secondary(claim.Report(d, "first split (token), bf16, batch-variant", j.Entry(string(d)+" first split", 0)))
	}
	j.Evidence.Picture = j.Bars("Distinct greedy completions of equal prompts", "completions per prompt", false, names, j.Listed("chain-base", "natural distinct"), j.Listed("8 random layers", "amplified distinct"))
	j.Evidence.Table = j.NamedTable("Greedy completions of equal prompts", "engine", names, "natural distinct", "natural first split", "amplified distinct", "amplified first split")
}
