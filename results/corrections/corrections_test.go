package corrections

import (
	"math"
	"strings"
	"testing"

	"driftlab/results/stats"
)

// two is a page of two problems, one of them harmless, with a correction and none.
func two(name string) *Page {
	none := Effect{P: math.NaN()}
	return &Page{Seeds: 10, Rates: []string{"1e-3"}, Test: "a test",
		Problems: []Problem{{Name: "age", Text: "stale rollouts", Uncorrected: -.25}, {Name: "healthy", Text: "no stressor", Healthy: true, Recommended: -1}},
		Settings: []Setting{
			{Name: name, Group: "weights", Line: "correction: " + name, Regret: stats.Interval{Estimate: .01, High: .02, N: 10}, Explained: []string{"method-a"},
				Frameworks: []Lines{{Framework: "verl", Text: "a: 1"}, {Framework: "trl"}},
				Effects:    []Effect{{Estimate: .2, Low: .1, High: .3, P: .002, Sign: 1}, {Estimate: -.03, Low: -.04, High: -.02, P: .01, Sign: -1}}},
			{Name: "none", Group: "control", Control: true, Regret: stats.Interval{Estimate: .2, Low: .1, High: .3, N: 10}, Effects: []Effect{none, none}},
		},
		Explanations: []Explanation{{ID: "method-a", Name: "a", Kind: "weight", Does: "Truncates."}}}
}

// The answer stands before the table: the setting, its effect with interval, n and rates, and
// what it harms.
func TestAnswer(t *testing.T) {
	page := string(two("tis").HTML())
	answer, _, ok := strings.Cut(page, "<table")
	if !ok {
		t.Fatal("no table")
	}
	for _, want := range []string{`<a href="#setting-tis"><code>tis</code></a>`, `Improvement &#43;0.20</strong> (95 % CI &#43;0.10 to &#43;0.30), significantly better, p = 0.0020. n = 10 seeds, mean over the learning rates 1e-3.`,
		`Significantly worse than no correction under: no stressor <code>healthy</code> (-0.03, 95 % CI -0.04 to -0.02).`, `the mean pass rate of the whole run is -0.25 relative to`,
		`Among 1 distinct settings, significantly better than no correction here: 1; significantly worse: 0.`, "<code>correction: tis</code>", "Not written here: trl."} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer lacks %q", want)
		}
	}
	for _, want := range []string{"No correction is needed", "<strong>Mean regret 0.01</strong> (95 % CI 0.00 to 0.02); no correction has 0.20."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// What a name holds is text wherever it stands, also in the data of the script.
func TestNamesAreEscaped(t *testing.T) {
	page := string(two(`</script><b title="x">`).HTML())
	if strings.Contains(page, "<b title") || strings.Count(page, "</script>") != strings.Count(string(two("tis").HTML()), "</script>") {
		t.Error("a name is markup")
	}
}

// A page without a setting is a page.
func TestEmptyPage(t *testing.T) {
	if page := string((&Page{}).HTML()); !strings.Contains(page, `"settings":[]`) {
		t.Error("no data")
	}
}

// One file asks for nothing, and does not carry the library of charts, as it has none.
func TestOneFile(t *testing.T) {
	page := string(two("tis").HTML())
	for _, not := range []string{"src=", "href=\"http", "var uPlot", "@import"} {
		if strings.Contains(page, not) {
			t.Errorf("the page has %q", not)
		}
	}
}
