package scaling

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/precision"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"
)

// TestRaised: a vector in the head's rows moves the logits to where published ones are, changes no
// log-prob in fp32 by more than its rounding, and changes those of bf16.
func TestRaised(t *testing.T) {
	e := &claim.Env{Seed: 7, Size: claim.Tiny, Cache: claim.NewCache(t.TempDir())}
	r := lawRungs()[0]
	r.Steps, r.Answers = 20, 16
	q, err := r.probe(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	b := e.Sample(q)
	p := r.withPublishedLogits(q.Params, b)
	if mean := readLogits(p, b).Mean; math.Abs(mean-publishedLogit) > 1 {
		t.Errorf("the mean logit is %.2f, want %v", mean, publishedLogit)
	}
	for _, c := range []struct {
		numerics  string
		low, high float64
	}{{"fp32", 0, 1e-4}, {"bf16", 1e-3, 1}} {
		measure.Score(b, q.Params, measure.Scoring{Numerics: claim.Numerics(c.numerics)})
		before := append([]float64{}, b.Old.Logp...)
		measure.Score(b, p, measure.Scoring{Numerics: claim.Numerics(c.numerics)})
		most := 0.0
		for i, v := range b.Old.Logp {
			most = max(most, math.Abs(v-before[i]))
		}
		if most < c.low || most > c.high {
			t.Errorf("%s: log-probs change by up to %.3g, want %g to %g", c.numerics, most, c.low, c.high)
		}
	}
}

// TestRoundingIsTheKL: two independent roundings of the same logits, dithered, have the KL that the formula gives.
func TestRoundingIsTheKL(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const draws, words = 20000, 6
	formula, found := 0.0, 0.0
	for range draws {
		var share [words]float64
		var rounding [2][words]float64
		total := 0.0
		for k := range words {
			z := 17 + 14*rng.Float64()
			step := bf16Step(float32(z))
			if x := precision.BF16.Round(float32(z)); float64(precision.BF16.Round(x+float32(step))-x) != step || precision.BF16.Round(x+float32(step)/4) != x {
				t.Fatalf("the step at %v is %v", z, step)
			}
			share[k] = elementary.Exp(z - 20)
			total += share[k]
			for side := range rounding {
				rounding[side][k] = step * (rng.Float64() - 0.5)
			}
		}
		mean, square := 0.0, 0.0
		for k := range words {
			p := share[k] / total
			formula += p * (1 - p) / 8 / 8 / 12 / draws
			d := rounding[0][k] - rounding[1][k]
			mean, square = mean+p*d, square+p*d*d
		}
		found += (square - mean*mean) / 2 / draws
	}
	if math.Abs(found/formula-1) > 0.05 {
		t.Errorf("the KL is %.3g, the formula gives %.3g", found, formula)
	}
}

// TestLawRungs: every rung is a recipe, the corner differs along every axis, and the others along one.
func TestLawRungs(t *testing.T) {
	corners := 0
	for _, r := range append(lawRungs(), evenSteps()...) {
		off := 0
		for _, a := range denseFamily.axes() {
			if *a.of(&r.Size) != *a.of(&base) {
				off++
			}
		}
		if r.Corner {
			corners++
			off -= len(denseFamily.axes()) - 1
		}
		if off > 1 {
			t.Errorf("%s differs along %d axes", r.Name(), off)
		}
		if _, err := recipe.Load("chain-base", r.changes()...); err != nil {
			t.Errorf("%s: %v", r.Name(), err)
		}
	}
	if corners != 1 {
		t.Errorf("%d corners", corners)
	}
}

// TestDenseLawVerdict: a law whose level is the published one extrapolates; one that is ten times below, or whose
// rungs have other losses, does not.
func TestDenseLawVerdict(t *testing.T) {
	large, _, _ := densePublished()
	judged := func(level float64, loss float64) claim.Verdict {
		rng := rand.New(rand.NewPCG(6, 6))
		j := &claim.Judge{}
		for seed := range uint64(10) {
			o := new(claim.Observation)
			values := func(rungLoss float64) []float64 {
				v := make([]float64, roundingHigher+1)
				for k := range v {
					v[k] = level * elementary.Exp(0.02*rng.NormFloat64())
				}
				v[lawLoss], v[lawEntropy] = rungLoss, 0.8
				return v
			}
			for i, r := range lawRungs() {
				o.Set(r.Name(), values(0.7+float64(i%2)*loss)...)
			}
			for _, r := range evenSteps() {
				o.Set(evenName(r), values(0.6)...)
			}
			o.Set(routedName, stats.Each([]float64{1, 1, 20, 20}, func(v float64) float64 { return level * v })...)
			j.Seeds, j.Runs = append(j.Seeds, seed+1), append(j.Runs, o)
		}
		judgeDenseLaw(j)
		return claim.Decide(j.Evidence.Checks)
	}
	for _, c := range []struct {
		level, loss float64
		want        claim.Verdict
	}{{large.Figure, 0, claim.Extrapolates}, {large.Figure / 10, 0, claim.NotReproduced}, {large.Figure, 0.1, claim.Undecided}} {
		if got := judged(c.level, c.loss); got != c.want {
			t.Errorf("level %.3g, losses %.2f apart: %s, want %s", c.level, c.loss, got, c.want)
		}
	}
}
