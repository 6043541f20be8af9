package advise

import (
	"strings"
	"testing"

	"driftlab/trainer/diagnose"
	"driftlab/trainer/recipe/foreign"
)

// A correction changes weights, or is off, or is on and changes fewer than one in ten
// thousand: the boundary lies there.
func TestActive(t *testing.T) {
	const tis = "rollout_is: token\nrollout_is_threshold: 1000\n"
	one := func(in int) *trial { // the weight of one token in so many is off 1
		k := &kept{}
		for n := range 99_000 {
			d := 0.001 * float64(n%2*2-1)
			if n%in == 0 {
				d = -0.02
			}
			k.roll, k.old = append(k.roll, -1), append(k.old, -1+d)
		}
		return newTrial([]*kept{k})
	}
	genuine := &Report{Verdict: Verdict{State: Genuine, Summary: "It is genuine."}, Gap: &Gap{Gap: diagnose.Gap{Unequal: 1}}}
	equal := &Report{Verdict: Verdict{State: Healthy}, Gap: &Gap{}}
	zeros := &Report{Verdict: Verdict{State: Repair}, Gap: genuine.Gap,
		Checks: []Check{{ID: "column-not-real", Scope: "all", Result: Fail, Why: "the log-probs are all 0"}}}
	for _, c := range []struct {
		name, config string
		in           int
		report       *Report
		on, works    bool
		state        State
		why          string
	}{
		{"one in 9,000", tis, 9_000, genuine, true, true, Genuine, "on: changes the weight of 0.0111 % of tokens"},
		{"one in 11,000", tis, 11_000, genuine, true, false, Inactive, "on, but idle: changes the weight of 9.1e-05 of tokens by more than 1 %"},
		{"equal", tis, 1, equal, true, false, Inactive, "off: the log-probs of both engines are equal"},
		{"nothing configured", "rollout_is: null", 100, genuine, false, false, Genuine, "off: nothing is configured"},
		{"switched off", "--tis-clip 2", 100, genuine, true, false, Inactive, "off: --use-tis is not given"},
		{"a column of zeros", tis, 100, zeros, true, false, Repair, "off: the log-probs are all 0"},
		{"no column", tis, 100, &Report{Verdict: Verdict{State: Unusable}}, true, false, Unusable, "not to be told"},
		{"prime", "[trainer.loss]\ndppo_mask_low = 0.2", 9_000, genuine, true, true, Genuine, "on: "},
		{"masked", "off_policy_correction: {token_mask_is_threshold_low: 0.99, token_mask_is_threshold_high: 1.01}", 1_000, genuine, true, true, Genuine, ", masks 0.1 %"},
	} {
		config, err := foreign.Read("x", []byte(c.config))
		if err != nil {
			t.Fatal(err)
		}
		a := one(c.in).active(config, c.report)
		v := c.report.Verdict.given(a)
		if a.Configured != c.on || a.Effective != c.works || v.State != c.state || !strings.Contains(a.Why, c.why) {
			t.Errorf("%s: %s, %+v", c.name, v.State, a)
		}
		if c.state == Inactive && !strings.Contains(v.Summary, a.Why) {
			t.Errorf("%s: %s", c.name, v.Summary)
		}
	}
	if r := analysed(Options{}, rowsOf(3, 0.001, 40, 100)).Report(); r.Active != nil {
		t.Errorf("nobody gave a configuration: %+v", r.Active)
	}
}
