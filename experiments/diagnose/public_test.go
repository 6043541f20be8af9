package diagnose_test

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/diagnosetest"
	"driftlab/precision/must"
)

// sets are the folders with dumps: that which is shipped, and what DUMPS_DIR names.
func sets() []string {
	list := []string{filepath.Join("..", "..", "testdata", "dumps")}
	if dir := os.Getenv("DUMPS_DIR"); dir != "" {
		list = append(list, dir)
	}
	return list
}

// planted is what truth.json says of a file, as far as the checks are concerned.
type planted struct {
	Case  string         `json:"case"`
	Cause string         `json:"cause"`
	Fault map[string]any `json:"fault"`
	// Recorded are the maker's statistics.
	Recorded map[string]*float64 `json:"recorded"`
	Complete *int                `json:"complete_lines"`
}

// read analyses files of a folder.
func read(t testing.TB, o diagnose.Options, paths ...string) diagnose.Report {
	a := diagnose.New(o)
	for _, path := range paths {
		diagnosetest.Read(t, a, path, path)
	}
	return a.Report()
}

// faults are the first of the checks that fail in a scope of a kind, and all of them.
func faults(r diagnose.Report, kind string) (first string, all []string) {
	for _, c := range r.Checks {
		if c.Result == diagnose.Fail && strings.HasPrefix(c.Scope, kind) {
			all = append(all, c.ID)
		}
	}
	return append(all, "")[0], all
}

// foundBy is the check that finds what was planted, by the maker's name of the case.
var foundBy = map[string]string{
	"temp_rollout_raw": "temperature", "temp_trainer_raw": "temperature", "temp": "temperature", "temp_one_env": "temperature",
	"topp_trainer_full": "support", "topp_rollout_full": "support", "shift": "shift", "mask_prompt": "masked-in", "mask_tool": "masked-in",
	"retok": "retokenised", "missing_copy": "identical", "missing_zero": "column-not-real", "prev_zero": "column-not-real",
	"nan_inf": "non-finite", "nulls": "non-finite", "zeros_some": "masked-in",
}

// stateOf is the verdict on cases without a fault; of lag 1 either may be said.
var stateOf = map[string]diagnose.State{
	"bf16": diagnose.Healthy, "bf16_tool": diagnose.Healthy, "bf16_T_ok": diagnose.Healthy, "sample_mask": diagnose.Healthy, "identical": diagnose.Healthy,
	"fp8": diagnose.Genuine, "lag8": diagnose.Genuine, "lag32": diagnose.Genuine, "lagrun": diagnose.Genuine, "unsynced": diagnose.Genuine, "lag": diagnose.Genuine,
	"moe_flips": diagnose.Genuine, "mix_lag_flips": diagnose.Genuine, "mix_fp8_lag": diagnose.Genuine,
	"text": diagnose.Unusable, "rollout_only": diagnose.Unusable, "empty": diagnose.Unusable, "emptygz": diagnose.Unusable, "trunc": diagnose.Insufficient,
}

// saysOf are words that the reason has, where there are several.
var saysOf = map[string]string{
	"temp_rollout_raw": "rollout log-probs are raw", "temp": "rollout log-probs are raw", "temp_one_env": "rollout log-probs are raw", "temp_trainer_raw": "learner's log-probs are raw",
	"topp_trainer_full": "the rollout log-probs are renormalised", "topp_rollout_full": "the learner's log-probs are renormalised",
	"mask_prompt": "prompts", "mask_tool": "tools", "zeros_some": "not recorded", "missing_zero": "rollout log-probs are all zero", "prev_zero": "learner's log-probs are all zero",
}

// Every planted fault of the bookkeeping is found by its own check and named in the
// verdict; healthy files, equal engines and genuine gaps have none.
func TestPublicDumps(t *testing.T) {
	states := map[diagnose.State]int{}
	for _, dir := range sets() {
		text := must.Get(os.ReadFile(filepath.Join(dir, "truth.json")))(t)
		var doc struct {
			Files map[string]planted `json:"files"`
		}
		must.Do(t, json.Unmarshal(text, &doc))
		for name, want := range doc.Files {
			t.Run(name, func(t *testing.T) {
				paths := []string{filepath.Join(dir, name)}
				if info, err := os.Stat(paths[0]); err == nil && info.IsDir() {
					paths, _ = filepath.Glob(filepath.Join(paths[0], "*", "*"))
				}
				r := read(t, diagnose.Options{}, paths...)
				states[r.Verdict.State]++
				judge(t, want, r)
				recorded(t, want, r)
			})
		}
	}
	for _, s := range []diagnose.State{diagnose.Healthy, diagnose.Repair, diagnose.Genuine, diagnose.Unusable, diagnose.Insufficient} {
		if states[s] == 0 {
			t.Errorf("no file is %s", s)
		}
	}
}

// judge compares the checks with what was planted.
func judge(t *testing.T, want planted, r diagnose.Report) {
	first, _ := faults(r, "all")
	id := foundBy[want.Case]
	if id == "" {
		if _, anywhere := faults(r, ""); len(anywhere) > 0 && first != "usable" {
			t.Errorf("%s: faults %q where none was planted: %+v", want.Case, anywhere, r.Verdict)
		}
		name, _, _ := strings.Cut(want.Case, "#")
		if state := stateOf[name]; state != "" && r.Verdict.State != state {
			t.Errorf("%s: %+v, want %s", want.Case, r.Verdict, state)
		}
		return
	}
	scope := "all"
	if env, ok := want.Fault["env"].(string); ok {
		scope = "env:" + env
	}
	_, all := faults(r, scope)
	if !slices.Contains(all, id) || r.Verdict.State != diagnose.Repair {
		t.Errorf("%s: %s is not among the faults %q of %s, the verdict is %+v", want.Case, id, all, scope, r.Verdict)
	}
	if says := saysOf[want.Case]; !strings.Contains(r.Verdict.Summary, says) {
		t.Errorf("%s: the summary is %q, and does not say %q", want.Case, r.Verdict.Summary, says)
	}
	for _, c := range r.Checks {
		// Nothing that is not planted is found before it, but the ratios' mean before its reason.
		if c.Scope == scope && c.Result == diagnose.Fail && !c.Conditional && c.ID != id && c.ID != "law-identity" && c.ID != "structured-gap" {
			t.Errorf("%s: %s fails as well, and before: %s", want.Case, c.ID, c.Why)
		}
		if c.Scope == scope && c.Result == diagnose.Fail && c.ID == "temperature" {
			if p := 1 / c.Value; math.Abs(p-0.6) > 0.09 && math.Abs(c.Value-0.6) > 0.09 {
				t.Errorf("%s: temperature 0.6 is taken for %v or %v", want.Case, p, c.Value)
			}
		}
	}
}

// recorded compares the gap with the maker's statistics.
func recorded(t *testing.T, want planted, r diagnose.Report) {
	if want.Recorded == nil || r.Gap == nil {
		return
	}
	g := r.Gap
	for name, got := range map[string]float64{
		"tokens": float64(g.Tokens + g.NonFinite), "nonfinite": float64(g.NonFinite), "k1": g.K1, "k3": g.K3, "mean_abs_dlogp": g.MeanAbsDlogp,
		"max_abs_dlogp": g.MaxAbsDlogp, "chi2_token": g.Chi2Token, "ess_fraction": g.ESSToken, "mean_ratio": g.MeanRatio,
		"share_outside_half_to_2": g.OutsideHalfToTwo, "zero_gap_share": 1 - g.Unequal, "pearson_prob": g.Pearson,
	} {
		if w := want.Recorded[name]; w != nil && math.Abs(got-*w) > 1e-9*math.Abs(*w) {
			t.Errorf("%s is %v, want %v", name, got, *w)
		}
	}
}

// families are the causes of the maker's, by ours.
var families = map[string]string{"numerics": diagnose.Precision, "fp8": diagnose.Precision, "routing": diagnose.Routing, "staleness": diagnose.Staleness, "unsynced": diagnose.Staleness}

// Of the gaps that are genuine, by file and by series, nine of ten have what was planted listed first, and none
// another cause named. Mixtures have every cause listed, with about its part.
func TestPublicCauses(t *testing.T) {
	for _, dir := range sets() {
		text := must.Get(os.ReadFile(filepath.Join(dir, "truth.json")))(t)
		var doc struct {
			Files map[string]struct {
				planted
				Shares map[string]struct {
					Share float64 `json:"share_of_k3"`
				} `json:"shares"`
				Ambiguity string `json:"ambiguity"`
			} `json:"files"`
		}
		must.Do(t, json.Unmarshal(text, &doc))
		right, n := 0, 0
		for _, name := range slices.Sorted(maps.Keys(doc.Files)) {
			want := doc.Files[name]
			paths := []string{filepath.Join(dir, name)}
			if r := read(t, diagnose.Options{}, paths...); len(want.Fault) == 0 && r.Features != nil {
				family := families[want.Cause]
				switch {
				case family != "":
					n++
					if len(r.Causes) > 0 && r.Causes[0].Name == family {
						right++
					} else {
						t.Logf("%s: %+v, want %s first", name, r.Causes, family)
					}
					if v := r.Verdict; v.Confidence == diagnose.Confident && (v.Causes[0] != family || want.Ambiguity != "") {
						t.Errorf("%s: %+v", name, v)
					}
				case want.Cause == "mixture":
					parts := map[string]float64{}
					for cause, s := range want.Shares {
						parts[families[cause]] += s.Share
					}
					for family, share := range parts {
						at := slices.IndexFunc(r.Causes, func(c diagnose.Cause) bool { return c.Name == family })
						got := 0.0
						if at >= 0 {
							got = r.Causes[at].ShareK3[1]
						}
						if math.Abs(got-share) > 0.15 && (at >= 0 || share > 0.1) || at < 0 && share > 0.1 {
							t.Errorf("%s: %s has %v, want %v", name, family, got, share)
						}
					}
				}
			}
		}
		t.Logf("%s: %d of %d have their cause first", dir, right, n)
		if right*10 < 9*n {
			t.Errorf("%s: %d of %d have their cause first", dir, right, n)
		}
	}
}
