package learner_test

import (
	"runtime"
	"testing"
	"weak"

	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
)

// TestClosedLearnerIsCollected: a sweep makes hundreds of learners, one after
// the other, and must not keep their buffers.
func TestClosedLearnerIsCollected(t *testing.T) {
	p := enginetest.NewParams(model.Config{Experts: 4, Vocab: 8}, 1)
	fp32 := preset(t, "fp32")
	kept := func() weak.Pointer[learner.Learner] {
		e := rollout.New(p.Config, fp32, 2, 1)
		defer e.Close()
		e.Publish(p, 0)
		var b enginetest.Responses
		e.Generate(&b.Sampled, []rollout.Request{{Prompt: []int32{1, 2}, Seed: 1}}, rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: 4, Stop: -1})
		l := learner.New(p.Clone(), learner.Settings{Numerics: fp32, AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}}, 1)
		defer l.Close()
		must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{c: coefficients(1, b.Tokens())}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}}))(t)
		return weak.Make(l)
	}()
	for range 3 {
		runtime.GC()
	}
	if kept.Value() != nil {
		t.Error("a closed learner is still in memory after garbage collection")
	}
}
