package rollout_test

import (
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
)

// hybridIn is a model with linear attention, and numerics in a form of it.
func hybridIn(t testing.TB, name, form string) (*model.Params, engine.Numerics) {
	n := preset(t, name)
	must.Do(t, n.LinearAttention.UnmarshalText([]byte(form)))
	return enginetest.Hybrids(enginetest.Small)[1].Params, n
}

// With the same form in both engines the learner gives every log-prob of the rollout engine its
// bits, on any slots and workers and with prompts in chunks; with another form it does not.
func TestLinearAttentionAgreesWithTheLearner(t *testing.T) {
	forms := []string{"recurrent:bf16", "chunked:4", "chunked:5:bf16"}
	for i, form := range forms {
		p, n := hybridIn(t, "bf16", form)
		_, other := hybridIn(t, "bf16", forms[(i+1)%len(forms)])
		list := append(groups(1, 3, 3, p.Config.Vocab, 7), requests(2, 8, p.Config.Vocab)...)
		want := generate(p, n, 64, 1, list, roomy)
		sameResponses(t, form+", 3 slots", want, generate(p, n, 3, 2, list, roomy), nil)
		e := rollout.New(p.Config, n, 5, 2)
		e.SetPrefill(rollout.Prefill{Chunk: 2})
		e.Publish(p, 0)
		var chunked column.Sampled
		e.Generate(&chunked, list, roomy)
		e.Close()
		sameResponses(t, form+", prompts in chunks", want, &chunked, nil)
		for _, learns := range []engine.Numerics{n, other} {
			s := learner.NewScorer(p.Config, learns, 2)
			s.Publish(p, 0)
			var b column.Scored
			s.Score(&b, want, learner.ScoreOptions{Policy: learner.Policy{Temperature: roomy.Temperature}})
			s.Close()
			unequal := 0
			for k, logp := range b.Logp {
				if logp != want.LogpRoll[k] {
					unequal++
				}
			}
			if same := learns == n; same != (unequal == 0) {
				t.Errorf("%s in the rollout engine, %s in the learner: %d of %d log-probs differ", form, learns.LinearAttention, unequal, len(b.Logp))
			}
		}
	}
}

// Responses that are interrupted go on in another engine, from a snapshot too, with the bits of
// those that were not; a prefix cache and drafts are refused.
func TestLinearAttentionIsResumed(t *testing.T) {
	for _, form := range []string{"recurrent:bf16", "chunked:5"} {
		p, n := hybridIn(t, "bf16", form)
		want, got, e := brokenOff(t, p, n, rollout.KeepStale)
		same(t, form, want, got)
		refuse(t, map[string]func(){
			"prefix cache": func() { e.SetPrefill(rollout.Prefill{PrefixCache: true}) },
			"shared prefix cache": func() {
				e.SetSharedPrefixCache(rollout.SharedPrefixCache{Policy: rollout.FlushPrefixes, Blocks: 4, BlockTokens: 2})
			},
			"drafts": func() {
				e.SetSpeculative(rollout.Speculative{Draft: 2, Verify: rollout.Exact, LogProbs: rollout.FromVerifier}, p.Config, n)
			},
		})
	}
}
