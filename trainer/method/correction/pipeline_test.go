package correction

import (
	"math"
	"testing"

	"driftlab/trainer/method/batch"
)

// rows builds a batch of ragged rows of old and roll log-probs, all generated.
func rows(old, roll [][]float64) *batch.Batch {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	for i := range old {
		b.Anchor = append(b.Anchor, old[i]...)
		b.LogpRoll = append(b.LogpRoll, roll[i]...)
		b.Offsets = append(b.Offsets, len(b.Anchor))
	}
	b.Mask = refill(b.Mask, len(b.Anchor), true)
	b.Now.Logp = append(b.Now.Logp, b.Anchor...)
	b.Advantage = refill(b.Advantage, len(b.Anchor), -1)
	return b
}

// worked is the sequence every Spec's example uses.
func worked() *batch.Batch {
	b := rows([][]float64{{-0.7, -1.0, -2.5}}, [][]float64{{-0.6, -1.3, -2.2}})
	b.Now.Logp = []float64{-0.5, -1.2, -2.0}
	return b
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-6 }

func nearAll(got, want []float64) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if !near(got[i], want[i]) {
			return false
		}
	}
	return true
}

// The numbers follow by hand from ρ = e^(old−roll) = (.904837, 1.349859, .740818),
// product .904837, geometric mean .967216.
func TestWeightsByHand(t *testing.T) {
	for _, c := range []struct {
		name string
		w    Weighting
		want []float64
	}{
		{"none", nil, nil},
		{"token_tis", &TokenTIS{Cap: 2}, []float64{.904837, 1.349859, .740818}},
		{"token_tis binding", &TokenTIS{Cap: 1.2, Floor: .8}, []float64{.904837, 1.2, .8}},
		{"sequence_tis", &SequenceTIS{Cap: 2}, []float64{.904837, .904837, .904837}},
		{"geometric_tis", &GeometricTIS{Cap: 2}, []float64{.967216, .967216, .967216}},
		{"token_mis", &TokenMIS{Low: 0, High: 1.2}, []float64{.904837, 0, .740818}},
		{"sequence_mis out", &SequenceMIS{Low: .95, High: 2}, []float64{0, 0, 0}},
		{"icepop", &IcePop{Low: .8, High: 5}, []float64{.904837, 1.349859, 0}},
		{"icepop binary", &IcePop{Low: .8, High: 5, Binary: true}, []float64{1, 1, 0}},
	} {
		b := worked()
		p := &Pipeline{Weights: c.w}
		if err := p.Apply(b, AtBatch); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !nearAll(b.Weight, c.want) {
			t.Errorf("%s: weights %v, want %v", c.name, b.Weight, c.want)
		}
	}
}

func TestMasksByHand(t *testing.T) {
	for _, c := range []struct {
		name string
		m    Masking
		want [3]bool
	}{
		{"geometric in", &Geometric{Low: .96, High: 1.01}, [3]bool{true, true, true}},
		{"geometric out", &Geometric{Low: .97, High: 1.01}, [3]bool{}},
		{"sequence in", &SequenceMask{Low: .9, High: 2}, [3]bool{true, true, true}},
		{"sequence out", &SequenceMask{Low: .91, High: 2}, [3]bool{}},
		{"token", &TokenMask{Low: .8, High: 2}, [3]bool{true, true, false}},
		{"outlier", &Outlier{Low: .75, High: 2}, [3]bool{}},
		{"veto in", &Veto{Threshold: .74}, [3]bool{true, true, true}},
		{"veto out", &Veto{Threshold: .75}, [3]bool{}},
		{"token_k1", &K1Rejection{mode: mode{"token", "k1"}, Low: .8, High: 1.2}, [3]bool{true, false, false}},
		{"seq_max_k3", &DivergenceRejection{mode: mode{"seq_max", "k3"}, High: .05}, [3]bool{true, true, true}},
		{"seq_max_k2", &DivergenceRejection{mode: mode{"seq_max", "k2"}, High: .044}, [3]bool{}},
	} {
		b := worked()
		p := &Pipeline{Masks: []Masking{c.m}}
		if err := p.Apply(b, AtBatch); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := [3]bool(b.LossMask); got != c.want {
			t.Errorf("%s: keep %v, want %v", c.name, got, c.want)
		}
	}
}
