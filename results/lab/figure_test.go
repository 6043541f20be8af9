package lab

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"driftlab/precision/must"
	"driftlab/results/stats"
)

// files are a published folder in small.
var files = fstest.MapFS{
	"a.json":                       {Data: []byte(`{"list": [{"name": "x", "dose": "n", "v": [1, 2, 6]}, {"name": "x", "dose": "m", "v": "nan"}]}`)},
	"claims/c/verdict.json":        {Data: []byte(`{"seeds": [1, 2], "size": "full", "version": 3}`)},
	"claims/c/full-v3/seed-1.json": {Data: []byte(`[{"name": "s", "values": [0.25, 1]}]`)},
	"claims/c/full-v3/seed-2.json": {Data: []byte(`[{"name": "s", "values": [0.75, 3]}]`)},
	"claims/c/full-v2/seed-1.json": {Data: []byte(`[{"name": "s", "values": [9, 9]}]`)},
}

// TestFigures reads each kind of figure, and says what is wrong with the others.
func TestFigures(t *testing.T) {
	f := newFigures(newPublished(t, files), map[string]figureSource{
		"entry":  {From: "a.json", Field: "list[name=x&dose=n].v[-1]", Show: "%.1f"},
		"mean":   {From: "a.json", Field: "list[0].v", Show: "%.0f"},
		"claim":  {Claim: "c", Field: "s[0]", Show: "%.1f%%"},
		"work":   {Work: "(1 - claim) * pow(2, 3) / -entry", Show: "%.2e"},
		"least":  {Claim: "c", Field: "s[0]", Of: "min", Show: "%.2f"},
		"ratio":  {Claim: "c", Field: "s[1]", Over: "s[0]", Of: "max", Show: "%.1f"}, // 1 / 0.25 and 3 / 0.75
		"of":     {Claim: "c", Field: "s[0]", Of: "median"},
		"text":   {From: "a.json", Field: "list[1].v"},
		"none":   {From: "a.json", Field: "list[name=y].v"},
		"beyond": {Claim: "c", Field: "s[2]"},
		"circle": {Work: "circle + 1"},
		"call":   {Work: "sin(1)"},
	})
	for name, want := range map[string]string{"entry": "6.0", "mean": "3", "claim": "50.0%", "work": "-6.67e-1", "least": "0.25", "ratio": "4.0"} {
		if got, err := f.get(name); err != nil || got.Text != want {
			t.Errorf("%s is %q, want %q: %v", name, got.Text, want, err)
		}
	}
	for name, want := range map[string]string{"text": "not a number", "none": "no [name=y]", "beyond": "no entry 2", "of": "expected min or max", "circle": "itself", "call": "no such function", "other": `no figure "other"`} {
		if _, err := f.get(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	var shown []Shown
	got, err := f.set("from {claim} of {name: lag} to {mean}", &shown)
	if err != nil || got != "from 50.0% of {name: lag} to 3" || len(shown) != 2 || shown[0].Source != "results/published/claims/c/full-v3" {
		t.Errorf("%q, %+v, %v", got, shown, err)
	}
	if work, _ := f.get("work"); work.Source != "results/published/a.json, results/published/claims/c/full-v3" {
		t.Errorf("the work comes from %s", work.Source)
	}
}

// TestDecade is the power of ten below.
func TestDecade(t *testing.T) {
	for x, want := range map[float64]int{1.1e-4: -4, 1e-4: -4, 9.99e-5: -5, 3: 0, 10: 1} {
		if got, err := decade(x); err != nil || got != want {
			t.Errorf("decade of %g: %d, %v; want %d", x, got, err, want)
		}
	}
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := decade(x); err == nil {
			t.Errorf("%g has a decade", x)
		}
	}
}

// TestRecordingsAgree: what was recorded for the lab is what the claims measured.
func TestRecordingsAgree(t *testing.T) {
	p := newPublished(t, os.DirFS("../published"))
	length := map[string][][]float64{}
	for _, one := range Load().Lesson("length").Data.Panels {
		if one.Name == "kept" && one.When["cap"] == "3" {
			length[one.When["dose"]] = [][]float64{one.Series[0].Y, one.Series[1].Y}
		}
	}
	for _, c := range []struct {
		dose, claim string
		series      [2]string
		masked      bool
	}{
		{"natural", "length-trap", [2]string{"natural product 2", "natural geometric"}, false},
		{"amplified", "length-trap", [2]string{"amplified product 2", "amplified geometric"}, false},
		{"moe", "geo-length-invariant", [2]string{"moe product", "moe geometric"}, true},
	} {
		for i, series := range c.series {
			rows := must.Get(p.observed(c.claim, series))(t)
			want := rows[0] // of seed 1, which was recorded
			if c.masked {
				want = stats.Complement(want)
			}
			if !slices.EqualFunc(length[c.dose][i], want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) { // a claim keeps nine digits
				t.Errorf("%s, %s: recorded %v, the claim has %v", c.dose, series, length[c.dose][i], want)
			}
		}
	}
}

// TestChoose: the answer to a choice is the option of the largest figure.
func TestChoose(t *testing.T) {
	figures := map[string]float64{"a": 0.5, "b": 0.9, "c": 0.6}
	value := func(name any) (float64, error) {
		x, ok := figures[fmt.Sprint(name)]
		if !ok {
			return 0, fmt.Errorf("no figure %v", name)
		}
		return x, nil
	}
	g := Guess{Kind: "choice", Options: []string{"one", "two", "three"}}
	by := map[string]any{"one": "a", "two": "b", "three": "c"}
	if err := g.choose(by, value); err != nil || g.Truth != "two" {
		t.Errorf("%v, %v", g.Truth, err)
	}
	delete(by, "three")
	if err := g.choose(by, value); err == nil {
		t.Error("an option without a figure is accepted")
	}
}
