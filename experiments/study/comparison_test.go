package study

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/study/judge"
	"driftlab/precision/must"
	"driftlab/results/record"
)

// compared is a sweep of three methods at two rates on eight seeds: b is .2 above a, c the
// same runs as a; at the second rate b is .3 below.
func compared(seeds int) (*Index, []Row) {
	x := &Index{Name: "x", Factors: []IndexFactor{{Name: "method", Values: []string{"a", "b", "c"}}, {Name: "rate", Values: []string{"1", "2"}}}}
	gain := map[string]float64{"a1": 0, "b1": .2, "c1": 0, "a2": 0, "b2": -.3, "c2": 0}
	var rows []Row
	for s := range seeds {
		x.Seeds = append(x.Seeds, uint64(s+1))
		noise := .01 * float64(s%3)
		for _, method := range x.Factors[0].Values {
			for _, rate := range x.Factors[1].Values {
				o := Row{Values: map[string]string{"method": method, "rate": rate}, Seed: uint64(s + 1)}
				own := 0.0
				if method == "b" {
					own = .01 * float64(s%2)
				}
				o.Mean = record.Number(.5 + gain[method+rate] + noise + own)
				rows = append(rows, o)
			}
		}
	}
	return x, rows
}

// Values are ranked at each level of the other factors, with their differences to the
// baseline, and those that do not differ from the first tie with it.
func TestComparisons(t *testing.T) {
	x, rows := compared(8)
	type line struct {
		value  string
		rank   int
		ties   bool
		higher int // than the baseline, significantly
	}
	want := map[string][]line{
		"rate=1": {{"b", 1, true, 1}, {"a", 2, false, 0}, {"c", 3, false, 0}},
		"rate=2": {{"a", 1, true, 0}, {"c", 2, true, 0}, {"b", 3, false, -1}},
	}
	got := map[string][]line{}
	for _, c := range x.Comparisons(rows, nil) {
		if c.Factor != "method" {
			continue
		}
		higher := 0
		if c.P <= judge.Significant {
			higher = int(math.Copysign(1, c.Difference.Estimate))
		}
		got[c.Level] = append(got[c.Level], line{c.Value, c.Rank, c.TiesFirst, higher})
		if c.Value == "b" && c.Level == "rate=1" && math.Abs(c.Difference.Estimate-.205) > 1e-12 {
			t.Errorf("b is %v above a, want .205", c.Difference.Estimate)
		}
	}
	for level, lines := range want {
		if len(got[level]) != len(lines) {
			t.Fatalf("%s: %+v, want %+v", level, got[level], lines)
		}
		for i := range lines {
			if got[level][i] != lines[i] {
				t.Errorf("%s: %+v, want %+v", level, got[level][i], lines[i])
			}
		}
	}
}

// Three seeds tell nothing: all tie, and nothing is significant.
func TestComparisonsOfThreeSeeds(t *testing.T) {
	x, rows := compared(3)
	for _, c := range x.Comparisons(rows, nil) {
		if (c.P <= judge.Significant) || !c.TiesFirst {
			t.Errorf("significant with three seeds: %+v", c)
		}
	}
}

// The baseline is the first value, or the one that is named; another word is an error.
func TestBaselines(t *testing.T) {
	x, rows := compared(8)
	b := must.Get(x.ParseBaselines([]string{"method=b"}))(t)
	for _, c := range x.Comparisons(rows, b) {
		if want := map[string]string{"method": "b", "rate": "1"}[c.Factor]; c.Baseline != want {
			t.Errorf("%s is compared with %s, want %s", c.Factor, c.Baseline, want)
		}
	}
	for _, text := range []string{"method=d", "group=a", "method"} {
		if _, err := x.ParseBaselines([]string{text}); err == nil {
			t.Errorf("%s passes", text)
		}
	}
}

// A level where a seed is missing is not compared.
func TestComparisonsNeedEverySeed(t *testing.T) {
	x, rows := compared(8)
	rows = rows[1:] // a at rate 1, the baseline
	for _, c := range x.Comparisons(rows, nil) {
		if c.Factor == "method" && c.Level == "rate=1" {
			t.Errorf("compared without a pair: %+v", c)
		}
	}
}

// A long table has the highest ranks of each level and the baseline, whole levels where there
// is room, and says how much it leaves out; a short one has everything.
func TestComparisonTableIsBounded(t *testing.T) {
	x, rows := compared(8)
	list := x.Comparisons(rows, Baselines{"method": "c"})
	for most, want := range map[int][]string{
		6: {"b 1", "a 2", "c 3", "a 1", "c 2", "b 3"},
		5: {"b 1", "c 3", "a 1", "c 2"}, // rank 1 of both levels, and the baseline
		3: {"b 1", "c 3", "a 1"},
		1: {"b 1"},
	} {
		table := comparisonTable(list, "method", 8, "score", most)
		var got []string
		for _, row := range table.Rows {
			got = append(got, row[2].Text+" "+row[1].Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("at most %d rows: %q, want %q", most, got, want)
		}
		if note := strings.Contains(table.Note, fmt.Sprintf("shows %d of 6 comparisons", len(want))); note != (most < 6) {
			t.Errorf("at most %d rows: the note is %q", most, table.Note)
		}
	}
	if comparisonTable(list, "model", 8, "score", 6) != nil {
		t.Error("a factor without comparisons has a table")
	}
}

// Equal means are "no difference", which is not the same as equal runs.
func TestEqualMeansAreNoDifference(t *testing.T) {
	x, rows := compared(8)
	for _, c := range x.Comparisons(rows, nil) {
		if c.Value == "c" && c.verdict().Text != "no difference" {
			t.Errorf("%+v is %q", c, c.verdict().Text)
		}
	}
}
