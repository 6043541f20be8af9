package loss

import (
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method/batch"
)

// Each count of an aggregation is checked by itself, and its name says what is
// wrong with it.
func TestLimitsOfAggregation(t *testing.T) {
	for _, tc := range []struct {
		a  Aggregation
		ok bool
	}{
		{Aggregation{Mode: "dr_grpo", Horizon: 1, Tokens: 0, Sequences: 0}, true},
		{Aggregation{Mode: "dr_grpo", Horizon: -1}, false},
		{Aggregation{Tokens: -1}, false},
		{Aggregation{Sequences: -1}, false},
		{Aggregation{Ranks: -1}, false},
		{Aggregation{Mode: "bnpo", Ranks: 2}, false},
		{Aggregation{Mode: "bnpo", Ranks: 2, Tokens: 8}, true},
		{Aggregation{Mode: "dapo", Ranks: 2}, false},
		{Aggregation{Mode: "dapo", Ranks: 2, Tokens: 8}, true},
		{Aggregation{Mode: "dr_grpo", Ranks: 2}, true},
	} {
		if err := tc.a.Validate(); (err == nil) != tc.ok {
			t.Errorf("%+v: %v", tc.a, err)
		}
	}
	for word, ok := range map[string]bool{"dr_grpo:1": true, "dr_grpo:0": false, "dr_grpo:-3": false, "dr_grpo:x": false,
		"token-mean@pre": true, "token-mean@post": true, "token-mean@last": false} {
		var a Aggregation
		err := a.UnmarshalText([]byte(word))
		if err == nil {
			err = a.Validate()
		}
		if (err == nil) != ok {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// Figures that are shares lie between none and all, far off-policy too, and at
// each of them somebody is counted: in one of the losses and batches at least.
func TestSharesAreShares(t *testing.T) {
	counted := map[string]bool{}
	check := func(name string, l Loss) {
		for seed := range uint64(4) {
			for _, m := range eval(t, l, nastyBatch(seed, true)).Metrics {
				if !strings.Contains(m.Name, "frac") && !strings.HasSuffix(m.Name, "/truncated") {
					continue
				}
				if !(m.Value >= 0 && m.Value <= 1) {
					t.Errorf("%s: %s is %v", name, m.Name, m.Value)
				}
				counted[name+" "+m.Name] = counted[name+" "+m.Name] || m.Value > 0
			}
		}
	}
	for _, e := range Registry {
		check(e.Name, e.New())
	}
	for _, v := range variants {
		check(v.name, v.loss())
	}
	for _, share := range []string{"acr tight acr/truncated", "aipo actor/pg_clipfrac", "dispo tight actor/pg_clipfrac",
		"espo actor/pg_clipfrac", "gspo actor/pg_clipfrac", "gspo per token actor/pg_clipfrac_lower", "decoupled mask actor/pg_clipfrac_lower",
		"dppo_topk actor/pg_clipfrac"} {
		if is, known := counted[share]; !known || !is {
			t.Errorf("%s is never above 0 (known: %v)", share, known)
		}
	}
}

// On-policy every ratio is 1: no token is clipped, capped, truncated or masked,
// even with bounds of width 0.
func TestNoRoomOnPolicy(t *testing.T) {
	const clip, distance = "{eps_low: 0, eps_high: 0}", "{delta_low: 0, delta_high: 0, cap: 1}"
	for name, options := range map[string]string{
		"sat":       clip,
		"acr":       "{eps_low: 0, eps_high: 0, cap: 1}",
		"aipo":      "{cap: 1}",
		"cispo":     clip,
		"dispo":     "{correct_low: 0, correct_high: 0, incorrect_low: 0, incorrect_high: 0}",
		"dppo_tv":   distance,
		"dppo_kl":   distance,
		"dppo_topk": distance,
		"ppo_mask":  distance,
		"ppo_clip":  clip,
		"gmpo":      clip,
		"espo":      "{eps: 0}",
		"ipo":       "{delta: 0}",
	} {
		b := nastyBatch(3, false)
		b.LogpRoll, b.Anchor = slices.Clone(b.Now.Logp), slices.Clone(b.Now.Logp)
		b.DistRoll, b.Old.Dist = slices.Clone(b.Now.Dist), slices.Clone(b.Now.Dist)
		for _, m := range eval(t, variant{of: name, options: options}.loss(), b).Metrics {
			if (strings.Contains(m.Name, "frac") || strings.HasSuffix(m.Name, "/truncated")) && m.Value != 0 {
				t.Errorf("%s: %s is %v", name, m.Name, m.Value)
			}
		}
	}
}

// A reward without places is placed on the last token that the policy wrote, be it
// the first of all; a response without one gets none.
func TestRewardPerToken(t *testing.T) {
	b := &batch.Batch{
		Sampled: batch.Sampled{Offsets: []int{0, 3, 4, 6}, Mask: []bool{true, false, false, false, true, true}},
		Graded:  batch.Graded{Reward: []float64{5, 7, 9}},
	}
	must(t, rewardPerToken(b))
	if want := []float64{5, 0, 0, 0, 0, 9}; !slices.Equal(b.TokenReward, want) {
		t.Errorf("%v, want %v", b.TokenReward, want)
	}
}

// DPPO's distance by hand, over the sampled token, the largest other one and
// the rest: mu is (.1, .2, .3, .4), pi (.4, .3, .2, .1), token 0 was sampled, so
// the parts are .1 and .4, .4 and .1 (token 3), .5 and .5.
func TestDPPOTopKByHand(t *testing.T) {
	logs := func(p ...float64) (x []float32) {
		for _, v := range p {
			x = append(x, float32(math.Log(v)))
		}
		return x
	}
	q, p := logs(.1, .2, .3, .4), logs(.4, .3, .2, .1)
	taken := make([]float64, 4)
	tv := (&DPPOTopK{K: 1, Divergence: "tv"}).distance(taken, q, p, 0)
	kl := (&DPPOTopK{K: 1, Divergence: "kl"}).distance(taken, q, p, 0)
	if want := .1*math.Log(.25) + .4*math.Log(4); math.Abs(tv-.3) > 1e-6 || math.Abs(kl-want) > 1e-6 {
		t.Errorf("tv %v, want 0.3; kl %v, want %v", tv, kl, want)
	}
	// Token 3 is the likeliest and was sampled: its bucket and the rest.
	if tv := (&DPPOTopK{K: 1, Divergence: "tv"}).distance(taken, q, p, 3); math.Abs(tv-.3) > 1e-6 {
		t.Errorf("the likeliest token sampled: tv %v, want 0.3", tv)
	}
	all := (&DPPOTopK{K: 9, Divergence: "tv"}).distance(taken, q, p, 2)
	if math.Abs(all-.4) > 1e-6 { // (.3 + .1 + .1 + .3)/2
		t.Errorf("over every token %v, want 0.4", all)
	}
}

// With ctpo's clip of ratios the constant of the dual clip is a ratio, too: one below 1 would cut every gradient of A < 0.
func TestCTPODual(t *testing.T) {
	for dual, ok := range map[float64]bool{0: true, 0.05: false, 1: false, 3: true} {
		if err := (&CTPO{RatioClip: true, Dual: dual}).Validate(); (err == nil) != ok {
			t.Errorf("dual %v: %v", dual, err)
		}
	}
	if err := (&CTPO{Dual: 0.05}).Validate(); err != nil {
		t.Error(err)
	}
}

// Where a loss leaves closed tokens out, as TRL's GMPO does, what it logs is a mean over the open ones, as if the others were masked.
func TestMetricsOfOpenTokens(t *testing.T) {
	for _, e := range Registry {
		if !slices.Contains([]string{"gmpo", "real", "gvpo", "flowrl"}, e.Name) {
			continue
		}
		open := []bool{true, false, true, true, false, false}
		gated, masked := Worked(nil), Worked(nil)
		gated.Gate, masked.LossMask = open, open
		got, ok := eval(t, e.New(), gated).Metric("actor/ppo_kl")
		want, _ := eval(t, e.New(), masked).Metric("actor/ppo_kl")
		if !ok || math.Abs(got-want) > 1e-12 || want == 0 {
			t.Errorf("%s: ppo_kl %v (%v), want %v", e.Name, got, ok, want)
		}
	}
}
