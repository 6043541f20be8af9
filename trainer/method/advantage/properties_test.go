package advantage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// random is three groups of four ragged responses, with holes, an empty and a
// one-token response, and everything any estimator reads.
func random(seed uint64) *batch.Batch {
	r := rand.New(rand.NewPCG(seed, 2))
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	for i := range 12 {
		size := 1 + r.IntN(9)
		if i == 7 {
			size = 1
		}
		for t := range size {
			b.Mask = append(b.Mask, i != 5 && t%4 != 3)
			b.Turn = append(b.Turn, int32(t/4))
			b.TokenReward = append(b.TokenReward, float64(r.IntN(3)-1))
			b.StepReward = append(b.StepReward, b.TokenReward[len(b.TokenReward)-1])
			b.Value = append(b.Value, r.NormFloat64())
			b.Episode, b.PrefixValue = append(b.Episode, int32(t/3)), append(b.PrefixValue, float64(i+t/3)/16)
			b.Old.Logp = append(b.Old.Logp, -r.ExpFloat64())
			b.LogpRoll = append(b.LogpRoll, -r.ExpFloat64())
			b.Old.SumSquares = append(b.Old.SumSquares, r.Float64())
			b.Old.Entropy = append(b.Old.Entropy, r.Float64())
			b.Weight = append(b.Weight, 2*r.Float64())
		}
		b.Offsets = append(b.Offsets, len(b.Mask))
		b.Group, b.PromptID = append(b.Group, i/4), append(b.PromptID, int64(i/4))
		for range size {
			b.Token = append(b.Token, int32(r.IntN(2)))
		}
		b.Reward = append(b.Reward, r.NormFloat64())
		b.RewardParts = append(b.RewardParts, []float64{r.NormFloat64(), float64(r.IntN(2))})
		b.OutcomeParts = append(b.OutcomeParts, b.RewardParts[i])
		b.GreedyReward = append(b.GreedyReward, r.NormFloat64())
		b.ScoreNorm = append(b.ScoreNorm, r.Float64())
		b.Correct = append(b.Correct, r.IntN(2) == 1)
	}
	return b
}

func estimate(t *testing.T, e Estimator, b *batch.Batch) {
	t.Helper()
	must(t, method.Check(e))
	must(t, e.Estimate(b))
}

// estimates compares the advantages of an estimator with others.
func estimates(t *testing.T, what string, e Estimator, b *batch.Batch, want []float64, tolerance float64) {
	t.Helper()
	estimate(t, e, b)
	if !nearAll(b.Advantage, want, tolerance) {
		t.Errorf("%s: %v, want %v", what, b.Advantage, want)
	}
}

// Advantages are finite, and 0 outside the mask, on batches with holes, with no
// token, with one token and with equal rewards, whatever lies outside the mask.
func TestNastyBatches(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(b *batch.Batch)
	}{
		{"holes", func(*batch.Batch) {}},
		{"all masked", func(b *batch.Batch) { clear(b.Mask) }},
		{"one token", func(b *batch.Batch) { clear(b.Mask); b.Mask[0] = true }},
		{"equal rewards", func(b *batch.Batch) {
			for i := range b.Reward {
				b.Reward[i], b.RewardParts[i], b.OutcomeParts[i] = .7, []float64{.7, .7}, []float64{.7, .7}
			}
			clear(b.TokenReward)
			clear(b.StepReward)
		}},
		{"-inf behind the mask", func(b *batch.Batch) {
			for n, counts := range b.Mask {
				if !counts {
					b.Old.Logp[n], b.LogpRoll[n], b.Old.SumSquares[n], b.Old.Entropy[n] = math.Inf(-1), math.Inf(-1), math.NaN(), math.NaN()
				}
			}
		}},
		{"zero weights", func(b *batch.Batch) { clear(b.Weight); clear(b.ScoreNorm) }},
	} {
		for _, e := range Registry {
			b := random(3)
			c.spoil(b)
			estimate(t, e.New(), b)
			for n, counts := range b.Mask {
				if a := b.Advantage[n]; math.IsNaN(a) || math.IsInf(a, 0) || !counts && a != 0 {
					t.Errorf("%s, %s: token %d (in mask: %v) has advantage %v", e.Name, c.name, n, counts, a)
				}
			}
		}
	}
}

// Permuting the siblings permutes their advantages and changes nothing else.
func TestSiblingsAreExchangeable(t *testing.T) {
	order := []int{2, 0, 3, 1, 7, 5, 4, 6, 9, 10, 8, 11}
	for _, e := range Registry {
		if e.Name == "rae" {
			continue // its baseline moves response by response
		}
		a, b := random(4), new(batch.Batch)
		a.Correct = nil // rl_zvp reads a group's first label
		a.Select(b, order)
		estimate(t, e.New(), a)
		estimate(t, e.New(), b)
		var want batch.Batch
		a.Select(&want, order)
		if !nearAll(b.Advantage, want.Advantage, 1e-12) {
			t.Errorf("%s: permuting siblings changes more than their order", e.Name)
		}
	}
}

// positive_weight scales what is positive and leaves the rest.
func TestPositiveWeight(t *testing.T) {
	for _, e := range Registry {
		full := random(5)
		estimate(t, e.New(), full)
		for _, w := range []float64{0, .3} {
			m := e.New()
			asymmetry(m).PositiveWeight = w
			b := random(5)
			estimate(t, m, b)
			for n, a := range full.Advantage {
				want := a
				if a > 0 {
					want = w * a
				}
				if b.Advantage[n] != want {
					t.Errorf("%s with positive_weight %v: token %d has %v, want %v", e.Name, w, n, b.Advantage[n], want)
				}
			}
		}
	}
}

// asymmetry returns the embedded struct, which every estimator must have.
func asymmetry(e Estimator) *Asymmetry {
	return reflect.ValueOf(e).Elem().FieldByName("Asymmetry").Addr().Interface().(*Asymmetry)
}

// lookup is a new estimator of the registry.
func lookup(t *testing.T, name string) Estimator {
	t.Helper()
	e, err := Registry.Lookup(name)
	must(t, err)
	return e.New()
}

// Group-relative advantages of equal rewards are exactly zero.
func TestEqualRewardsTeachNothing(t *testing.T) {
	for _, name := range []string{"grpo", "grpo_passk", "rloo", "reinforce_plus_plus_baseline", "opo", "gpg", "maxrl", "max_rl", "normalize", "gdpo", "opob"} {
		b := random(6)
		for i := range b.Reward {
			b.Reward[i], b.RewardParts[i] = .7, []float64{.1, .7}
		}
		estimates(t, name, lookup(t, name), b, make([]float64, b.Tokens()), 0)
	}
}

// A shift of a group's rewards, and with a standard deviation their scale,
// changes nothing.
func TestInvariance(t *testing.T) {
	shift := func(name string, scale, offset, tolerance float64) {
		a, b := random(7), random(7)
		for i := range b.Reward {
			b.Reward[i] = scale*b.Reward[i] + offset
		}
		m := lookup(t, name)
		if o, ok := m.(*OPOB); ok {
			o.Eps = 0 // next to tiny weights it pulls the baseline to 0
		}
		estimate(t, m, a)
		estimates(t, fmt.Sprintf("%s under %v·R + %v", name, scale, offset), m, b, a.Advantage, tolerance)
	}
	for _, name := range []string{"rloo", "opo", "opob", "reinforce_plus_plus_baseline"} {
		shift(name, 1, 3, 1e-8)
	}
	shift("grpo", 5, 3, 1e-5) // eps next to the deviation
	shift("grpo_passk", 5, 3, 1e-5)
}

// At every position the optimal token baseline is the weighted mean of the
// returns: the weighted advantages add up to nothing. That is what makes it the
// minimum of Σ W·(G − B)².
func TestOTBMinimisesItsProxy(t *testing.T) {
	for _, name := range []string{"otb", "tir_otb"} {
		b := random(8)
		m := lookup(t, name).(*OTB)
		m.ZeroTail, m.Eps = false, 0
		estimate(t, m, b)
		for from := 0; from < b.Len(); from += 4 {
			sum := map[int]float64{}
			for n := b.Offsets[from]; n < b.Offsets[from+4]; n++ {
				if b.Mask[n] {
					sum[m.column[n]] += m.energy[n] * b.Advantage[n]
				}
			}
			for column, s := range sum {
				if math.Abs(s) > 1e-12 {
					t.Errorf("%s, responses %d..%d, column %d: weighted advantages sum to %g", name, from, from+4, column, s)
				}
			}
		}
	}
}

// With holes carried, tool output between two turns changes no return; reset
// wipes what crosses it.
func TestHoles(t *testing.T) {
	build := func() *batch.Batch {
		return &batch.Batch{
			Sampled: batch.Sampled{Offsets: []int{0, 4}, Mask: []bool{true, false, true, true}},
			Graded:  batch.Graded{TokenReward: []float64{0, 0, 0, 1}},
		}
	}
	for _, c := range []struct {
		holes Holes
		want  []float64
	}{
		{Carry, []float64{.25, .5, .5, 1}},
		{Reset, []float64{0, .25, .5, 1}},
		{Through, []float64{.125, .25, .5, 1}},
	} {
		b := build()
		estimate(t, &Reinforce{Asymmetry: symmetric, Gamma: .5, Holes: c.holes}, b)
		if !slices.Equal(b.Return, c.want) {
			t.Errorf("%s: returns %v, want %v", c.holes, b.Return, c.want)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	for _, e := range Registry {
		m, b := e.New(), random(10)
		step := func() {
			if err := m.Estimate(b); err != nil {
				t.Error(err)
			}
		}
		step()
		if got := testing.AllocsPerRun(10, step); got != 0 {
			t.Errorf("%s: %v allocations per batch", e.Name, got)
		}
	}
}

func BenchmarkEstimate(b *testing.B) {
	in := random(11)
	rows := make([]int, 0, 120)
	for i := range 120 {
		rows = append(rows, i%12)
	}
	var large batch.Batch
	in.Select(&large, rows)
	for i := range large.Group {
		large.Group[i] = i / 4
	}
	for _, e := range Registry {
		b.Run(e.Name, func(b *testing.B) {
			m := e.New()
			must(b, m.Estimate(&large))
			b.ReportAllocs()
			for b.Loop() {
				must(b, m.Estimate(&large))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(large.Tokens()), "ns/token")
		})
	}
}
