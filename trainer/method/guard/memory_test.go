package guard

import (
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/memorytest"
)

// Whatever a guard remembers is its Memory: a run that is interrupted after any
// step decides as one that is not. Responses grow long after the warm-up.
func TestMemory(t *testing.T) {
	ratio := method.Entry[Guard]{New: func() Guard {
		return &LengthSurge{Rule: "ratio", Factor: 2, Warmup: 5, Decay: 0.5, Stretch: 1, Floor: 0.1}
	}}
	ratio.Name = "length_surge"
	for _, e := range append(slices.Clone(Registry), ratio) {
		remembers, err := memorytest.Check(70, e.New, func(g Guard, step int) ([]float64, error) {
			r := rand.New(rand.NewPCG(5, uint64(step)))
			b := long(3)
			if step > 55 {
				b = long(10)
			}
			for range b.Tokens() {
				b.Old.Logp, b.LogpRoll = append(b.Old.Logp, -r.Float64()), append(b.LogpRoll, -r.Float64())
			}
			grad := []float32{float32(r.NormFloat64()), float32(r.NormFloat64()), 1}
			d, err := g.Guard(grad, Input{Batch: b, Step: step})
			all := []float64{d.Scale, 0, float64(grad[0]), float64(grad[1]), float64(grad[2])}
			if d.Skip {
				all[1] = 1
			}
			for _, m := range g.Metrics(nil) {
				all = append(all, m.Value)
			}
			return all, err
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		if remembers != (e.Name == "length_surge" || e.Name == "gradient_alignment") {
			t.Errorf("%s remembers: %v", e.Name, remembers)
		}
	}
}
