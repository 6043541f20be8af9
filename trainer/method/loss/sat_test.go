package loss

import (
	"math"
	"testing"

	"driftlab/trainer/method"
)

// At twice the quantile's distance the range of that side is half as wide, and the other
// side keeps its range; with all tokens below the quantile the loss is PPO's clip.
func TestSATRange(t *testing.T) {
	p := method.New[SAT]()
	p.Quantile = 0.5
	b := ratios(1, 1.05, 1.05, 1.05*1.05, 1/1.05/1.05)
	if err := withFrame(&Grad{}, b, p.Aggregation, nil, func(f *frame) {
		q := p.start(f)
		if want := math.Log(1.05) * 1.5; math.Abs(q-want) > 1e-12 { // between 0.049 and 0.098
			t.Fatalf("the quantile is %v, want %v", q, want)
		}
		for n, want := range [][3]float64{{1, 0.8, 1.2}, {1, 0.8, 1.2}, {0.9, 0.8, 1.18}, {0.9, 0.82, 1.2}} {
			k, low, high := p.bounds(f, n, q) // (0.098/0.073 - 1)² = 1/9
			if math.Abs(k-want[0]) > 1e-12 || math.Abs(low-want[1]) > 1e-12 || math.Abs(high-want[2]) > 1e-12 {
				t.Errorf("token %d: factor %v, bounds %v and %v, want %v", n, k, low, high, want)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}

	p.Quantile = 1
	ppo := method.New[PPOClip]()
	ppo.DualClip = 0
	for seed := range uint64(3) {
		wild := nastyBatch(seed, true)
		same(t, "sat without a tail", eval(t, p, wild).DLogp, eval(t, ppo, wild).DLogp)
	}
}
