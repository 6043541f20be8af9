package correction

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The tail mask drops as many tokens as its share says, no token of another sign,
// and no token that moved less than one of the same sign that it keeps.
func TestTailMask(t *testing.T) {
	const n = 3000
	b := flat(n)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		b.LogpRoll[i] = -rng.ExpFloat64()
		b.Now.Logp[i] = min(b.LogpRoll[i]+0.2*rng.NormFloat64(), 0)
		b.Advantage = append(b.Advantage, []float64{-1, 0, 2}[rng.IntN(3)])
	}
	distance := map[string]func(i int) float64{
		"tv":        func(i int) float64 { return math.Abs(math.Exp(b.Now.Logp[i]) - math.Exp(b.LogpRoll[i])) },
		"log_ratio": func(i int) float64 { return math.Abs(b.Now.Logp[i] - b.LogpRoll[i]) },
	}
	for by, d := range distance {
		for signs, has := range map[Signs]func(a float64) bool{
			Negative: func(a float64) bool { return a < 0 },
			Positive: func(a float64) bool { return a > 0 },
			Both:     func(float64) bool { return true },
		} {
			apply(t, &Pipeline{Masks: []Masking{&TailMask{Share: 0.01, Signs: signs, By: by}}}, b)
			dropped, least, most := 0, math.Inf(1), 0.0
			for i, kept := range b.Gate {
				switch {
				case !b.Mask[i]:
				case kept && has(b.Advantage[i]):
					most = max(most, d(i))
				case !kept && !has(b.Advantage[i]):
					t.Fatalf("%s, %s: token %d with advantage %v is dropped", by, signs, i, b.Advantage[i])
				case !kept:
					dropped++
					least = min(least, d(i))
				}
			}
			if dropped != 20 || least < most {
				t.Errorf("%s, %s: %d of 2000 dropped, the least at %v; kept at %v", by, signs, dropped, least, most)
			}
		}
	}
	// The two distances are not the same.
	apply(t, &Pipeline{Masks: []Masking{&TailMask{Share: 0.01, Signs: Both, By: "tv"}}}, b)
	tv := slices.Clone(b.Gate)
	apply(t, &Pipeline{Masks: []Masking{&TailMask{Share: 0.01, Signs: Both, By: "log_ratio"}}}, b)
	if slices.Equal(tv, b.Gate) {
		t.Error("probabilities and log-ratios have the same tail")
	}
}

// A small batch loses one token, and equal engines lose none.
func TestTailMaskOfFew(t *testing.T) {
	b := flat(10)
	b.Advantage = slices.Repeat([]float64{-1}, 10)
	m := &TailMask{Share: 0.005, Signs: Negative, By: "tv"}
	apply(t, &Pipeline{Masks: []Masking{m}}, b)
	if slices.Contains(b.Gate, false) {
		t.Errorf("equal engines: kept %v", b.Gate)
	}
	b.Now.Logp[3] -= 0.1
	apply(t, &Pipeline{Masks: []Masking{m}}, b)
	if want := []bool{true, true, true, false, true, true, true, true, true, true}; !slices.Equal(b.Gate, want) {
		t.Errorf("kept %v, want all but token 3", b.Gate)
	}
}
