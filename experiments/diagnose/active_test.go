package diagnose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

// A correction changes weights, or is off, or is on and changes fewer than one in ten
// thousand: the boundary lies there.
func TestActive(t *testing.T) {
	const tis = "rollout_is: token\nrollout_is_threshold: 1000\n"
	made := map[int]*trial{}
	one := func(in int) *trial { // the weight of one token in that many is not 1
		if made[in] != nil {
			return made[in]
		}
		k := &kept{}
		for n := range 99_000 {
			d := 0.001 * float64(n%2*2-1)
			if n%in == 0 {
				d = -0.02
			}
			k.roll, k.old = append(k.roll, -1), append(k.old, -1+d)
		}
		made[in] = newTrial([]*kept{k})
		return made[in]
	}
	genuine := &Report{Verdict: Verdict{State: Genuine, Summary: "It is genuine."}, Gap: &Gap{Gap: metrics.Gap{Unequal: 1}}}
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
		{"one in 9,000", tis, 9_000, genuine, true, true, Genuine, "on: mean weight 1, median 1, ESS 1"},
		{"one in 11,000", tis, 11_000, genuine, true, false, Inactive, "on, but idle: changes the weight of 9.1e-05 of tokens by more than 1 %"},
		{"equal", tis, 1, equal, true, false, Inactive, "off: the log-probs of both engines are equal"},
		{"nothing configured", "rollout_is: null", 100, genuine, false, false, Genuine, "off: nothing is configured"},
		{"switched off", "--tis-clip 2", 100, genuine, true, false, Inactive, "off: --use-tis is not given"},
		{"a column of zeros", tis, 100, zeros, true, false, Repair, "off: the log-probs are all 0"},
		{"no column", tis, 100, &Report{Verdict: Verdict{State: Unusable}}, true, false, Unusable, "not known"},
		{"prime", "[trainer.loss]\ndppo_mask_low = 0.2", 9_000, genuine, true, true, Genuine, "on: "},
		{"off beside a clip to the rollouts", "actor_rollout_ref: {rollout: {calculate_log_probs: false}}\nalgorithm: {rollout_correction: {rollout_is: token, rollout_is_threshold: 2, bypass_mode: true}}", 1_000, genuine, true, true, Genuine, "on: "},
		{"masked", "off_policy_correction: {token_mask_is_threshold_low: 0.99, token_mask_is_threshold_high: 1.01}", 1_000, genuine, true, true, Genuine, ", 0.1 % of the tokens masked"},
	} {
		config := must.Get(foreign.ReadAs("", "x", []byte(c.config)))(t)
		a, _ := one(c.in).active(config, c.report)
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

// configured is the analysis of rows with a configuration, and what is said of it.
func configured(t *testing.T, config string, rows []*reader.Row) (*Active, Report) {
	t.Helper()
	c := must.Get(foreign.ReadAs("", "x", []byte(config)))(t)
	r := analysed(Options{Config: c}, rows).Report()
	return r.Active, r
}

// A correction that masks more than a tenth, or a quarter, is warned of, and one that leaves few tokens; not where
// the data is to be repaired, nor where what is recommended does as much.
func TestFindingsOfActive(t *testing.T) {
	for _, c := range []struct {
		name        string
		state       State
		masked, ess float64
		other       *Fix
		want        string // identifiers of warnings
	}{
		{"little", Genuine, 0.1, 0.9, nil, ""},
		{"above a tenth", Genuine, 0.11, 0.9, nil, "masks-many"},
		{"above a quarter", Genuine, 0.26, 0.9, nil, "masks-most"},
		{"healthy", Healthy, 0.3, 0.9, nil, "masks-most"},
		{"to repair", Repair, 0.9, 0.1, nil, ""},
		{"as the recommended one", Genuine, 0.2, 0.9, &Fix{Masked: &Masked{Tokens: 0.2}}, ""},
		{"beside a recommended one", Genuine, 0.2, 0.9, &Fix{Masked: &Masked{Tokens: 0.05}}, "masks-many"},
		{"few tokens", Genuine, 0, 0.49, nil, "few-decide"},
		{"enough tokens", Genuine, 0, 0.51, nil, ""},
	} {
		run := must.Get(recipe.Load("default"))(t)
		e := &Evaluation{Mean: 1, Median: 1, ESS: c.ess, Update: 1, Masked: c.masked, Length: []LengthPart{{}}}
		a := &Active{Known: true, Configured: true, Evaluation: e}
		r := &Report{Verdict: Verdict{State: c.state}, Recommended: c.other, Gap: &Gap{}, Decisions: []Decision{{}}}
		got := ""
		for _, f := range a.findings(newTrial(twoResponses()), r, run) {
			if f.Level == Warning {
				got += f.ID
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What is configured stands beside what is recommended, in the framework's own rules, and every
// difference has its reason in these tokens.
func TestSettings(t *testing.T) {
	verl := "rollout_is: token\nrollout_is_threshold: 5.0\nrollout_rs: seq_mean_k1\nrollout_rs_threshold: 0.9999_1.0001\n"
	a, r := configured(t, verl, rowsOf(3, 0.4, 60, 60))
	if r.Verdict.State != Genuine || r.Recommended == nil {
		t.Fatalf("%+v", r.Verdict)
	}
	byName := map[string]Setting{}
	for _, s := range a.Settings {
		byName[s.Name] = s
		if (s.Configured == s.Recommended) != (s.Why == "") {
			t.Errorf("%+v", s)
		}
	}
	limit := byName["weights.token_tis.cap"]
	if limit.Configured != "5" || limit.Recommended != "2" || !strings.Contains(limit.Why, "none of the token ratios lies above 5, ") || !strings.Contains(limit.Why, "% of the token ratios lie above 2") {
		t.Errorf("%+v", limit)
	}
	band := byName["masks.seq_mean_k1"]
	if band.Configured != "0.9999 to 1.0001" || band.Recommended != "none" || !strings.Contains(band.Why, "% of these tokens; the row staleness decides: ") {
		t.Errorf("%+v of\n%s", band, r.Config["verl"])
	}

	// What is recommended changes nothing of itself.
	a, r = configured(t, r.Config["verl"], rowsOf(3, 0.4, 60, 60))
	for _, s := range a.Settings {
		if s.Why != "" {
			t.Errorf("the recommended setting differs from itself: %+v", s)
		}
	}
	if len(a.Settings) == 0 || math.Abs(a.Distance-r.Recommended.Distance) > 1e-12 {
		t.Errorf("%+v", a)
	}

	// A band of another width: 0.9 to 1.1 is 1/1.1 to 1/0.9 of the inverse ratio, which verl takes. The mean ratios of both
	// responses, 3^(1/2) and 2^(-1/2), lie outside either.
	trial := newTrial(twoResponses())
	decided := []Decision{{Row: "a row", Fired: true, correction: both(&known{low: 0.9, high: 1.1})}}
	_, config := trial.recommend(decided)
	c := must.Get(foreign.ReadAs("", "x", []byte(verl)))(t)
	want := Setting{"masks.seq_mean_k1.low to high", "0.9999 to 1.0001", "0.909091 to 1.11111",
		"it masks 100 % of these tokens, the recommended one 100 %; the mean log-ratio of a response of 2 tokens varies that much by itself (3 sd(d)/√T)"}
	if list := trial.settings(c, &Report{Decisions: decided, Config: config}, &known{median: 2}); !slices.Contains(list, want) {
		t.Errorf("%+v, want %+v", list, want)
	}

	// Rules that only one side has, and data that need no correction.
	a, _ = configured(t, "off_policy_correction: {tis_ratio_type: sequence, sequence_tis_ratio_clip_high: 3.0}", rowsOf(3, 0.001, 60, 60))
	if len(a.Settings) != 1 || a.Settings[0].Configured != "sequence_tis, cap 3" || a.Settings[0].Recommended != "none" || !strings.Contains(a.Settings[0].Why, "the row agreement decides") {
		t.Errorf("%+v", a.Settings)
	}
}
