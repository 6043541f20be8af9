package measurements

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/judge"
	"driftlab/precision"
	"driftlab/precision/elementary"
	"driftlab/precision/must"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"
)

// truth is a law that synthetic ladders are drawn from.
var truth = []float64{-9, 1.2, 0.3, -0.1, 0.05, 0.7, -0.4}

// synthetic draws figures for the rungs of a family: the truth, a scatter of rungs
// about it and of models about their rung.
func synthetic(rng *rand.Rand, f modelFamily, rungs, models float64) []rungPoint {
	var points []rungPoint
	for _, r := range allRungs() {
		if r.Family != f || r.Corner {
			continue
		}
		p := rungPoint{X: f.coordinates(r.Size)}
		center := stats.Dot(truth[:len(p.X)+1], designRow(p.X)) + rungs*rng.NormFloat64()
		for range 10 / r.Every {
			p.Y = append(p.Y, center+models*rng.NormFloat64())
		}
		points = append(points, p)
	}
	return points
}

// TestFitRecoversALaw: exactly where nothing scatters.
func TestFitRecoversALaw(t *testing.T) {
	for _, f := range []modelFamily{moeFamily, denseFamily} {
		l := fitLaw(synthetic(rand.New(rand.NewPCG(1, 1)), f, 0, 0))
		if l == nil {
			t.Fatalf("%s: no law", f)
		}
		for k, b := range l.Coefficients {
			if math.Abs(b-truth[k]) > 1e-9 {
				t.Errorf("%s: coefficient %d is %v, want %v", f, k, b, truth[k])
			}
		}
		if l.R2 < 1-1e-12 || l.Free != l.Rungs-len(f.axes())-1 {
			t.Errorf("%s: R² %v, %d rungs, %d free", f, l.R2, l.Rungs, l.Free)
		}
	}
}

// TestCoverage: in 800 ladders whose rungs and models scatter, the intervals of
// an exponent hold it in 95 %, and those of a new model at the published size, far
// beyond the ladder, in no less: the scatter of models enters twice, as one's own
// and in its share of the rungs'.
func TestCoverage(t *testing.T) {
	const trials = 800
	rng := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct{ rungs, models float64 }{{0, 0.5}, {0.3, 0.3}} {
		exponents := make([]int, len(moeFamily.axes()))
		predicted, mean := 0, 0
		far := moeFamily.coordinates(qwen3MoE)
		center := stats.Dot(truth, designRow(far))
		for range trials {
			l := fitLaw(synthetic(rng, moeFamily, c.rungs, c.models))
			if l == nil {
				t.Fatal("no law")
			}
			for k := range exponents {
				if e := l.exponent(k); e.Low <= truth[k+1] && truth[k+1] <= e.High {
					exponents[k]++
				}
			}
			rung := center + c.rungs*rng.NormFloat64()
			if i, y := l.model(far), rung+c.models*rng.NormFloat64(); i.Low <= y && y <= i.High {
				predicted++
			}
			if i := l.mean(far); i.Low <= rung && rung <= i.High {
				mean++
			}
		}
		for k, n := range append(exponents, predicted, mean) {
			share := float64(n) / trials
			// Four standard deviations of a share of 0.95 are 0.031.
			if share < 0.919 || k < len(exponents) && share > 0.981 {
				t.Errorf("scatter %+v: interval %d holds in %.3f", c, k, share)
			}
		}
	}
}

// TestFitRefuses what does not determine a law: too few rungs, or two axes that
// go together.
func TestFitRefuses(t *testing.T) {
	all := synthetic(rand.New(rand.NewPCG(3, 3)), denseFamily, 0.1, 0.1)
	if fitLaw(all[:5]) != nil {
		t.Error("five rungs leave nothing to spare for four exponents")
	}
	if fitLaw(nil) != nil {
		t.Error("a law of nothing")
	}
	var together []rungPoint
	for k := range 6 {
		x := float64(k)
		together = append(together, rungPoint{[]float64{x, 2 * x}, []float64{x}})
	}
	if l := fitLaw(together); l != nil {
		t.Errorf("two axes that go together have exponents %v", l.Coefficients)
	}
}

// observed writes what models of every rung would list, for a law of the exact KL.
func observed(rng *rand.Rand, seed uint64, offset float64) *claim.Observation {
	o := new(claim.Observation)
	for _, r := range allRungs() {
		if seed%uint64(r.Every) != 0 {
			continue
		}
		x := r.Family.coordinates(r.Size)
		kl := math.Exp(stats.Dot(truth[:len(x)+1], designRow(x)) + offset + 0.05*rng.NormFloat64())
		values := []float64{0.8, float64(r.Size.Length), 1e4, kl, kl, 1e4 * kl, kl * float64(r.Size.Length)}
		if r.Family == moeFamily {
			values = append(values, 0.01, 0.02, kl/2, kl/2, 0)
		} else {
			o.Set(fp16Of(r), kl/64, kl/64*float64(r.Size.Length))
		}
		o.Set(r.Name(), values...)
	}
	return o
}

// TestVerdict: a law that ends at the published figure extrapolates, one that ends
// far from it does not, and neither does one whose rungs have another entropy.
func TestVerdict(t *testing.T) {
	p := publishedFigures[0]
	level := math.Log(p.Figure) - stats.Dot(truth, designRow(moeFamily.coordinates(p.Size)))
	judged := func(offset float64, change func(*claim.Observation)) (judge.Verdict, *claim.Judge) {
		rng := rand.New(rand.NewPCG(4, 4))
		j := &claim.Judge{}
		for seed := range uint64(10) {
			o := observed(rng, seed+1, level+offset)
			if change != nil {
				change(o)
			}
			j.Seeds, j.Runs = append(j.Seeds, seed+1), append(j.Runs, o)
		}
		check := holdsAndPasses(j, []string{"exact KL", "Qwen3-30B-A3B"})
		check.Level = judge.Ladder
		j.Primary(check)
		return judge.Decide(j.Evidence.Checks), j
	}
	if v, j := judged(0, nil); v != judge.Extrapolates {
		t.Errorf("a law that ends at the figure: %s, %+v", v, j.Evidence.Checks[0])
	}
	if v, j := judged(4, nil); v != judge.NotReproduced {
		t.Errorf("a law that ends at 55 times the figure: %s, %+v", v, j.Evidence.Checks[0])
	}
	for _, offset := range []float64{0, 4} {
		if v, j := judged(offset, func(o *claim.Observation) { o.List(allRungs()[1].Name())[entropyOf] = 1.2 }); v != judge.Undecided {
			t.Errorf("a rung of another entropy, %v off: %s, %+v", offset, v, j.Evidence.Checks[0])
		}
	}
	corner := allRungs()[0]
	for _, r := range allRungs() {
		if r.Corner && r.Family == moeFamily {
			corner = r
		}
	}
	if v, j := judged(0, func(o *claim.Observation) {
		if o.Has(corner.Name()) {
			o.List(corner.Name())[exactKL] *= 3
		}
	}); v != judge.Undecided {
		t.Errorf("a corner at three times what the law says: %s, %+v", v, j.Evidence.Checks[0])
	}
}

// TestRaised: a vector in the head's rows moves the logits to where published ones are, changes no
// log-prob in fp32 by more than its rounding, and changes those of bf16.
func TestRaised(t *testing.T) {
	e := &claim.Env{Seed: 7, Size: claim.Tiny, Cache: claim.NewCache(t.TempDir())}
	r := lawRungs()[0]
	r.Steps, r.Answers = 20, 16
	var q probe
	must.Do(t, e.Do(context.Background(), func() { q = r.probe(e) }))
	b := sample(e, q)
	p := r.withPublishedLogits(q.Params, b)
	if mean := readLogits(p, b).Mean; math.Abs(mean-publishedLogit) > 1 {
		t.Errorf("the mean logit is %.2f, want %v", mean, publishedLogit)
	}
	for _, c := range []struct {
		numerics  string
		low, high float64
	}{{"fp32", 0, 1e-4}, {"bf16", 1e-3, 1}} {
		measure.Score(b, q.Params, measure.Scoring{Numerics: numerics(c.numerics)})
		before := append([]float64{}, b.Old.Logp...)
		measure.Score(b, p, measure.Scoring{Numerics: numerics(c.numerics)})
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
			if *a.of(&r.Size) != *a.of(&baseSize) {
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
	large := densePublished(lawOther, "Qwen3-8B")
	judged := func(level float64, loss float64) judge.Verdict {
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
		check := comesNearBoth(j, []string{lawOther.Name, "Qwen3-8B", "DeepSeek-R1-Distill-Qwen-1.5B"})
		check.Level = judge.Ladder
		j.Primary(check)
		return judge.Decide(j.Evidence.Checks)
	}
	for _, c := range []struct {
		level, loss float64
		want        judge.Verdict
	}{{large.Figure, 0, judge.Extrapolates}, {large.Figure / 10, 0, judge.NotReproduced}, {large.Figure, 0.1, judge.Undecided}} {
		if got := judged(c.level, c.loss); got != c.want {
			t.Errorf("level %.3g, losses %.2f apart: %s, want %s", c.level, c.loss, got, c.want)
		}
	}
}
