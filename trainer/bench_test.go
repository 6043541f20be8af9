package trainer

import (
	"testing"
)

// BenchmarkStep is a training step of the default recipe with a sampling engine
// of another format: tokens per second and what is allocated.
func BenchmarkStep(b *testing.B) {
	for _, numerics := range []string{"fp32", "bf16", "fp8-w8a8"} {
		b.Run(numerics, func(b *testing.B) {
			r := loaded(b, "default", "rollout.numerics="+numerics, "eval.every=0")
			s := sessionIn(b, r, Options{})
			b.ReportAllocs()
			tokens, step := 0, 0
			for b.Loop() {
				must(b, s.Step(step))
				tokens += s.batch.Tokens()
				step++
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
