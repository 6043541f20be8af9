package advantage

import (
	"fmt"
	"math"
	"testing"

	"driftlab/trainer/method/batch"
)

// Without an eps nothing is divided by zero: whoever has no lead, or no spread,
// gets 0.
func TestWithoutEps(t *testing.T) {
	for _, e := range []Estimator{
		&GRPOPassK{Asymmetry: symmetric, Std: true},
		&Normalize{Asymmetry: symmetric, Mean: "group", Std: "group"},
		&Normalize{Asymmetry: symmetric, Mean: "group", Std: "batch", Residual: true},
		&GRPO{Asymmetry: symmetric, Std: true, Singleton: "zero"},
	} {
		b := single([]float64{.5, .5, .5}, []int{0, 0, 0}, []int{1, 1, 1})
		estimates(t, fmt.Sprintf("%T", e), e, b, []float64{0, 0, 0}, 0)
	}
}

// Without an eps, responses that weigh nothing have no baseline.
func TestWeightlessWithoutEps(t *testing.T) {
	b := otbBatch()
	b.Weight = make([]float64, b.Tokens())
	estimates(t, "OTB", &OTB{Asymmetry: symmetric, Scale: "increment"}, b, []float64{1, 1, 5}, 0) // the rewards to come
	b = single([]float64{1, 0}, []int{0, 0}, []int{1, 1})
	b.ScoreNorm = []float64{0, 0}
	estimates(t, "OPOB", &OPOB{Asymmetry: symmetric, Aggregate: "mean", Cap: 1}, b, []float64{1, 0}, 0)
}

// Rewards without a scored one have mean 0, and one alone has no deviation,
// whatever divides it.
func TestScoredMoments(t *testing.T) {
	nan := math.NaN()
	if m, n := scoredMean([]float64{nan, nan}); m != 0 || n != 0 {
		t.Errorf("nothing scored: mean %v of %v", m, n)
	}
	if m, n := scoredMean([]float64{1, nan, 4}); m != 2.5 || n != 2 {
		t.Errorf("mean %v of %v", m, n)
	}
	if s := scoredDeviation([]float64{3, nan}, 3, 0); s != 0 {
		t.Errorf("deviation %v over no degree of freedom", s)
	}
	if s := scoredDeviation([]float64{1, nan, 4}, 2.5, 1); s != math.Sqrt(4.5) { // 1.5² + 1.5²
		t.Errorf("deviation %v", s)
	}
}

// A tie in rounding is still a tie: the mean of three times 0.1 is not 0.1, and
// RLOO gives 0 all the same, not what rounding left.
func TestRLOOTies(t *testing.T) {
	b := single([]float64{.1, .1, .1}, []int{0, 0, 0}, []int{1, 1, 1})
	estimate(t, &RLOO{Asymmetry: symmetric, Singleton: "zero"}, b)
	if mean(b.Reward) == .1 || !nearAll(b.Advantage, []float64{0, 0, 0}, 0) {
		t.Errorf("%v about %v", b.Advantage, mean(b.Reward))
	}
}

// GDPO on groups of one has nothing to normalise within: whitening over
// responses is then the batch's own normalisation, written down by hand for
// rewards 1, 2, 6: mean 3, std √7.
func TestGDPOWhitensSequences(t *testing.T) {
	b := single([]float64{1, 2, 6}, []int{0, 1, 2}, []int{1, 1, 1})
	estimate(t, &GDPO{Asymmetry: symmetric, Std: true, Whiten: "sequence"}, b)
	s := math.Sqrt(7)
	if !nearAll(b.Advantage, []float64{-2 / s, -1 / s, 3 / s}, 1e-15) {
		t.Errorf("%v", b.Advantage)
	}
}

// OPOB by hand: with score norms 1 the baseline is the mean; std divides by the
// group's deviation, here √(4.5) and 1e-6.
func TestOPOBStd(t *testing.T) {
	b := single([]float64{1, 4}, []int{0, 0}, []int{1, 1})
	b.ScoreNorm = []float64{1, 1}
	estimate(t, &OPOB{Asymmetry: symmetric, Cap: math.Inf(1), Aggregate: "mean", Std: true}, b)
	want := 1.5 / (math.Sqrt(4.5) + 1e-6)
	if !nearAll(b.Advantage, []float64{-want, want}, 1e-9) {
		t.Errorf("%v, want ±%v", b.Advantage, want)
	}
}

// Two responses of equal weight: the smallest reward up to which the weights add
// up to the half is the smaller one.
func TestOPOBMedianOfTwo(t *testing.T) {
	b := single([]float64{4, 1}, []int{0, 0}, []int{1, 1})
	b.ScoreNorm = []float64{1, 1}
	e := &OPOB{Asymmetry: symmetric, Cap: math.Inf(1), Aggregate: "median"}
	estimate(t, e, b)
	// Σ w·min(max(R, −∞), ∞) / Σ w: the median replaces the mean.
	e.weight = []float64{1, 1}
	if q := e.quantile(b.Reward, 1); q != 1 {
		t.Errorf("the median of 1 and 4, equally weighted, is %v", q)
	}
	if q := e.quantile(b.Reward, math.Nextafter(1, 2)); q != 4 {
		t.Errorf("above the half it is %v", q)
	}
	if q := e.quantile(b.Reward, 2.5); q != 4 {
		t.Errorf("beyond all weights it is %v", q)
	}
}

// otbBatch is two responses of two and one tokens with rewards at their ends,
// and energies a = 1 − 2·½ + Σq² of 1, 2 and 3.
func otbBatch() *batch.Batch {
	b := single([]float64{1, 0}, []int{0, 0}, []int{2, 1})
	b.TokenReward = []float64{0, 1, 5}
	half := math.Log(.5)
	b.Old.Logp, b.Old.SumSquares = []float64{half, half, half}, []float64{1, 2, 3}
	return b
}

// OTB's cumulative scale by hand, with an eps that counts: W is 1, 3 and 3, and
// B_0 = (1·1 + 5·3)/(1 + 3 + 1) = 3.2.
func TestOTBCumulativeByHand(t *testing.T) {
	b := otbBatch()
	estimates(t, "advantages", &OTB{Asymmetry: symmetric, Eps: 1, ZeroTail: true, Scale: "cumulative"}, b, []float64{1 - 3.2, 1, 5 - 3.2}, 1e-12)
	b = otbBatch()
	// B_1 = 1·3/(3 + 1)
	estimates(t, "advantages", &OTB{Asymmetry: symmetric, Eps: 1, Scale: "cumulative"}, b, []float64{1 - 3.2, 1 - 3./4, 5 - 3.2}, 1e-12)
}

// Two longest responses are each other's baseline to the end, also where a hole
// puts their last column beyond their number of tokens.
func TestOTBTwoLongest(t *testing.T) {
	b := single([]float64{1, 0}, []int{0, 0}, []int{3, 3})
	b.Mask = []bool{true, false, true, true, false, true}
	b.TokenReward = []float64{0, 0, 1, 0, 0, 3}
	half := math.Log(.5)
	b.Old.Logp, b.Old.SumSquares = []float64{half, half, half, half, half, half}, []float64{1, 1, 1, 1, 1, 1}
	// baseline (1 + 3)/2 in every column
	estimates(t, "advantages", &OTB{Asymmetry: symmetric, ZeroTail: true, Scale: "increment"}, b, []float64{-1, 0, -1, 1, 0, 1}, 1e-12)
}

// In the multi-turn form a response without a generated token is no sibling: the
// other one has no baseline.
func TestOTBEmptySibling(t *testing.T) {
	b := otbBatch()
	b.Mask[2] = false
	estimates(t, "advantages", &OTB{Asymmetry: symmetric, Scale: "increment", multiTurn: true}, b, []float64{1, 1, 0}, 0)
}

// A turn that no sibling has keeps its reward to come, unscaled; one that two
// have is divided by their deviation and eps; Return is the reward to come of
// each token's turn.
func TestTurnLevelScales(t *testing.T) {
	b := single([]float64{0, 0}, []int{0, 0}, []int{2, 1})
	b.TokenReward, b.Turn = []float64{1, 3, 8}, []int32{0, 1, 0}
	estimate(t, &TurnLevel{Asymmetry: symmetric, Gamma: 1, Baseline: "group", Std: true, Eps: .5}, b)
	s := math.Sqrt(8) + .5 // of rewards to come 4 and 8
	if !nearAll(b.Advantage, []float64{-2 / s, 3, 2 / s}, 1e-12) {
		t.Errorf("%v", b.Advantage)
	}
	if !nearAll(b.Return, []float64{4, 3, 8}, 0) {
		t.Errorf("returns %v", b.Return)
	}
}

// Only the baseline "value" needs values.
func TestTurnLevelNeedsValues(t *testing.T) {
	b := example()
	b.Value = nil
	if err := (&TurnLevel{Asymmetry: symmetric, Baseline: "value"}).Estimate(b); err == nil {
		t.Error("values from nowhere")
	}
	if err := (&TurnLevel{Asymmetry: symmetric, Baseline: "group"}).Estimate(b); err != nil {
		t.Error(err)
	}
}

// One token alone is not whitened, which would leave nothing of it: A = r − V.
func TestGAEOfOneToken(t *testing.T) {
	b := single([]float64{1}, []int{0}, []int{1})
	b.TokenReward, b.Value = []float64{1}, []float64{.25}
	estimates(t, "advantages", &GAE{Asymmetry: symmetric, Gamma: 1, Lam: 1, Whiten: true, Holes: Carry}, b, []float64{.75}, 0)
}

// The residual deviation by hand: groups 0, 2 and 1, 5 leave ∓1 and ∓2, squares
// of 10 over three degrees of freedom, or over four.
func TestNormalizeResidual(t *testing.T) {
	for biased, s := range map[bool]float64{false: math.Sqrt(10. / 3), true: math.Sqrt(10. / 4)} {
		b := single([]float64{0, 2, 1, 5}, []int{0, 0, 1, 1}, []int{1, 1, 1, 1})
		estimates(t, fmt.Sprint("biased ", biased), &Normalize{Asymmetry: symmetric, Mean: "group", Std: "batch", Residual: true, Biased: biased}, b, []float64{-1 / s, 1 / s, -2 / s, 2 / s}, 1e-15)
	}
}
