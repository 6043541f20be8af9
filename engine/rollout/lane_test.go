package rollout_test

import (
	"fmt"
	"slices"
	"testing"

	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/rollout"
	"driftlab/precision/must"
)

// Workers that go their own ways record what one alone does: with environments,
// gates, truncation and a compressed cache, with more workers than slots or
// requests, and in every call of one engine, whose slots another worker had in
// the call before.
func TestLanesChangeNoBit(t *testing.T) {
	p := enginetest.Named("moe-biased").Params
	list := withTool(append(groups(1, 6, 5, p.Config.Vocab, 9), requests(1, 20, p.Config.Vocab)...), echo{int32(p.Config.Vocab)})
	s := roomy
	s.Gates, s.TopP = true, 0.9
	for _, name := range []string{"fp32", "fp8-w8a8", "bf16-flash-decoding"} {
		for _, r := range []rollout.Retention{{}, policies[0], policies[len(policies)-1]} {
			engineOf := func(slots, workers int) *rollout.Engine {
				e := rollout.New(p.Config, preset(t, name), slots, workers)
				e.SetRetention(r)
				e.SetPrefill(rollout.Prefill{Chunk: 4})
				e.Publish(p, 3)
				return e
			}
			var want column.Sampled
			alone := engineOf(len(list), 1)
			alone.Generate(&want, list, s)
			alone.Close()
			for k, c := range []struct{ slots, workers int }{{9, 2}, {20, 3}, {3, 7}, {2, 2}} {
				if k%2 == 1 && !*exhaustive {
					continue
				}
				e := engineOf(c.slots, c.workers)
				for call := range 3 {
					var got column.Sampled
					e.Generate(&got, list, s)
					how := fmt.Sprintf("%s, %+v, %d slots, %d workers, call %d", name, r, c.slots, c.workers, call)
					sameResponses(t, how, &want, &got, nil)
					if !slices.Equal(want.GatesRoll, got.GatesRoll) || !slices.EqualFunc(want.PromptGates, got.PromptGates, slices.Equal) ||
						!slices.Equal(want.Mask, got.Mask) || !slices.Equal(want.Turn, got.Turn) || !slices.Equal(want.KVKept, got.KVKept) {
						t.Errorf("%s: other gates, turns or positions", how)
					}
					e.Generate(&got, list[:1+call], s) // fewer than slots, or than workers
					if n := got.Offsets[1]; !slices.Equal(got.LogpRoll[:n], want.LogpRoll[:n]) {
						t.Errorf("%s: a short call gives another response", how)
					}
				}
				e.Close()
			}
		}
	}
}

// What an engine does in step it does in step after a call in lanes, and back.
func TestLanesBesideSteps(t *testing.T) {
	p := enginetest.Named("moe").Params
	n := preset(t, "bf16")
	list := groups(2, 6, 6, p.Config.Vocab, 15)
	e := rollout.New(p.Config, n, 7, 3)
	defer e.Close()
	e.Publish(p, 3)
	want := generate(p, n, 7, 1, list, plain)
	var got column.Sampled
	for call := range 6 {
		e.SetPrefill(rollout.Prefill{PrefixCache: call%2 == 1})
		e.Generate(&got, list, plain)
		sameResponses(t, fmt.Sprintf("call %d", call), want, &got, nil)
	}
	e.SetSpeculative(rollout.Speculative{Draft: 2, Verify: rollout.Exact, LogProbs: rollout.FromVerifier}, p.Config, n)
	e.PublishDrafter(p, 3)
	e.Generate(&got, list, plain)
	if len(got.Draft) != got.Tokens() {
		t.Error("nothing was drafted")
	}
	e.SetDraft(0)
	e.Generate(&got, list, plain)
	sameResponses(t, "after drafting", want, &got, nil)
}

// Where the company counts, it is the same on any number of workers: also which
// prompts are shared, for a kernel that notices.
func TestBatchVariantDecodesInStep(t *testing.T) {
	p := enginetest.Named("dense").Params
	for _, name := range []string{"fp32-batch-variant", "bf16-batch-variant"} {
		n := preset(t, name)
		list := requests(1, 90, p.Config.Vocab)
		want := generate(p, n, 40, 1, list, plain)
		for _, workers := range []int{2, 3} {
			sameResponses(t, fmt.Sprintf("%s, %d workers", name, workers), want, generate(p, n, 40, workers, list, plain), nil)
		}
	}
	list, shared := groups(4, 3, 9, p.Config.Vocab, 21), rollout.Prefill{PrefixCache: true}
	want := prefilled(t, p, "bf16-flash-decoding", len(list), 1, shared, list)
	for _, workers := range []int{2, 3} {
		sameResponses(t, fmt.Sprintf("flash-decoding, %d workers", workers), want, prefilled(t, p, "bf16-flash-decoding", len(list), workers, shared, list), nil)
	}
}

// A panic in one lane, here of an environment, reaches the caller.
func TestPanicInALane(t *testing.T) {
	p := enginetest.Named("dense").Params
	list := requests(3, 12, p.Config.Vocab)
	list[11].Tool = broken{}
	if v := must.Panic(t, "a lane", func() { generate(p, preset(t, "fp32"), 4, 2, list, plain) }); v != "broken" {
		t.Errorf("panic %v", v)
	}
}

// broken is an environment that panics.
type broken struct{}

func (broken) Reply([]int32, []int32, []int32) []int32 { panic("broken") }

// Lanes allocate nothing per token either. Prompts are of one length: with
// ragged ones the largest pack of a lane is another one in every call, and a
// buffer may have to grow.
func TestLanesAllocateNothingPerToken(t *testing.T) {
	p := enginetest.Named("moe").Params
	for _, r := range []rollout.Retention{{}, policies[0]} {
		e := rollout.New(p.Config, preset(t, "bf16"), 8, 2)
		e.SetRetention(r)
		e.Publish(p, 0)
		var list []rollout.Request
		for i, prompt := range enginetest.Sequences(11, 24, p.Config.Vocab, 6, 6) {
			list = append(list, rollout.Request{Prompt: prompt, Seed: 11, Stream: uint64(i)})
		}
		var b column.Sampled
		s := plain
		s.TopP = 0.9
		counts := map[int]float64{}
		for _, length := range []int{20, 5} {
			s.MaxTokens, s.Stop = length, -1
			e.Generate(&b, list, s)
			counts[length] = testing.AllocsPerRun(3, func() { e.Generate(&b, list, s) })
		}
		if counts[20] != counts[5] || counts[5] > 2 {
			t.Errorf("%+v: %v allocations for 20 tokens each, %v for 5", r, counts[20], counts[5])
		}
		e.Close()
	}
}
