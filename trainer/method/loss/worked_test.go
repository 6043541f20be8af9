package loss

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"driftlab/trainer/method"
)

//go:embed testdata/worked.txt
var workedText string

func near(got, want float64) bool { return math.Abs(got-want) < 1e-6 }

// TestHandWorkedCoefficients compares with figures worked out by hand.
func TestHandWorkedCoefficients(t *testing.T) {
	for _, c := range readVariants(workedText) {
		out, numbers := eval(t, c.loss(), workedBatch()), strings.Fields(c.rest)
		if len(numbers) != len(out.DLogp) {
			t.Errorf("%s: %d figures, want %d", c.name, len(numbers), len(out.DLogp))
			continue
		}
		for n, text := range numbers {
			want, err := strconv.ParseFloat(text, 64)
			if err != nil || !near(-out.DLogp[n], want) {
				t.Errorf("%s: coefficient %d is %.6f, want %s", c.name, n, -out.DLogp[n], text)
			}
		}
	}
}

// The numbers of the tests below were worked out by hand for the same log-probs.
func TestHandWorkedKL(t *testing.T) {
	logp, ref := []float64{-0.5, -1.2, -2.0}, []float64{-0.9, -0.8, -2.1}
	for _, c := range []struct {
		e                 Estimator
		value, derivative [3]float64
	}{
		{K1, [3]float64{.4, -.4, .1}, [3]float64{1, 1, 1}},
		{Abs, [3]float64{.4, .4, .1}, [3]float64{1, -1, 1}},
		{K2, [3]float64{.08, .08, .005}, [3]float64{.4, -.4, .1}},
		{K3, [3]float64{.07032, .091825, .004837}, [3]float64{.32968, -.491825, .095163}},
		{K1Plus, [3]float64{.4, -.4, .1}, [3]float64{.4, -.4, .1}},
		{K3Plus, [3]float64{.07032, .091825, .004837}, [3]float64{.4, -.4, .1}},
	} {
		for n := range logp {
			value, derivative := c.e.At(logp[n]-ref[n], VerlBounds)
			if !near(value, c.value[n]) || !near(derivative, c.derivative[n]) {
				t.Errorf("%s of token %d is %.6f, %.6f; want %.6f, %.6f", c.e, n, value, derivative, c.value[n], c.derivative[n])
			}
		}
	}
	// DeepSeek-V3.2 with the ratio to old.
	b := workedBatch()
	b.LogpRoll = b.Anchor
	k := method.New[UnbiasedKL]()
	k.Coef, k.Aggregation.Mode = 1, "token-sum"
	out := addedTo(t, k, b)
	for n, want := range []float64{.488561, -.327492, .164872} {
		if !near(out.DLogp[n], want) {
			t.Errorf("V3.2 derivative %d is %.6f, want %.6f", n, out.DLogp[n], want)
		}
	}
	if want := 2 * (.085889 + .07518 + .007976); math.Abs(out.Loss-want) > 3e-6 {
		t.Errorf("V3.2 sum is %.6f, want %.6f", out.Loss, want)
	}
}

func TestHandWorkedParts(t *testing.T) {
	if v := optimalValue([]float64{1, 0, 0, 1, 1}, 1); !near(v, .708513) {
		t.Errorf("optimal value %.6f, want 0.708513", v)
	}
	if tau2 := secondMomentBound([]float64{.01, .04, .09, .25}, .04); !near(math.Sqrt(tau2), .2) {
		t.Errorf("M2PO's tau is %.6f, want 0.2", math.Sqrt(tau2))
	}
	if a := interpolation(8, 4); a != 0.75 {
		t.Errorf("A-3PO's alpha at lag 4 is %v, want 0.75", a)
	}
	f := frame{in: workedBatch(), sg: workedBatch().Now.Logp}
	f.in.LearnerVersion, f.in.Version = 8, []int32{4, 4, 4, 4, 4, 4}
	p := &DecoupledPPO{Prox: "loglinear"}
	for n, want := range []float64{-.525, -1.225, -2.05} {
		if got := p.proximal(&f, n); !near(got, want) || Interpolate(nil, f.in, f.sg)[n] != got {
			t.Errorf("A-3PO's proximal log-prob %d is %.6f, want %.6f", n, got, want)
		}
	}
	// DPO: beta·sigma(-beta·D) at beta 0.1, D = 2.
	if c := 0.1 * sigmoid(-0.1*2); !near(c, .045017) {
		t.Errorf("DPO's coefficient is %.6f, want 0.045017", c)
	}
	// QUATRO's dual at delta 1e-4 and std 0.4899: exact 34.57 against the closed form 34.64.
	rewards := []float64{1, 0, 0, 1, 1}
	_, std := meanStd(rewards)
	if exact, closed := klDual(rewards, 1e-4), std/math.Sqrt(2e-4); math.Abs(exact-34.57) > 0.01 || math.Abs(closed-34.64) > 0.01 {
		t.Errorf("QUATRO's dual is %.2f, its closed form %.2f; want 34.57 and 34.64", exact, closed)
	}
	// M2 mask: suffix means .0975, .0467, .025, .01 of v in descending order mask two tokens at 0.04.
	b := workedBatch()
	b.Offsets, b.Group, b.Mask = []int{0, 4}, []int{0}, []bool{true, true, true, true}
	b.Anchor, b.LogpRoll = []float64{0, 0, 0, 0}, []float64{-.1, -.2, -.3, -.5}
	b.Now.Logp, b.Advantage = make([]float64, 4), []float64{1, 1, 1, 1}
	m := method.New[M2Mask]()
	must(t, m.Eval(&Grad{}, b))
	if !slices.Equal(m.mask[:4], []bool{true, true, false, false}) {
		t.Errorf("M2 mask is %v", m.mask[:4])
	}
}
