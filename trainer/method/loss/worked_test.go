package loss

import (
	"math"
	"slices"
	"testing"

	"driftlab/trainer/method"
)

// The expected numbers of this file were computed by hand from the papers'
// formulas, independently of this package, for logp = [-0.5, -1.2, -2.0],
// old = [-0.7, -1.0, -2.5], roll = [-0.6, -1.3, -2.2], ref = [-0.9, -0.8, -2.1]:
// r = [1.221403, 0.818731, 1.648721], w = [1.105171, 1.105171, 1.221403].

func near(got, want float64) bool { return math.Abs(got-want) < 1e-6 }

// TestHandWorkedCoefficients compares -d loss/d logp of sums over tokens.
func TestHandWorkedCoefficients(t *testing.T) {
	sum := Aggregation{Mode: "token-sum"}
	perRow := Aggregation{Mode: "seq-mean-token-mean", Sequences: 1} // 1/T per token, each of two responses alone
	for _, c := range []struct {
		name               string
		loss               Loss
		positive, negative [3]float64
	}{
		{"PPO 0.2", &PPOClip{EpsLow: 0.2, EpsHigh: 0.2, LogClamp: 20, Aggregation: sum},
			[3]float64{0, .818731, 0}, [3]float64{-1.221403, -.818731, -1.648721}},
		{"PPO 0.2, dual clip 1.5", &PPOClip{EpsLow: 0.2, EpsHigh: 0.2, DualClip: 1.5, LogClamp: 20, Aggregation: sum},
			[3]float64{0, .818731, 0}, [3]float64{-1.221403, -.818731, 0}},
		{"PPO 0.2, delta 1.3", &PPOClip{EpsLow: 0.2, EpsHigh: 0.2, Delta: 1.3, LogClamp: 20, Aggregation: sum},
			[3]float64{0, .818731, 0}, [3]float64{-1.221403, -.818731, 0}},
		{"PPO 0.1", &PPOClip{EpsLow: 0.1, EpsHigh: 0.1, LogClamp: 20, Aggregation: sum},
			[3]float64{0, .818731, 0}, [3]float64{-1.221403, 0, -1.648721}},
		{"ASPO 0.2", &ASPO{LowEntropyEpsNeg: 0.2, HighEntropyEpsNeg: 0.2, LowEntropyEpsPos: 0.2, HighEntropyEpsPos: 0.2, CapNeg: 3, CapPos: 3, Quantile: 0.8, Aggregation: sum},
			[3]float64{0, 1.221403, 0}, [3]float64{-1.221403, -.818731, -1.648721}},
		{"MinPRO", &MinPRO{Cap: 20, Variant: "plain", Anchor: Old, Aggregation: sum},
			[3]float64{1.221403, 1.0, 1.349859}, [3]float64{-1.221403, -1.0, -1.349859}},
		{"CTPO", &CTPO{Low: 0.025, High: 0.05, Dual: 0.05, Power: 0.5, Form: "product", Aggregation: sum},
			[3]float64{0, 1, 0}, [3]float64{0, -1, 0}},
		{"GSPO", &GSPO{EpsLow: 3e-4, EpsHigh: 4e-4, LogCap: 10, MeanAdvantage: true, Aggregation: perRow},
			[3]float64{0, 0, 0}, [3]float64{-.393787, -.393787, -.393787}},
		{"GMPO 0.4", &GMPO{EpsLow: 0.4, EpsHigh: 0.4, Clip: "token", Normalise: true},
			[3]float64{.380877 / 2, .380877 / 2, 0}, [3]float64{-.393787 / 2, -.393787 / 2, -.393787 / 2}}, // mean of two responses
		{"CISPO", &CISPO{EpsLow: 10, EpsHigh: 0.2, Level: "token", Anchor: Old, LogClamp: 20, Aggregation: sum},
			[3]float64{1.2, .818731, 1.2}, [3]float64{-1.2, -.818731, -1.2}},
		{"SAPO", &SAPO{TauPos: 1, TauNeg: 1.05, Level: "token", Anchor: Old, LogClamp: 20, Aggregation: sum},
			[3]float64{1.206556, .812042, 1.486739}, [3]float64{-1.205048, -.81136, -1.471352}},
		{"DPPO-TV 0.15 on old", &DPPO{DeltaLow: 0.15, DeltaHigh: 0.15, Cap: 20, LogClamp: 20, Anchor: Old, MaskAnchor: Old, Aggregation: sum, outside: outsideTV},
			[3]float64{1.221403, .818731, 1.648721}, [3]float64{-1.221403, -.818731, -1.648721}},
		{"DPPO-KL 0.01 on old", &DPPO{DeltaLow: 0.01, DeltaHigh: 0.01, Cap: 20, LogClamp: 20, Anchor: Old, MaskAnchor: Old, Aggregation: sum, outside: outsideKL},
			[3]float64{0, .818731, 0}, [3]float64{-1.221403, 0, -1.648721}},
		{"VESPO", &VESPO{KPos: 2, LambdaPos: 3, KNeg: 3, LambdaNeg: 2, Aggregation: sum},
			[3]float64{.388227, .388227, .388227}, [3]float64{-1.22453, -1.22453, -1.22453}},
		{"TOPR", &TOPR{Level: "trajectory", High: 1, PositiveWeight: 1, NegativeWeight: 1, Sign: "reward", LogClamp: 20, Anchor: Roll, Aggregation: sum},
			[3]float64{1, 1, 1}, [3]float64{-1, -1, -1}},
		{"AIPO 1.2", &AIPO{Cap: 1.2, Aggregation: sum},
			[3]float64{1.105171, 1.105171, 1.2}, [3]float64{-1.105171, -1.105171, -1.2}},
		{"logit fusion in [0.9, 1.5]", &LogitFusion{Ratio: "student", Cap: 1.5, Floor: 0.9, Aggregation: sum},
			[3]float64{1.221403, 0, 0}, [3]float64{-1.221403, 0, 0}},
		{"REINFORCE", &Reinforce{Anchor: Old, Aggregation: sum}, [3]float64{1, 1, 1}, [3]float64{-1, -1, -1}},
		{"sequence IS", &ImportanceSampling{Level: "sequence", Anchor: Old, Aggregation: perRow}, // exp(0.5)
			[3]float64{1.648721, 1.648721, 1.648721}, [3]float64{-1.648721, -1.648721, -1.648721}},
		{"DRO 1", &DRO{Beta: 1, Aggregation: sum}, // A - lr
			[3]float64{0.8, 1.2, 0.5}, [3]float64{-1.2, -0.8, -1.5}},
		// S - A* with S = Σ logp - roll = 0.4, A* = R - log((e+1)/2) = R - 0.620115; doubled, and a mean of 2.
		{"OAPL", &OAPL{Beta1: 1, Beta2: 1}, [3]float64{-0.020115, -0.020115, -0.020115}, [3]float64{-1.020115, -1.020115, -1.020115}},
	} {
		out := &Grad{}
		if err := c.loss.Eval(out, workedBatch()); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for n, want := range slices.Concat(c.positive[:], c.negative[:]) {
			if !near(-out.DLogp[n], want) {
				t.Errorf("%s: coefficient %d is %.6f, want %.6f", c.name, n, -out.DLogp[n], want)
			}
		}
	}
}

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
	k, out := method.New[UnbiasedKL](), &Grad{}
	k.Coef, k.Aggregation.Mode = 1, "token-sum"
	out.Reset(b.Tokens())
	if err := k.AddLoss(out, b); err != nil {
		t.Fatal(err)
	}
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
	if err := m.Eval(&Grad{}, b); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.mask[:4], []bool{true, true, false, false}) {
		t.Errorf("M2 mask is %v", m.mask[:4])
	}
}
