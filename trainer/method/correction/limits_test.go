package correction

import (
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// A ratio that stands on a bound is inside: with bounds of one, on-policy data
// keep weight one and every token, and no figure counts any as too high or too
// low.
func TestBoundsBelongToTheInside(t *testing.T) {
	cases := map[string]*Pipeline{
		"token_tis":    {Weights: &TokenTIS{Cap: 1, Floor: 1}},
		"sequence_tis": {Weights: &SequenceTIS{Cap: 1, Floor: 1}},
		"token_mis":    {Weights: &TokenMIS{Low: 1, High: 1}},
		"sequence_mis": {Weights: &SequenceMIS{Low: 1, High: 1}},
		"token_k1":     {Masks: []Masking{&K1Rejection{mode: mode{"token", "k1"}, Low: 1, High: 1}}},
		"seq_sum_k1":   {Masks: []Masking{&K1Rejection{mode: mode{"seq_sum", "k1"}, Low: 1, High: 1}}},
		"opsm":         {Masks: []Masking{&OPSM{Delta: 0, Signs: Both}}},
		"trm":          {Masks: []Masking{&TRM{Delta: 0}}},
		"veto":         {Masks: []Masking{&Veto{Threshold: 1}}},
		"outlier":      {Masks: []Masking{&Outlier{Low: 1, High: 1}}},
		"token_mask":   {Masks: []Masking{&TokenMask{Low: 1, High: 1}}},
	}
	for name, p := range cases {
		b := random(1, 0)
		apply(t, p, b)
		for n, counts := range b.Mask {
			if counts && (!b.LossMask[n] || b.Gate != nil && !b.Gate[n] || b.Weight != nil && b.Weight[n] != 1) {
				t.Errorf("%s: token %d is outside", name, n)
				break
			}
		}
		for _, m := range p.Metrics() {
			// verl's mean per response divides by its length and 1e-8, which is below one.
			if strings.HasSuffix(m.Name, "seq_fraction_low") {
				continue
			}
			if (strings.Contains(m.Name, "fraction") || strings.HasSuffix(m.Name, "oob_ratio")) && m.Value != 0 {
				t.Errorf("%s: %s is %v", name, m.Name, m.Value)
			}
		}
	}
}

// One token has no spread, though verl's epsilons leave its mean square a little
// above its squared mean; two have |x − y|/√2.
func TestSpreadOfFew(t *testing.T) {
	b := rows([][]float64{{-1}}, [][]float64{{-1.5}})
	for _, p := range []*Pipeline{{Weights: &TokenTIS{Cap: 2}}, {Masks: []Masking{&K1Rejection{mode: mode{"token", "k1"}, Low: .5, High: 2}}}} {
		apply(t, p, b)
		seen := false
		for _, m := range p.Metrics() {
			if strings.HasSuffix(m.Name, "_is_std") || strings.HasSuffix(m.Name, "token_k1_std") {
				if seen = true; m.Value != 0 {
					t.Errorf("%s of one token is %v", m.Name, m.Value)
				}
			}
		}
		if !seen {
			t.Errorf("no spread in %v", p.Metrics())
		}
	}
	var s masked.Running
	s.Add(1)
	if s.Deviation() != 0 {
		t.Errorf("one value spreads by %v", s.Deviation())
	}
	s.Add(4)
	if !near(s.Deviation(), 3/math.Sqrt2) {
		t.Errorf("1 and 4 spread by %v", s.Deviation())
	}
}

// What a pipeline has no use for stays away: gates without a mask, and the masks
// of a recipe without any.
func TestNothingWithoutMasks(t *testing.T) {
	b := random(1, .1)
	p := &Pipeline{Denominator: Pre, Weights: &TokenTIS{Cap: 2}}
	apply(t, p, b)
	if b.Gate != nil {
		t.Error("gates, and nothing that closes them")
	}
	if text := p.Recipe(); strings.Contains(text, "masks") {
		t.Errorf("masks in\n%s", text)
	}
}

// OPSM drops by the sign of a token's advantage, 0 having none, once the mean
// log-ratio mu/pi is above delta: here it is 1 on both tokens.
func TestOPSMSigns(t *testing.T) {
	for signs, dropped := range map[Signs][]bool{
		Negative: {true, false, false},
		Positive: {false, false, true},
		Both:     {true, true, true},
	} {
		b := rows([][]float64{{-1, -1, -1}}, [][]float64{{-1, -1, -1}})
		b.Now.Logp, b.Advantage = []float64{-2, -2, -2}, []float64{-3, 0, 3}
		for delta, drops := range map[float64]bool{1: false, math.Nextafter(1, 0): true} {
			p := &Pipeline{Masks: []Masking{&OPSM{Delta: delta, Signs: signs}}}
			apply(t, p, b)
			for n, gate := range b.Gate {
				if gate == (drops && dropped[n]) {
					t.Errorf("%s above %v: token %d has gate %v", signs, delta, n, gate)
				}
			}
		}
	}
}

// Only the factored form reads what the learner thought at the step's start.
func TestOPSMColumns(t *testing.T) {
	for _, factored := range []bool{false, true} {
		b := random(1, .1)
		in := &Input{Batch: b, Mask: b.Mask, LogRatio: make([]float64, b.Tokens())}
		b.Anchor = nil
		err := (&OPSM{Signs: Both, Factored: factored}).Reject(make([]bool, b.Tokens()), in)
		if (err != nil) != factored {
			t.Errorf("factored %v without LogpOld: %v", factored, err)
		}
	}
}

// TRM reads each token's own rows, and a token that mu gives no mass adds
// nothing: KL((0, 1) || (½, ½)) = log 2, KL of equals is 0.
func TestTRMRows(t *testing.T) {
	half, none := float32(math.Log(.5)), float32(math.Inf(-1))
	b := rows([][]float64{{-1, -1}}, [][]float64{{-1, -1}})
	b.Vocab = 2
	b.DistRoll, b.Now.Dist = []float32{half, half, none, 0}, []float32{half, half, none, 0}
	for _, tc := range []struct {
		q    []float32
		drop bool
	}{{b.Now.Dist, false}, {[]float32{half, half, half, half}, true}} {
		b.Now.Dist = tc.q
		keep := []bool{true, true}
		must(t, (&TRM{Delta: .69}).Reject(keep, &Input{Batch: b, Mask: b.Mask}))
		if slices.Contains(keep, tc.drop) {
			t.Errorf("%v: %v", tc.q, keep)
		}
	}
	if kl := klDivergence([]float32{none, 0}, []float32{half, half}); !near(kl, math.Ln2) {
		t.Errorf("KL %v, want log 2", kl)
	}
}

// Runs of different seeds drop different tokens, whichever bit they differ in.
func TestRandomMaskSeeds(t *testing.T) {
	b := flat(200)
	first := slices.Clone(drawnMask(t, b, .5, 0, 1))
	for bit := range 64 {
		if slices.Equal(first, drawnMask(t, b, .5, 1<<bit, 1)) {
			t.Errorf("seeds 0 and 1<<%d draw the same", bit)
		}
	}
}

// An empty mode, or one given before, hides none that follow.
func TestParseRejectionGoesOn(t *testing.T) {
	masks, err := ParseRejection("token_k1,,token_k1,seq_mean_k3", "2,0.1")
	if err != nil || len(masks) != 2 || maskName(masks[1]) != "seq_mean_k3" {
		t.Errorf("%v, %v", masks, err)
	}
}

// k1 has two bounds, and its spec says so; k2 and k3 have one.
func TestRejectionFormulas(t *testing.T) {
	for _, name := range rejectionModes() {
		e, err := Masks.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		_, two := e.New().(*K1Rejection)
		if two != strings.Contains(e.Formula, "low") {
			t.Errorf("%s: %s", name, e.Formula)
		}
	}
}

// A response without a token has length 1, so that its mean is a number.
func TestLengthOfNothing(t *testing.T) {
	if length(0, 0) != 1 || length(3, 0) != 3 || length(3, .5) != 3.5 {
		t.Errorf("%v, %v, %v", length(0, 0), length(3, 0), length(3, .5))
	}
}

// Weights that a mask leaves none of are not normalised by nothing.
func TestNormaliseNothing(t *testing.T) {
	b := random(1, .1)
	clear(b.Mask)
	p := &Pipeline{Weights: &TokenTIS{Cap: 2}, BatchNormalize: true}
	apply(t, p, b)
	i := slices.IndexFunc(p.Metrics(), func(m batch.Metric) bool { return strings.HasSuffix(m.Name, "norm_factor") })
	if i < 0 || p.Metrics()[i].Value != 1 {
		t.Errorf("%v", p.Metrics())
	}
}
