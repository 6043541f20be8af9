package stability

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/record"
)

// The pages of the published map quote its figures: the answer to each problem, and the limit, level and ratio of each arm.
func TestPublishedPages(t *testing.T) {
	m := Published()
	read := func(path string) string {
		text := must.Get(os.ReadFile("../published/stability/" + path))(t)
		return string(text)
	}
	page, answers := read("README.md"), 0
	for _, p := range Problems {
		a, ok := m.Answer(p.Name)
		if !ok {
			continue
		}
		answers++
		if !strings.Contains(page, "**["+p.Title+"]("+p.Name+".md).** "+a.Text) {
			t.Errorf("the page of the map lacks %q", a.Text)
		}
		if !strings.Contains(read(p.Name+".md"), a.Text) {
			t.Errorf("the page of %s lacks its answer", p.Name)
		}
	}
	if answers == 0 {
		t.Error("the published map has no answer")
	}
	for _, s := range m.Studies {
		page := read(s.Name + "/README.md")
		for _, a := range s.Arms {
			if a.Level.N == 0 || len(a.Rates) == 0 {
				t.Errorf("%s, %s: no run", a.Stressor, a.Method)
			}
			for _, text := range []string{a.Limit.Text(RateText), a.OverNone.Text(FactorText), a.Level.Text(false), a.GainNone.Text(true)} {
				if !strings.Contains(page, text) {
					t.Errorf("the page of %s lacks %s, %s: %q", s.Name, a.Stressor, a.Method, text)
				}
			}
		}
	}
}

func TestRangeText(t *testing.T) {
	inf := record.Number(math.Inf(1))
	for _, k := range []struct {
		r    Range
		want string
	}{
		{Range{5e-4, 5e-4, 2.5e-4, 1e-3, 10}, "5.0e-4 (2.5e-4 to 1.0e-3)"},
		{Range{5e-4, 5e-4, 2.5e-4, inf, 10}, "5.0e-4 (2.5e-4 to ∞)"},
		{Range{4e-3, inf, 4e-3, inf, 10}, "above 4.0e-3"},
		{Range{0, 6.25e-5, 0, 6.25e-5, 10}, "below 6.3e-5"},
		{Range{0, inf, 0, inf, 10}, "not determined"},
		{Range{}, ""},
	} {
		if got := k.r.Text(RateText); got != k.want {
			t.Errorf("%+v: %q, want %q", k.r, got, k.want)
		}
	}
}

// An answer is a correction for its level, else one for the rate that it allows, else none; never one on few models or at an end of the rates.
func TestAnswer(t *testing.T) {
	arm := func(method string, gain, low, ratio float64, n int) Arm {
		return Arm{Stressor: "16", Method: method, Level: Mean{Estimate: record.Number(.6 + gain), N: n}, GainNone: Mean{record.Number(gain), record.Number(low), 1, n},
			OverNone: Range{record.Number(ratio), record.Number(ratio), record.Number(ratio / 1.1), record.Number(ratio * 2), n}}
	}
	none := Arm{Stressor: "16", Method: "none", Level: Mean{.6, .5, .7, 10}}
	equal := Arm{Stressor: "0", Method: "none", Level: Mean{.9, .9, .9, 10}}
	on := func(task, method string, gain float64) Arm {
		a := arm(method, gain, gain-.05, 3, 10)
		a.Stressor, a.Equal, a.GainNone.High = task+", lag-16", task+", equal", record.Number(gain+.05)
		return a
	}
	others := Study{Name: "corrections", Equal: "chain, equal", None: "none", Arms: []Arm{on("addition", "tis", -.2), on("search", "tis", 0), on("addition", "opsm", .1), on("search", "opsm", 0)}}
	// Beyond the limit of no correction, 4e-4: a stable rate of ten models, one of three, two of ten and one that is not stable.
	none.Limit = Range{From: 4e-4, To: 4e-4, N: 10}
	rates := []Rate{{Rate: 2.5e-4, Runs: 10, Stable: 10, Finals: record.Floats{.9}}, {Rate: 5e-4, Runs: 10, Stable: 10, Finals: record.Floats{.8}}, {Rate: 7e-4, Runs: 3, Stable: 3, Finals: record.Floats{.75}},
		{Rate: 1e-3, Runs: 10, Stable: 5, Finals: record.Floats{.7}}, {Rate: 2e-3, Runs: 10, Stable: 9, Finals: record.Floats{.6}}, {Rate: 4e-3, Runs: 10, Stable: 4, Finals: record.Floats{.2}}}
	edge := arm("edge", .3, .2, 1, 10)
	edge.Edge = true
	for _, k := range []struct {
		name    string
		arms    []Arm
		want    string
		settled bool
	}{
		{"none judged", nil, "", false},
		{"on five models", []Arm{arm("tis", .3, .2, 1, 5)}, "", false},
		{"none is better", []Arm{arm("tis", .1, -.1, 1, 10)}, "", true},
		{"a higher level before a higher limit", []Arm{arm("opsm", 0, -.1, 4, 10), arm("tis", .3, .2, 1, 10), arm("mis", .2, .1, 1, 10)}, "tis", true},
		{"the highest limit", []Arm{arm("clip", 0, -.1, 1.3, 10), arm("opsm", 0, -.1, 4, 10), arm("harm", -.2, -.3, 8, 10)}, "opsm", true},
		{"at an end of the rates", []Arm{edge}, "edge", false},
	} {
		for i := range k.arms {
			k.arms[i].Rates = rates
		}
		repeat := arm("opsm", 0, -.1, 2, 5)
		repeat.Stressor = "0.103M, 16"
		m := Map{Studies: []Study{{Name: "staleness", Equal: "0", None: "none", Arms: append([]Arm{equal, none}, k.arms...)}, {Name: "size", Arms: []Arm{repeat}}}}
		a, ok := m.Answer("staleness")
		higher := " At stable rates above the limit without a correction it ends at 0.80 with 5e-4, 0.70 with 1e-3 and at 0.60 with 2e-3. On 5 other base models the ratio is 2.00 (1.82 to 4.00)."
		if strings.Contains(a.Text, higher) != (k.want == "opsm") {
			t.Errorf("%s: %s", k.name, a.Text)
		}
		got := ""
		if a.Arm != nil {
			got = a.Arm.Method
		}
		if !ok || got != k.want || a.Settled != k.settled || a.Text == "" {
			t.Errorf("%s: %q, settled %v: %s", k.name, got, a.Settled, a.Text)
		}
		m.Studies = append(m.Studies, others) // where TIS is harmful, and OPSM is not
		switch a, _ = m.Answer("staleness"); {
		case a.Arm != nil && a.Arm.Method == "tis":
			t.Errorf("%s, with other tasks: %s", k.name, a.Text)
		case a.Arm != nil && a.Arm.Method == "opsm":
			if want := " On the task addition the ratio is 3.00 (2.73 to 6.00). On the task search the ratio is 3.00 (2.73 to 6.00)."; !strings.Contains(a.Text, want) {
				t.Errorf("%s, with other tasks: %s", k.name, a.Text)
			}
		}
		long := arm("opsm", 0, -.1, 4, 10)
		long.Stressor, long.Rates = "lag-16, 10000", []Rate{{Rate: 1e-3, Finals: record.Floats{.7, .8}}, {Rate: 2e-3, Finals: record.Floats{.6}}}
		few := long
		few.Method, few.Level.N = "none", 5
		m.Studies = append(m.Studies, Study{Name: "horizon-staleness", None: "none", Arms: []Arm{few, long}})
		if a, _ = m.Answer("staleness"); !strings.Contains(a.Text, " After 10,000 updates opsm ends at 0.75 with 1e-3 and at 0.60 with 2e-3.") || strings.Contains(a.Text, "updates training without a correction") {
			t.Errorf("%s, with longer runs: %s", k.name, a.Text)
		}
	}
	for _, stressor := range []string{"lag-16, 1000", "lag-16, 10000"} {
		lasts := arm("mis", .2, .1, 1, 10)
		lasts.Stressor = stressor
		m := Map{Studies: []Study{{Name: "staleness", Equal: "0", None: "none", Arms: []Arm{equal, none, arm("mis", .2, .1, 1, 10), arm("tis", .3, .2, 1, 10)}}, {Name: "horizon-staleness", None: "none", Arms: []Arm{lasts}}}}
		both := Map{Studies: slices.Clone(m.Studies)} // where the other ran for as long, too
		worse := lasts
		worse.Method, worse.Level.Estimate = "tis", .5
		both.Studies[1].Arms = append(slices.Clone(both.Studies[1].Arms), worse)
		const highest = " it has the highest mean after 10,000 updates."
		if a, _ := m.Answer("staleness"); strings.Contains(a.Text, highest) {
			t.Errorf("with %s of mis alone: %s", stressor, a.Text)
		}
		if a, _ := both.Answer("staleness"); strings.Contains(a.Text, highest) != strings.HasSuffix(stressor, "10000") {
			t.Errorf("with %s of both: %s", stressor, a.Text)
		}
		if a, _ := m.Answer("staleness"); (a.Arm.Method == "mis") != strings.HasSuffix(stressor, "10000") || len(a.Also) != 1 {
			t.Errorf("with %s of mis: %s", stressor, a.Text)
		}
	}
}
