package trainer

import (
	"testing"

	"driftlab/trainer/recipe"
)

// BenchmarkStep is a training step of the default recipe with a sampling engine
// of another format: tokens per second and what is allocated.
func BenchmarkStep(b *testing.B) {
	for _, numerics := range []string{"fp32", "bf16", "fp8-w8a8"} {
		b.Run(numerics, func(b *testing.B) {
			r, err := recipe.Load("default", "rollout.numerics="+numerics, "eval.every=0")
			if err != nil {
				b.Fatal(err)
			}
			r, p, err := Prepare(r)
			if err != nil {
				b.Fatal(err)
			}
			s, err := NewSession(r, p, Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
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
