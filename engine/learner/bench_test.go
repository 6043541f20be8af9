package learner_test

import (
	"testing"

	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
)

// BenchmarkStep times the phases of a training step of the default model: 64
// responses of 24 tokens to prompts of 12, so 35 rows each, one worker.
func BenchmarkStep(b *testing.B) {
	p := enginetest.NewParams(model.Config{Experts: 8, Vocab: 32}, 1)
	var requests []rollout.Request
	for i, prompt := range enginetest.Sequences(1, 64, p.Config.Vocab, 12, 12) {
		requests = append(requests, rollout.Request{Prompt: prompt, Seed: 5, Stream: uint64(i)})
	}
	sampling := rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: 24, Stop: -1}
	for _, name := range []string{"fp32", "bf16", "fp16", "fp8-w8a8", "fp4-all"} {
		n := preset(b, name)
		e := rollout.New(p.Config, n, len(requests), 1)
		e.Publish(p, 0)
		l := learner.New(p.Clone(), learner.Settings{Numerics: n, AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, ClipNorm: 1}}, 1)
		var r enginetest.Responses
		e.Generate(&r.Sampled, requests, sampling)
		loss := &linear{c: coefficients(1, r.Tokens())}
		phase := func(phase string, run func()) {
			b.Run(name+"/"+phase, func(b *testing.B) {
				run()
				for b.Loop() {
					run()
				}
				b.ReportMetric(float64(r.Tokens())*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
		phase("generate", func() { e.Generate(&r.Sampled, requests, sampling) })
		phase("score", func() { l.Score(&r.Old, &r.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}}) })
		phase("gradient", func() {
			must.Get(l.Gradient(&r.Now, &r.Sampled, loss, learner.StepOptions{Policy: learner.Policy{Temperature: 1}}))(b)
		})
		phase("update", func() { l.Update(1e-9) })
		e.Close()
		l.Close()
	}
}
