package rollout_test

import (
	"fmt"
	"slices"
	"testing"

	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/rollout"
	"driftlab/model"
)

// groups makes requests of n prompts, size of each, all beginning alike.
func groups(seed uint64, n, size, vocab, longest int) []rollout.Request {
	var list []rollout.Request
	for g, tail := range enginetest.Sequences(seed, n, vocab, 1, longest) {
		prompt := append([]int32{1, 2}, tail...)
		for i := range size {
			list = append(list, rollout.Request{Prompt: prompt, Seed: seed, Stream: uint64(g*size + i)})
		}
	}
	return list
}

// prefilled runs a fresh engine twice, with other weights first: the second
// call must not read what the first left in the cache.
func prefilled(t testing.TB, p *model.Params, numerics string, slots, workers int, how rollout.Prefill, list []rollout.Request) *column.Sampled {
	e := rollout.New(p.Config, preset(t, numerics), slots, workers)
	defer e.Close()
	e.SetPrefill(how)
	other := p.Clone()
	for i := range other.Theta {
		other.Theta[i] *= 0.9
	}
	var b column.Sampled
	s := plain
	s.TopP = 0.9
	e.Publish(other, 2)
	e.Generate(&b, list, s)
	e.Publish(p, 3)
	e.Generate(&b, list, s)
	return &b
}

// prefills are ways to read prompts.
var prefills = []rollout.Prefill{
	{}, {Chunk: 1}, {Chunk: 3}, {Chunk: 64}, {PrefixCache: true}, {Chunk: 1, PrefixCache: true}, {Chunk: 4, PrefixCache: true},
}

// With batch-invariant numerics, chunks and shared prefixes change nothing that
// is recorded: in any slots, on any workers, also where keys are quantised and
// where prompts are a single token. A single slot shares nothing.
func TestPrefillChangesNoBit(t *testing.T) {
	for i, numerics := range []string{"fp32", "bf16-tp4", "fp8-w8a8", "fp4-all", "fp32-online", "bf16-splitk4"} {
		p := enginetest.Models(enginetest.Small)[i%4].Params
		list := append(groups(uint64(i), 7, 5, p.Config.Vocab, 21), requests(uint64(i), 9, p.Config.Vocab)...)
		list = append(list, rollout.Request{Prompt: []int32{1}, Stream: 98}, rollout.Request{Prompt: []int32{1}, Stream: 99})
		want := prefilled(t, p, numerics, 1, 1, rollout.Prefill{}, list)
		for k, how := range prefills {
			if !*exhaustive && k%3 != i%3 {
				continue
			}
			slots := []int{len(list), 7, 1}[(i+k)%3]
			sameResponses(t, fmt.Sprintf("%s, %+v, %d slots", numerics, how, slots), want, prefilled(t, p, numerics, slots, 1+k%2, how, list), nil)
		}
	}
}

// A kernel that looks at the number of rows gives other bits with either.
func TestPrefillChangesBatchVariantBits(t *testing.T) {
	p := enginetest.Named("dense").Params
	list := groups(3, 12, 8, p.Config.Vocab, 21)
	want := prefilled(t, p, "fp32-batch-variant", len(list), 1, rollout.Prefill{}, list)
	for _, how := range []rollout.Prefill{{Chunk: 1}, {PrefixCache: true}} {
		if got := prefilled(t, p, "fp32-batch-variant", len(list), 1, how, list); slices.Equal(want.LogpRoll, got.LogpRoll) {
			t.Errorf("%+v gives the same log-probs", how)
		}
	}
}

// A prefix is read once for its group: what is decoded afterwards allocates
// nothing more than without the cache.
func TestPrefillAllocations(t *testing.T) {
	p := enginetest.Named("moe").Params
	list := groups(3, 6, 8, p.Config.Vocab, 21)
	count := func(how rollout.Prefill) float64 {
		e := rollout.New(p.Config, preset(t, "fp32"), 16, 1)
		defer e.Close()
		e.SetPrefill(how)
		e.Publish(p, 0)
		var b column.Sampled
		e.Generate(&b, list, plain)
		return testing.AllocsPerRun(3, func() { e.Generate(&b, list, plain) })
	}
	if with, without := count(rollout.Prefill{Chunk: 4, PrefixCache: true}), count(rollout.Prefill{}); with > without {
		t.Errorf("%v allocations, %v without", with, without)
	}
}

// BenchmarkPrefill generates groups of 8 short responses to prompts of 48 tokens.
func BenchmarkPrefill(b *testing.B) {
	c := model.Default()
	c.Vocab = 64
	p := model.New(c)
	p.Init(1)
	var list []rollout.Request
	for g, prompt := range enginetest.Sequences(1, 8, p.Config.Vocab, 48, 48) {
		for i := range 8 {
			list = append(list, rollout.Request{Prompt: prompt, Seed: 1, Stream: uint64(g*8 + i)})
		}
	}
	for _, how := range []rollout.Prefill{{}, {PrefixCache: true}, {Chunk: 16}, {Chunk: 16, PrefixCache: true}} {
		b.Run(fmt.Sprintf("chunk=%d/prefix=%t", how.Chunk, how.PrefixCache), func(b *testing.B) {
			e := rollout.New(p.Config, preset(b, "fp32"), len(list), 1)
			defer e.Close()
			e.SetPrefill(how)
			e.Publish(p, 0)
			var out column.Sampled
			for b.Loop() {
				e.Generate(&out, list, rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: 16, Stop: -1})
			}
		})
	}
}
