package loss

import (
	"math"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// Corners that the shipped golden cases do not reach, worked by hand.

// TestTiesShareTheGradient, as automatic differentiation does.
func TestTiesShareTheGradient(t *testing.T) {
	s := clipped(-1, 3, 3, 0.8, 1.2, 3, 0) // the dual clip's bound is met exactly
	if s.value != 3 || s.dlogp != 1.5 || s.dual {
		t.Errorf("at the tie: %+v, want value 3, half of the gradient 3, not clipped", s)
	}
	for _, x := range []struct{ x, value, derivative float64 }{{9, math.Exp(9), math.Exp(9)}, {11, math.Exp(10), 0}} {
		if y, dy := cappedExp(x.x, 10); y != x.value || dy != x.derivative {
			t.Errorf("cappedExp(%v) = %v, %v", x.x, y, dy)
		}
	}
}

// TestAggregationByHand on responses of 3, 0 and 1 active tokens out of 4, 2
// and 2; the correction stage has rejected one token of the first.
func TestAggregationByHand(t *testing.T) {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, 4, 6, 8}, Group: []int{0, 0, 1}}}
	b.Mask = []bool{true, true, true, true, false, false, true, false}
	b.LossMask = []bool{true, true, false, true, false, false, true, false}
	for _, c := range []struct {
		text string
		want [3]float64
	}{
		{"token-mean", [3]float64{1. / 4, 1. / 4, 1. / 4}},
		{"bnpo", [3]float64{1. / 4, 1. / 4, 1. / 4}},
		{"dapo@pre", [3]float64{1. / 5, 1. / 5, 1. / 5}},
		{"token-sum", [3]float64{1, 1, 1}},
		{"seq-mean-token-sum", [3]float64{1. / 2, 1. / 2, 1. / 2}},
		{"seq-mean-token-sum-norm", [3]float64{1. / 8, 1. / 8, 1. / 8}},
		{"seq-mean-token-sum-norm:10", [3]float64{1. / 20, 1. / 20, 1. / 20}},
		{"token-sum-norm:10", [3]float64{1. / 10, 1. / 10, 1. / 10}},
		{"seq-mean-token-mean", [3]float64{1 / (2 * (3 + 1e-8)), 1 / (2 * 1e-8), 1 / (2 * (1 + 1e-8))}},
		{"seq-mean-token-mean@pre", [3]float64{1 / (2 * (4 + 1e-8)), 1 / (2 * 1e-8), 1 / (2 * (1 + 1e-8))}},
		{"seq-sum-token-mean", [3]float64{1. / 3, 1, 1}},
		{"seq-all-token-sum", [3]float64{1. / 3, 1. / 3, 1. / 3}},
		{"grpo", [3]float64{1. / 9, 1. / 3, 1. / 3}},
		{"dr_grpo:10", [3]float64{1. / 30, 1. / 30, 1. / 30}},
		{"prompt-mean", [3]float64{1. / 6, 1. / 6, 1. / 2}},
		{"token-mean-legacy", [3]float64{1. / 9, 1. / 3, 1. / 3}},
		{"token-mean-legacy:2", [3]float64{1. / 3, 1. / 3, 0}},
		{"token-mean-legacy:9", [3]float64{1. / 4, 1. / 4, 1. / 4}},
	} {
		var a Aggregation
		must(t, a.UnmarshalText([]byte(c.text)))
		got := make([]float64, 3)
		must(t, a.RowWeights(got, b, &batch.Groups{}))
		for i, w := range c.want {
			if math.Abs(got[i]-w) > 1e-15*math.Abs(w) {
				t.Errorf("%s: response %d has weight %v, want %v", c.text, i, got[i], w)
			}
		}
	}
}

// one makes a batch of responses with the given log-ratios to old = roll, all
// advantages equal to the response's.
func one(advantages []float64, lr ...[]float64) *batch.Batch {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	for i, row := range lr {
		for _, x := range row {
			b.Mask = append(b.Mask, true)
			b.Now.Logp = append(b.Now.Logp, -1)
			b.Anchor = append(b.Anchor, -1-x)
			b.Advantage = append(b.Advantage, advantages[i])
		}
		b.Offsets = append(b.Offsets, len(b.Mask))
		b.Group = append(b.Group, 0)
		b.Reward = append(b.Reward, advantages[i])
		b.Correct = append(b.Correct, advantages[i] > 0)
	}
	b.LogpRoll = b.Anchor
	return b
}

func TestCornersByHand(t *testing.T) {
	sum := Aggregation{Mode: "token-sum"}
	ln := math.Log
	if got, want := klDual([]float64{1, 1, 1, 0}, 0.3), math.Sqrt(3./16)/math.Sqrt(0.6); got != want { // log(4/3) is less than 0.3
		t.Errorf("where the bound does not bind λ is %v, want %v", got, want)
	}
	lambda := klDual([]float64{1, 0}, 0.02)
	entropies := one([]float64{1}, []float64{ln(1.3), ln(1.3)})
	entropies.Now.Entropy = []float64{0.5, 1.5} // buckets of one: widths 0.25·0.5 and 0.25·1.5
	engine := one([]float64{1}, []float64{0.25})
	engine.LogpRoll = []float64{engine.Anchor[0] - 0.3} // x = e^0.3 = 1.35, cut at 1.05: upper bound 1.2·1.35/1.05 = 1.54
	empty := one([]float64{1, 1}, []float64{0, 0}, []float64{0})
	empty.Mask[2] = false
	for _, c := range []struct {
		name string
		loss Loss
		in   *batch.Batch
		want []float64
	}{
		{"MinPRO: the minimum of the prefix, not its last", &MinPRO{Variant: "plain", Anchor: Old, Aggregation: sum},
			one([]float64{1}, []float64{ln(0.5), ln(2), ln(1.5)}), []float64{0.5, 0.5 * 2, 0.5 * 1.5}},
		{"TOPR: reward 0 is a bad response", &TOPR{Level: "trajectory", High: 1, PositiveWeight: 1, NegativeWeight: 1, Sign: "reward", Anchor: Roll, Aggregation: sum},
			withRewards(one([]float64{1}, []float64{ln(0.5)}), 0), []float64{0.5}},
		{"QUATRO: push minus pull", &QUATRO{Delta: 0.02, Cap: 2, Aggregation: sum},
			one([]float64{1, 0}, []float64{0.3}, []float64{0.3}), []float64{0.5/lambda - 0.3, -0.5/lambda - 0.3}},
		{"ESPO: uncertain buckets are wider", &ESPO{Buckets: 2, Eps: 0.25, Aggregation: sum},
			entropies, []float64{0, 1.3}},
		{"ACR: truncation relaxes the upper bound", &ACR{EpsLow: 0.2, EpsHigh: 0.2, Cap: 1.05, Aggregation: sum},
			engine, []float64{1.05 * math.Exp(0.25)}},
		{"DISPO: the label chooses the bounds", &DISPO{CorrectLow: 1, CorrectHigh: 0.1, IncorrectLow: 1, IncorrectHigh: 0.5, Aggregation: sum},
			one([]float64{1, -1}, []float64{ln(2)}, []float64{ln(2)}), []float64{1.1, -1.5}},
		{"TBPO: negatives above c stop", &TBPO{EpsLow: 0.1, EpsHigh: 0.1, Dual: 1.5, Aggregation: sum},
			one([]float64{-1, -1}, []float64{ln(2)}, []float64{ln(1.4)}), []float64{0, -1.4}},
		{"LUSPO: a mean over all responses", method.New[LUSPO](), empty, []float64{0.5, 0.5, 0}},
		{"VESPO: the weight has a floor", &VESPO{KPos: 1, LambdaPos: 1e-4, KNeg: 1, LambdaNeg: 1, Aggregation: sum},
			one([]float64{1}, []float64{-10, -9.5}), []float64{1e-8 * math.Exp(1e-4*(1-1e-8)), 1e-8 * math.Exp(1e-4*(1-1e-8))}},
		{"DPPO top-K: K of the bulk and the rest", &DPPOTopK{K: 1, Divergence: "tv", DeltaHigh: 0.09, DeltaLow: 0.09, Aggregation: sum},
			withDists(one([]float64{1}, []float64{ln(0.4 / 0.3)})), []float64{0}},
		{"DPPO top-K: inside the band", &DPPOTopK{K: 1, Divergence: "tv", DeltaHigh: 0.11, DeltaLow: 0.11, Aggregation: sum},
			withDists(one([]float64{1}, []float64{ln(0.4 / 0.3)})), []float64{0.4 / 0.3}},
		{"unclipped ESPO bucket of nothing", &ESPO{Buckets: 9, Eps: 9, Aggregation: sum}, entropies, []float64{1.3, 1.3}},
	} {
		out := eval(t, c.loss, c.in)
		for n, want := range c.want {
			if math.Abs(-out.DLogp[n]-want) > 1e-7*math.Abs(want)+1e-15 {
				t.Errorf("%s: coefficient %d is %.12g, want %.12g", c.name, n, -out.DLogp[n], want)
			}
		}
	}
}

func withRewards(b *batch.Batch, rewards ...float64) *batch.Batch {
	b.Reward = rewards
	return b
}

// withDists gives q = (0.3, 0.5, 0.2) and p = (0.4, 0.45, 0.15): a total
// variation of 0.1 with the sampled token, the largest and the rest in a bucket each.
func withDists(b *batch.Batch) *batch.Batch {
	b.Vocab, b.Token = 3, []int32{0}
	for _, x := range []struct {
		dst *[]float32
		p   [3]float64
	}{{&b.DistRoll, [3]float64{0.3, 0.5, 0.2}}, {&b.Now.Dist, [3]float64{0.4, 0.45, 0.15}}} {
		for _, p := range x.p {
			*x.dst = append(*x.dst, float32(math.Log(p)))
		}
	}
	return b
}
