package learner_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/kernel"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
)

func preset(t testing.TB, name string) engine.Numerics {
	n, ok := engine.Preset(name)
	if !ok {
		t.Fatalf("no preset %s", name)
	}
	return n
}

const temperature = 0.9

// sampled makes a batch of responses to ragged prompts, as the rollout engine does.
func sampled(p *model.Params, n engine.Numerics, seed uint64, responses, slots int) *enginetest.Responses {
	e := rollout.New(p.Config, n, slots, 1)
	defer e.Close()
	e.Publish(p, 0)
	var list []rollout.Request
	for i, prompt := range enginetest.Sequences(seed, responses, p.Config.Vocab, 1, 9) {
		list = append(list, rollout.Request{Prompt: prompt, Seed: seed, Stream: uint64(i)})
	}
	var b enginetest.Responses
	e.Generate(&b.Sampled, list, rollout.Sampling{Temperature: temperature, TopP: 1, MaxTokens: 12, Stop: 0, Distributions: true})
	return &b
}

// given makes a batch of prompts and responses without an engine.
func given(prompts, responses [][]int32) *enginetest.Responses {
	b := &enginetest.Responses{Sampled: column.Sampled{Offsets: []int{0}, Prompt: prompts}}
	for _, r := range responses {
		b.Token = append(b.Token, r...)
		b.Offsets = append(b.Offsets, len(b.Token))
	}
	for range b.Token {
		b.Mask = append(b.Mask, true)
	}
	return b
}

// halves splits each sequence into a prompt of at least one token and a
// response, possibly empty.
func halves(sequences [][]int32) *enginetest.Responses {
	var prompts, responses [][]int32
	for i, s := range sequences {
		at := 1 + i%len(s)
		prompts, responses = append(prompts, s[:at]), append(responses, s[at:])
	}
	return given(prompts, responses)
}

// Scoring agrees with the float64 reference within the tolerance of each
// format, and so does the forward pass of a gradient.
func TestConformance(t *testing.T) {
	enginetest.Conform(t, *exhaustive, func(p *model.Params, n engine.Numerics, prompts [][]int32, temperature float64) []enginetest.Observation {
		l := learner.New(p, learner.Settings{Numerics: n}, 1)
		defer l.Close()
		b := halves(prompts)
		l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature}, Distributions: true})
		return enginetest.Observe(&b.Sampled, &b.Old)
	})
}

// cases are numerics in which both engines must agree: every
// preset that decodes as it scores, and every reduction with an attention kernel in turn.
func cases(t *testing.T) []engine.Numerics {
	var list []engine.Numerics
	for _, n := range engine.Presets() {
		if n.DecodesAsScored() {
			list = append(list, n)
		}
	}
	for i, text := range []string{
		"canonical", "unfused", "pairwise:4", "split_k:5", "tensor_parallel:2:ring:fp32",
		"tensor_parallel:4:ring:bf16", "tensor_parallel:4:tree:fp16", "tree:4", "tree:2+unfused",
	} {
		n := preset(t, []string{"fp32", "bf16", "fp16", "fp8-w8a8"}[i%4])
		r := must.Get(kernel.ParseReduction(text))(t)
		n.Name, n.Reduction = n.Name+"/"+text, r
		if i%2 == 0 {
			n.Attention, n.Tile = kernel.Online, 5
		}
		list = append(list, n)
	}
	return list
}

// The heart of the rig: with equal numerics the log-prob of every token, the
// whole distribution and every route are bit-identical between the engine that
// sampled, the learner's scoring and its gradient, for any number of slots and
// workers and any order of the responses.
func TestEnginesAgree(t *testing.T) {
	models := enginetest.Models(enginetest.Small)
	for i, n := range cases(t) {
		m := models[i%len(models)]
		t.Run(n.Name+"/"+m.Name, func(t *testing.T) {
			p := m.Params
			b := sampled(p, n, uint64(i), []int{64, 20, 20}[i%3], []int{64, 7, 1}[i%3])
			for _, workers := range []int{1, 2, 3} {
				if workers == 2 && !*exhaustive {
					continue
				}
				l := learner.New(p, learner.Settings{Numerics: n}, workers)
				l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature}, Distributions: true})
				identical(t, fmt.Sprintf("Score, %d workers", workers), b, &b.Old)
				must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: temperature}, Distributions: true}))(t)
				identical(t, fmt.Sprintf("Gradient, %d workers", workers), b, &b.Now)
				l.Close()
			}
			// A selection in another order, and one response at a time.
			s := learner.NewScorer(p.Config, n, 2)
			defer s.Close()
			s.Publish(p, 0)
			var part enginetest.Responses
			b.Select(&part.Sampled, rand.New(rand.NewPCG(uint64(i), 1)).Perm(b.Len()))
			s.Score(&part.Old, &part.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature}, Distributions: true})
			identical(t, "another order", &part, &part.Old)
			for k := range 5 {
				b.Select(&part.Sampled, []int{k})
				s.Score(&part.Old, &part.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature}, Distributions: true})
				identical(t, "one response", &part, &part.Old)
			}
		})
	}
}

// identical compares what the learner computed for b with what the rollout
// engine recorded; routes too, but of a gradient, which records none.
func identical(t *testing.T, how string, b *enginetest.Responses, scored *column.Scored) {
	t.Helper()
	if !slices.Equal(b.LogpRoll, scored.Logp) {
		t.Errorf("%s: log-probs differ", how)
	}
	if !slices.EqualFunc(b.DistRoll, scored.Dist, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }) {
		t.Errorf("%s: distributions differ", how)
	}
	if scored == &b.Now {
		return
	}
	if !slices.Equal(b.RoutesRoll, scored.Routes) {
		t.Errorf("%s: routes differ", how)
	}
	if !slices.EqualFunc(b.PromptRoutes, scored.PromptRoutes, slices.Equal) {
		t.Errorf("%s: routes of prompts differ", how)
	}
}

// And the contrary: unequal numerics, or numerics that depend on the batch,
// leave a gap. Without it the test above could pass on constants.
func TestUnequalEnginesDisagree(t *testing.T) {
	p := enginetest.Named("moe").Params
	for _, pair := range [][2]string{
		{"fp32", "fp32-unfused"}, {"fp32", "fp32-tp4"}, {"fp16", "bf16"}, {"bf16", "fp8-w8a8"},
		{"fp8-w8a8", "int8-w8a8"}, {"fp4-w4a16", "fp4-mx"}, {"fp32-batch-variant", "fp32-batch-variant"},
	} {
		b := sampled(p, preset(t, pair[0]), 1, 16, 4)
		s := learner.NewScorer(p.Config, preset(t, pair[1]), 1)
		s.Publish(p, 0)
		s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature}})
		if slices.Equal(b.LogpRoll, b.Old.Logp) {
			t.Errorf("%s and %s agree on every log-prob", pair[0], pair[1])
		}
		s.Close()
	}
}
