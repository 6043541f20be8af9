package rollout_test

import (
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/precision/must"
)

// sparseIn is a model with sparse attention, and numerics with an index in that format.
func sparseIn(t testing.TB, name, index string) (*model.Params, engine.Numerics) {
	n := preset(t, name)
	q := must.Get(precision.ParseQuantizer(index))(t)
	n.Index = q
	return enginetest.Sparse(enginetest.Small)[0].Params, n
}

// unequalTo counts the log-probs that a learner gives otherwise.
func unequalTo(want *column.Sampled, p *model.Params, n engine.Numerics, replay bool) int {
	s := learner.NewScorer(p.Config, n, 2)
	defer s.Close()
	s.Publish(p, 0)
	var b column.Scored
	s.Score(&b, want, learner.ScoreOptions{Policy: learner.Policy{Temperature: roomy.Temperature, Retention: replay}})
	unequal := 0
	for k, logp := range b.Logp {
		if logp != want.LogpRoll[k] && want.Mask[k] {
			unequal++
		}
	}
	return unequal
}

// With the same index in both engines the learner gives every log-prob its bits, on any slots and
// workers and with prompts in chunks; with another format it does not, until it replays the
// choices, of prompts too.
func TestSparseAttentionAgreesWithTheLearner(t *testing.T) {
	p, n := sparseIn(t, "bf16", "fp4_e2m1")
	list := append(groups(1, 3, 3, p.Config.Vocab, 9), requests(2, 8, p.Config.Vocab)...)
	want := generate(p, n, 64, 1, list, roomy)
	sameResponses(t, "3 slots", want, generate(p, n, 3, 2, list, roomy), nil)
	e := rollout.New(p.Config, n, 5, 2)
	e.SetPrefill(rollout.Prefill{Chunk: 2})
	e.Publish(p, 0)
	var chunked column.Sampled
	e.Generate(&chunked, list, roomy)
	e.Close()
	sameResponses(t, "prompts in chunks", want, &chunked, nil)
	if !slices.Equal(want.KVKept, chunked.KVKept) || !slices.EqualFunc(want.PromptKept, chunked.PromptKept, slices.Equal) {
		t.Error("other choices with prompts in chunks")
	}
	_, fine := sparseIn(t, "bf16", "bf16")
	for _, c := range []struct {
		learns         engine.Numerics
		replay, differ bool
	}{{n, false, false}, {n, true, false}, {fine, false, true}, {fine, true, false}} {
		if got := unequalTo(want, p, c.learns, c.replay); (got != 0) != c.differ {
			t.Errorf("index %s in the learner, replay %t: %d log-probs differ", c.learns.Index, c.replay, got)
		}
	}
	for i := range want.PromptKept {
		want.PromptKept[i] = nil
	}
	if unequalTo(want, p, fine, true) == 0 {
		t.Error("the choices of prompts change nothing")
	}
}

// Responses that are interrupted go on in another engine, from a snapshot too, with the bits and
// choices of those that were not; what shares rows of prompts or takes them back is refused.
func TestSparseAttentionIsResumed(t *testing.T) {
	p, n := sparseIn(t, "bf16", "fp8_e4m3/channel")
	want, got, _ := brokenOff(t, p, n, rollout.Reprefill)
	same(t, "resumed", want, got)
	if !slices.Equal(want.KVKept, got.KVKept) || !slices.EqualFunc(want.PromptKept, got.PromptKept, slices.Equal) {
		t.Error("other choices when resumed")
	}
	e := rollout.New(p.Config, n, 3, 1)
	t.Cleanup(e.Close)
	refuse(t, map[string]func(){
		"prefix cache": func() { e.SetPrefill(rollout.Prefill{PrefixCache: true}) },
		"shared prefix cache": func() {
			e.SetSharedPrefixCache(rollout.SharedPrefixCache{Policy: rollout.FlushPrefixes, Blocks: 4, BlockTokens: 2})
		},
		"retention": func() { e.SetRetention(rollout.Retention{Policy: rollout.Window, Keep: 0.5, Recent: 1}) },
		"drafts": func() {
			e.SetSpeculative(rollout.Speculative{Draft: 2, Verify: rollout.Exact, LogProbs: rollout.FromVerifier}, p.Config, n)
		},
	})
}
