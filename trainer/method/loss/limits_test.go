package loss

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// set gives a parameter of a loss, by the name that recipes use, a number.
func set(t *testing.T, l any, field string, x float64) {
	t.Helper()
	v := reflect.ValueOf(l).Elem()
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); name != field {
			continue
		}
		if f := v.Field(i); f.Kind() == reflect.Int {
			f.SetInt(int64(x))
		} else {
			f.SetFloat(x)
		}
		return
	}
	t.Fatalf("%T has no %s", l, field)
}

// Options are taken up to their limits and refused beyond them, whatever the
// others are.
func TestLimitsOfOptions(t *testing.T) {
	zero, below := 0.0, math.Nextafter(0, -1)
	one, less, more := 1.0, math.Nextafter(1, 0), math.Nextafter(1, 2)
	for _, tc := range []struct {
		loss, field string
		in, out     []float64
	}{
		{"acr", "cap", []float64{one}, []float64{less}},
		{"aipo", "cap", []float64{one}, []float64{less}},
		{"aspo", "cap_neg", []float64{more}, []float64{one}},
		{"aspo", "cap_pos", []float64{more}, []float64{one}},
		{"aspo", "quantile", []float64{zero, one}, []float64{below, more}},
		{"clip_cov", "share", []float64{one}, []float64{zero, more}},
		{"clip_cov", "low", nil, []float64{5}}, // high is 5
		{"ctpo", "low", []float64{zero}, []float64{below}},
		{"ctpo", "high", []float64{zero}, []float64{below}},
		{"ctpo", "dual", []float64{zero}, []float64{below}},
		{"decoupled_ppo", "dual_clip", []float64{zero, more}, []float64{one}},
		{"dispo", "correct_low", []float64{zero}, []float64{below}},
		{"dispo", "correct_high", []float64{zero}, []float64{below}},
		{"dispo", "incorrect_low", []float64{zero}, []float64{below}},
		{"dispo", "incorrect_high", []float64{zero}, []float64{below}},
		{"dppo_tv", "delta_low", []float64{zero}, []float64{below}},
		{"dppo_tv", "delta_high", []float64{zero}, []float64{below}},
		{"dppo_tv", "cap", []float64{zero, one}, []float64{less}},
		{"dppo_topk", "k", []float64{one}, []float64{zero}},
		{"dppo_topk", "delta_low", []float64{zero}, []float64{below}},
		{"dppo_topk", "delta_high", []float64{zero}, []float64{below}},
		{"dppo_topk", "cap", []float64{zero, one}, []float64{less}},
		{"dro", "beta", []float64{math.SmallestNonzeroFloat64}, []float64{zero}},
		{"espo", "eps", []float64{zero}, []float64{below}},
		{"gspo", "dual_clip", []float64{zero, more}, []float64{one}},
		{"ipo", "delta", []float64{zero}, []float64{below}},
		{"kimi", "tau", []float64{zero}, []float64{below}},
		{"logit_fusion", "floor", []float64{zero, one}, []float64{below, more}},
		{"kl_cov", "share", []float64{one}, []float64{zero, more}},
		{"kl_cov", "beta", []float64{zero}, []float64{below}},
	} {
		e, err := Registry.Lookup(tc.loss)
		if err != nil {
			t.Fatal(err)
		}
		for ok, values := range map[bool][]float64{true: tc.in, false: tc.out} {
			for _, x := range values {
				l := e.New()
				set(t, l, tc.field, x)
				if err := method.Check(l); (err == nil) != ok {
					t.Errorf("%s with %s %v: %v", tc.loss, tc.field, x, err)
				}
			}
		}
	}
}

// Each bound of a KL term is checked by itself; 0 is none.
func TestLimitsOfKL(t *testing.T) {
	e, err := KLRegistry.Lookup("k3")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		log, value, coef float64
		ok               bool
	}{{0, 0, 0, true}, {20, 10, 1, true}, {-1, 10, 1, false}, {20, -1, 1, false}, {20, 10, -1, false}} {
		k := e.New().(*KLTerm)
		k.Bounds.Log, k.Bounds.Value, k.Coef = tc.log, tc.value, tc.coef
		if err := method.Check(k); (err == nil) != tc.ok {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

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
	narrow := func(name string, fields ...string) Loss {
		e, err := Registry.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		l := e.New()
		for _, f := range fields {
			set(t, l, f, 0)
		}
		return l
	}
	capped := func(l Loss, cap float64) Loss { set(t, l, "cap", cap); return l }
	for name, l := range map[string]Loss{
		"sat":       narrow("sat", "eps_low", "eps_high"),
		"acr":       capped(narrow("acr", "eps_low", "eps_high"), 1),
		"aipo":      capped(narrow("aipo"), 1),
		"cispo":     narrow("cispo", "eps_low", "eps_high"),
		"dispo":     narrow("dispo", "correct_low", "correct_high", "incorrect_low", "incorrect_high"),
		"dppo_tv":   capped(narrow("dppo_tv", "delta_low", "delta_high"), 1),
		"dppo_kl":   capped(narrow("dppo_kl", "delta_low", "delta_high"), 1),
		"dppo_topk": capped(narrow("dppo_topk", "delta_low", "delta_high"), 1),
		"ppo_mask":  capped(narrow("ppo_mask", "delta_low", "delta_high"), 1),
		"ppo_clip":  narrow("ppo_clip", "eps_low", "eps_high"),
		"gmpo":      narrow("gmpo", "eps_low", "eps_high"),
		"espo":      narrow("espo", "eps"),
		"ipo":       narrow("ipo", "delta"),
	} {
		b := nastyBatch(3, false)
		b.LogpRoll, b.Anchor = slices.Clone(b.Now.Logp), slices.Clone(b.Now.Logp)
		b.DistRoll, b.Old.Dist = slices.Clone(b.Now.Dist), slices.Clone(b.Now.Dist)
		for _, m := range eval(t, l, b).Metrics {
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
	if err := rewardPerToken(b); err != nil {
		t.Fatal(err)
	}
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
	all := (&DPPOTopK{K: 9, Divergence: "tv"}).distance(taken, q, p, 2)
	if math.Abs(all-.4) > 1e-6 { // (.3 + .1 + .1 + .3)/2
		t.Errorf("over every token %v, want 0.4", all)
	}
}
