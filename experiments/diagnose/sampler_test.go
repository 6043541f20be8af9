package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
)

// tempered are rows of which one side is at temperature t: drawn at it, and raw in
// one of the columns.
func tempered(t float64, rawRoll bool) []*reader.Row {
	rows := rowsOf(3, 0.03, 60, 60)
	tokens(rows, func(_ int, roll, old *float64) {
		if rawRoll { // what was drawn from has log-odds t times smaller in the raw column
			*roll = sharpened(*roll, t)
		} else {
			*old = sharpened(*old, t)
		}
	})
	return rows
}

// A temperature on one side is found, on the right side, and read within 15 %.
func TestTemperature(t *testing.T) {
	for _, temperature := range []float64{0.6, 0.8, 1.3} {
		for _, rawRoll := range []bool{true, false} {
			r := report(Options{Temperature: temperature}, tempered(temperature, rawRoll))
			c := said(r, "temperature", "all")
			side, read := "learner's log-probs are raw", c.Value
			if rawRoll {
				side, read = "rollout log-probs are raw", 1/c.Value
			}
			if temperature > 1 && rawRoll {
				continue // the mean ratio falls below 1: the side cannot be told
			}
			if c.Result != Fail || !strings.Contains(c.Why, side) || math.Abs(read/temperature-1) > 0.15 || !strings.Contains(c.Why, "sampled at") {
				t.Errorf("temperature %v, raw rollout %v: %s, %v, %q", temperature, rawRoll, c.Result, read, c.Why)
			}
			if r.Verdict.State != Repair || !slices.Equal(r.Verdict.Causes, []string{"sampler"}) || !strings.Contains(r.Verdict.Summary, side) {
				t.Errorf("%+v", r.Verdict)
			}
		}
	}
}

// The mean ratio is 1 for any error that does not know what was drawn, and the kept
// mass where that is recorded.
func TestLawIdentity(t *testing.T) {
	for _, c := range []struct {
		name   string
		want   float64 // the mean ratio
		mass   float64
		result Result
	}{
		{"as it is", 1, 0, Pass}, {"less than a tenth of the gap", 1.005, 0, Pass}, {"odd", 1.007, 0, Watch}, {"off", 1.03, 0, Fail}, {"off the other way", 0.97, 0, Fail}, {"a little the other way", 0.995, 0, Pass},
		{"kept mass, the same support in the learner", 1, 0.9, Pass}, {"kept mass and ratio", 0.9, 0.9, Pass}, {"less than the kept mass", 0.95, 0.999, Fail}, {"more than 1", 1.03, 0.9, Fail},
	} {
		rows := rowsOf(5, 0.2, 60, 60)
		var l lawIdentity
		var v view
		for _, r := range rows {
			v.fill(r, "dump")
			l.add(&v)
		}
		mean, want := l.sum/float64(l.n), c.want
		for _, r := range rows {
			for i := range r.Old {
				r.Old[i] += math.Log(want / mean)
				if c.mass > 0 {
					r.KeptMass = append(r.KeptMass, c.mass)
				}
			}
		}
		if got := checked(rows, "law-identity"); got.Result != c.result {
			t.Errorf("%s: %s, z %v: %s", c.name, got.Result, got.Value, got.Why)
		}
	}
	// A single token that holds a fifth of all ratios hides no fault of the others, and is none of theirs.
	for shift, want := range map[float64]Result{-2.3: Fail, 0: Watch} {
		rows := rowsOf(5, 0.01, 60, 60)
		for _, r := range rows {
			for i := range r.Old {
				r.Old[i] += shift
			}
		}
		rows[0].Roll[0], rows[0].Old[0] = -14, -0.5
		if got := checked(rows, "law-identity"); got.Result != want || want == Watch && !strings.Contains(got.Why, "a single token has the ratio 7.29e+05") {
			t.Errorf("one token of d = 13.5, the others at %v: %s, z %v: %s", shift, got.Result, got.Value, got.Why)
		}
	}
	// Few tokens do not tell.
	if got := checked(rowsOf(5, 2, 10, 60), "law-identity"); got.Result != CannotTell {
		t.Errorf("600 tokens with a large gap: %s: %s", got.Result, got.Why)
	}
}

// Between a gap that is nothing but a function of the log-odds and one that is none
// lies every share, and its limits.
func TestStructuredGap(t *testing.T) {
	for _, c := range []struct {
		noise  float64
		result Result
	}{{0.02, Fail}, {0.2, Pass}} {
		rows := rowsOf(9, c.noise, 80, 50)
		tokens(rows, func(_ int, _, old *float64) { *old = sharpened(*old, 1.1) })
		if got := checked(rows, "structured-gap"); got.Result != c.result {
			t.Errorf("noise %v: %s, η² %v", c.noise, got.Result, got.Value)
		}
	}
	results := map[Result]bool{}
	for noise := 0.02; noise < 0.3; noise += 0.02 {
		rows := rowsOf(9, noise, 80, 50)
		tokens(rows, func(_ int, _, old *float64) { *old = sharpened(*old, 1.1) })
		got := checked(rows, "structured-gap")
		results[got.Result] = true
		want := Pass
		switch {
		case got.Value > 0.85:
			want = Fail
		case got.Value >= 0.75:
			want = Watch
		}
		if got.Result != want {
			t.Errorf("η² %v: %s", got.Value, got.Result)
		}
	}
	if len(results) != 3 {
		t.Errorf("only %v", results)
	}
}

// Tokens that one side alone is certain of tell a support from a temperature. The gap
// comes from a temperature here, so that it is structured with few of them, too.
func TestSupport(t *testing.T) {
	for _, c := range []struct {
		name                     string
		share                    float64 // of tokens that are certain on one side
		certain, other           float64
		mixed, rollout           bool
		result, otherTemperature Result
		says                     string
	}{
		{"rollout", 0.05, 0, -0.02, false, true, Fail, NotApplicable, "the rollout log-probs are renormalised"},
		{"learner", 0.05, 0, -0.02, false, false, Fail, NotApplicable, "the learner's log-probs are renormalised"},
		{"certain but for rounding", 0.05, -9e-6, -0.02, false, true, Fail, NotApplicable, "rollout"},
		{"not quite certain", 0.05, -2e-5, -0.02, false, true, Pass, Fail, ""},
		{"the other nearly so", 0.05, 0, -0.009, false, true, Pass, Fail, ""},
		{"too few", 0.009, 0, -0.02, false, true, Pass, Fail, ""},
		{"enough", 0.011, 0, -0.02, false, true, Fail, NotApplicable, "rollout"},
		{"both sides", 0.05, 0, -0.02, true, true, Pass, Fail, ""},
	} {
		rows := rowsOf(11, 0.001, 60, 60)
		tokens(rows, func(n int, roll, old *float64) {
			sharp := roll
			if !c.rollout {
				sharp = old
			}
			*sharp = sharpened(*sharp, 2)
			if every := int(1 / c.share); n%every == 0 && n/every < int(c.share*3600) {
				*roll, *old = c.certain, c.other
				if !c.rollout || c.mixed && n/every%10 == 0 {
					*roll, *old = c.other, c.certain
				}
			}
		})
		r := report(Options{TopP: 0.9}, rows)
		if said(r, "structured-gap", "all").Result != Fail {
			t.Fatalf("%s: the gap is not structured: %v", c.name, said(r, "structured-gap", "all"))
		}
		got := said(r, "support", "all")
		if got.Result != c.result || !strings.Contains(got.Why, c.says) || got.Result == Fail && !strings.Contains(got.Why, "top-p 0.9") {
			t.Errorf("%s: %s (%v): %q", c.name, got.Result, got.Value, got.Why)
		}
		if got := said(r, "temperature", "all"); got.Result != c.otherTemperature {
			t.Errorf("%s: temperature %s: %s", c.name, got.Result, got.Why)
		}
	}
}

// After the same prefix an engine has the same score, or it depends on its batch.
func TestSamePrefix(t *testing.T) {
	for _, c := range []struct {
		name      string
		roll, old float64 // by how much the second response differs
		shared    int
		result    Result
		says      string
	}{
		{"equal", 0, 0, 20, Pass, ""}, {"within rounding", 5e-7, 5e-7, 20, Pass, ""},
		{"rollout", 2e-6, 0, 20, Watch, "the rollout engine scores"}, {"learner", 0, 2e-6, 20, Watch, "the learner scores"},
		{"both", 0.29, 0.4, 20, Watch, "both engines"}, {"another context", 0.31, 0.31, 20, NotApplicable, "contexts"},
		{"too few", 1e-3, 0, 19, NotApplicable, "too few"},
	} {
		rows := rowsOf(2, 0.03, 40, 50)
		a, b := rows[0], rows[1]
		b.Prompt = a.Prompt
		copy(b.Token, a.Token[:c.shared])
		for i := range c.shared {
			b.Roll[i], b.Old[i] = a.Roll[i]-c.roll, a.Old[i]-c.old
		}
		if got := checked(rows, "same-prefix"); got.Result != c.result || !strings.Contains(got.Why, c.says) {
			t.Errorf("%s: %s (%v): %q", c.name, got.Result, got.Value, got.Why)
		}
	}
}

// A fault of one environment is found there, and what comes after a fault is
// conditional where tokens are shared, and nowhere else.
func TestScopes(t *testing.T) {
	rows := rowsOf(4, 0.03, 60, 60)
	for i, r := range rows {
		r.Env = []string{"math", "code", "tiny"}[min(i%2, 1)]
		if i >= 56 {
			r.Env = "tiny"
		}
		if r.Env == "code" {
			r.Roll = moved(r.Roll, 1)
		}
	}
	rep := report(Options{}, rows)
	if c := said(rep, "shift", "env:code"); c.Result != Fail || c.Conditional {
		t.Errorf("%+v", c)
	}
	if c := said(rep, "shift", "all"); c.Result != Fail || !strings.HasPrefix(c.Why, "in 28 of 60 responses (47 %)") {
		t.Errorf("%+v", c)
	}
	if !strings.HasSuffix(rep.Verdict.Summary, "(all of them in env:code).") || rep.Verdict.State != Repair {
		t.Errorf("%+v", rep.Verdict)
	}
	for _, c := range rep.Checks {
		behind := slices.IndexFunc(checks, func(k check) bool { return k.id == c.ID }) > slices.IndexFunc(checks, func(k check) bool { return k.id == "shift" })
		if c.Conditional != behind || c.Scope == "env:math" || c.Scope == "env:tiny" || strings.HasPrefix(c.Scope, "third") && c.ID == "shift" {
			t.Errorf("%s of %s: %s, conditional %v", c.ID, c.Scope, c.Result, c.Conditional)
		}
	}
	// Files are scopes as environments are, but for one that is all there is.
	a := New(Options{})
	for i, r := range rowsOf(4, 0.03, 60, 60) {
		if i%2 > 0 {
			r.Roll = moved(r.Roll, 1)
		}
		a.row(r, fmt.Sprint("file", i%2))
	}
	if c := said(a.Report(), "shift", "file:file1"); c.Result != Fail {
		t.Errorf("%+v", c)
	}
}

// Too little is called that, whatever it looks like: 500 tokens and 8 responses are enough.
func TestEnough(t *testing.T) {
	for _, c := range []struct {
		rows, n int
		state   State
	}{{1, 1, Insufficient}, {1, 5000, Insufficient}, {7, 100, Insufficient}, {8, 62, Insufficient}, {8, 63, Repair}, {499, 1, Insufficient}, {500, 1, Repair}} {
		rows := rowsOf(1, 0.03, c.rows, c.n)
		tokens(rows, func(_ int, roll, _ *float64) { *roll = 0 })
		r := report(Options{}, rows)
		if r.Verdict.State != c.state {
			t.Errorf("%d responses of %d tokens: %+v", c.rows, c.n, r.Verdict)
		}
		if faults := slices.IndexFunc(r.Checks, func(k Check) bool { return k.Result == Fail }); c.state == Insufficient && faults >= 0 {
			t.Errorf("%d responses of %d tokens: %+v", c.rows, c.n, r.Checks[faults])
		}
	}
}

// What is odd and no fault: no crash, no fault, and figures that are numbers.
func TestOddDumps(t *testing.T) {
	for name, change := range map[string]func(r *reader.Row){
		"nothing trained": func(r *reader.Row) { clear(r.Mask) },
		"no advantage":    func(r *reader.Row) { r.Advantage = make([]float64, len(r.Mask)) },
		"equal":           func(r *reader.Row) { r.Old = r.Roll },
		"one token":       func(r *reader.Row) { *r = *rowsOf(uint64(r.Prompt[3]), 0.03, 1, 1)[0] },
		"no rollout":      func(r *reader.Row) { r.Roll = nil },
		"no tokens":       func(r *reader.Row) { r.Token, r.Prompt, r.PromptOld, r.PromptRoll = nil, nil, nil, nil },
		"holes in the mask": func(r *reader.Row) {
			for i := range r.Mask {
				r.Mask[i] = i%3 > 0
			}
		},
	} {
		rows := rowsOf(6, 0.03, 600, 6)
		for _, r := range rows {
			change(r)
		}
		r := report(Options{}, rows)
		for _, c := range r.Checks {
			if c.Result == Fail && c.ID != "usable" || math.IsNaN(c.Value) {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if r.Verdict.Summary == "" || r.Verdict.Next == "" {
			t.Errorf("%s: %+v", name, r.Verdict)
		}
	}
	// A ratio that overflows is counted, and bounded in what it weighs.
	rows := rowsOf(6, 0.03, 40, 50)
	rows[0].Roll[0], rows[0].Old[0] = -800, -0.1
	r := report(Options{}, rows)
	if r.Gap.Clamped != 1 || math.IsInf(r.Gap.ESSToken, 0) || math.IsNaN(r.Gap.ESSToken) {
		t.Errorf("%+v", r.Gap)
	}
}

// The sample is whole responses, the same ones on every run, and no more than it may be.
func TestSampleIsBounded(t *testing.T) {
	keep := func() []*kept {
		s := newReservoir()
		var v view
		for _, r := range rowsOf(8, 0.03, 900, 500) {
			v.fill(r, "dump")
			s.add(&v, "f")
		}
		if s.tokens > sampled || s.tokens < sampled-500 {
			t.Errorf("%d tokens", s.tokens)
		}
		return s.inOrder()
	}
	a, b := keep(), keep()
	late := 0
	for i, k := range a {
		if k.number != b[i].number || len(k.roll) != 500 || i > 0 && a[i-1].number >= k.number {
			t.Fatalf("response %d: number %d, %d tokens; then %d", i, k.number, len(k.roll), b[i].number)
		}
		if k.number > 450 {
			late++
		}
	}
	if late < len(a)/3 || late > 2*len(a)/3 {
		t.Errorf("%d of %d are of the second half", late, len(a))
	}
	// One response longer than the sample is kept as far as it goes.
	s := newReservoir()
	var v view
	v.fill(rowsOf(8, 0.03, 1, sampled+10)[0], "dump")
	s.add(&v, "f")
	if s.tokens != sampled {
		t.Errorf("%d tokens of a long response", s.tokens)
	}
}
