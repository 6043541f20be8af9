package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
)

// A gap that lies in a few tokens is said to, whatever names them, and the rest is judged without.
func TestLocality(t *testing.T) {
	garbage := func(r *reader.Row, i int) { r.Roll[i], r.Old[i] = -0.3-0.01*float64(i), -5-float64(i%7) }
	far := func(r *reader.Row) {
		for i := range r.Token {
			r.Old[i] = r.Roll[i] - 0.4
		}
	}
	for _, c := range []struct {
		name, where string
		change      func(rows []*reader.Row)
	}{
		{"last tokens", "the last token of responses", func(rows []*reader.Row) {
			for i, r := range rows {
				if i%2 > 0 {
					garbage(r, len(r.Token)-1)
				}
			}
		}},
		{"first tokens", "the first token of responses", func(rows []*reader.Row) {
			for _, r := range rows {
				garbage(r, 0)
			}
		}},
		{"at the length limit", "at the length limit", func(rows []*reader.Row) {
			for i, r := range rows {
				r.Finish = "stop"
				if i%3 == 0 {
					r.Finish = "length"
					for k := range 3 {
						garbage(r, len(r.Token)-1-k)
					}
				}
			}
		}},
		{"an id", "token id 77", func(rows []*reader.Row) {
			for n, r := range rows {
				for i := range r.Token {
					if (i+n)%40 == 11 {
						r.Token[i] = 77
						garbage(r, i)
					}
				}
			}
		}},
		{"a worker", "worker b", func(rows []*reader.Row) {
			for n, r := range rows {
				r.Worker = "a"
				if n%20 == 3 {
					r.Worker = "b"
					far(r)
				}
			}
		}},
		{"responses", "response 4", func(rows []*reader.Row) { far(rows[3]) }},
		{"heavy tails", "", func(rows []*reader.Row) { // a token in a hundred, wherever
			n := 0
			for _, r := range rows {
				for i := range r.Token {
					if n++; n%97 == 0 {
						garbage(r, i)
					}
				}
			}
		}},
		{"two tokens", "", func(rows []*reader.Row) { garbage(rows[3], 9); garbage(rows[3], 12) }},
		{"nothing", "", func([]*reader.Row) {}},
	} {
		seeds := uint64(1)
		if *exhaustive {
			seeds = 3
		}
		for seed := range seeds {
			rows := rowsOf(20+seed, 0.05, 80, 60)
			for i, r := range rows { // no two lengths are alike
				n := 60 - i%23
				r.Token, r.Mask, r.Roll, r.Old = r.Token[:n], r.Mask[:n], r.Roll[:n], r.Old[:n]
			}
			c.change(rows)
			a := analysed(Options{}, rows)
			l := localOf(a.sample.inOrder())
			switch {
			case c.where == "" && l != nil:
				t.Errorf("%s: %s (%v of k3)", c.name, l.where, l.k3)
			case c.where != "" && (l == nil || !strings.Contains(l.where, c.where)):
				t.Errorf("%s: %+v", c.name, l)
			case c.where != "":
				r := a.judgement()
				at := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.ID == "local-gap" && strings.Contains(f.Where, c.where) })
				if at < 0 || !strings.Contains(r.Verdict.Summary, c.where) || !strings.Contains(r.Verdict.Summary, "Without them") || r.Verdict.Causes[0] != Local {
					t.Errorf("%s: %+v, %+v", c.name, r.Verdict, r.Findings)
				}
			}
		}
	}
}

// A gap of heavy tails is not local, of whatever cause it is.
func TestLocalityOfGenuineGaps(t *testing.T) {
	each := uint64(1)
	if *fresh {
		each = 24
	}
	n := 0
	for i, c := range Cases {
		for k := range each {
			rows, _ := c.Draw(700_000 + 1000*uint64(i) + k).Rows()
			if l := localOf(analysed(Options{}, rows).sample.inOrder()); l != nil {
				n++
				t.Logf("%s %d: %s holds %.2f of k3", c.Name, k, l.where, l.k3)
			}
		}
	}
	if 100*n > int(each)*len(Cases) {
		t.Errorf("%d of %d are called local", n, int(each)*len(Cases))
	}
}

// Log-probs that cannot be of a token are told by where they are.
func TestRecordedWrongly(t *testing.T) {
	for _, c := range []struct {
		name, id string
		result   Result
		says     string
		change   func(i int, r *reader.Row)
	}{
		{"appended end", "masked-in", Fail, "the last token of 40 of 40 responses", func(_ int, r *reader.Row) { r.Roll[49], r.Old[49] = 0, -0.08 }},
		{"appended end of a sixth", "masked-in", Fail, "the last token of 7 of 40 responses", func(i int, r *reader.Row) {
			if i%6 == 0 {
				r.Roll[49], r.Old[49] = 0, -0.3
			}
		}},
		{"certain ends", "masked-in", Pass, "", func(_ int, r *reader.Row) { r.Roll[49], r.Old[49] = 0, -1e-6 }},
		{"zeroes of a support, at ends as elsewhere", "masked-in", Pass, "", func(_ int, r *reader.Row) {
			for i := 4; i < 50; i += 5 {
				r.Roll[i], r.Old[i] = 0, -0.05
			}
		}},
		{"null where the learner is certain", "non-finite", Watch, "in the rollout column only", func(i int, r *reader.Row) {
			if i%5 == 0 {
				r.Roll[20], r.Old[20] = math.NaN(), -1e-5
			}
		}},
		{"null where it has doubts", "non-finite", Fail, "in the rollout column only", func(i int, r *reader.Row) {
			if i%5 == 0 {
				r.Roll[20], r.Old[20] = math.NaN(), -0.7
			}
		}},
		{"null in the learner's", "non-finite", Fail, "in the learner's column only", func(i int, r *reader.Row) { r.Old[20] = math.NaN() }},
		{"mask one late", "late-mask", Fail, "the mask begins late by 1", func(_ int, r *reader.Row) { r.PromptRoll[3] = -0.4 }},
		{"mask two late", "late-mask", Fail, "the mask begins late by 2", func(_ int, r *reader.Row) { r.Prompt, r.PromptRoll = append(r.Prompt, 9), []float64{0, 0, 0, -1, -0.4} }},
		{"prompts scored", "late-mask", Pass, "", func(_ int, r *reader.Row) { r.PromptRoll = []float64{0, -2, -3, -0.4} }},
		{"routes of one row", "repeated-routes", Watch, "of the rollout engine are one row", func(i int, r *reader.Row) { routed(i, r, 1) }},
		{"routes", "repeated-routes", Pass, "", func(i int, r *reader.Row) { routed(i, r, 7) }},
		{"lag of more updates than there were", "version-tag", Fail, "of more updates", func(_ int, r *reader.Row) { r.Lag = 9 }},
		{"lag", "version-tag", NotApplicable, "", func(_ int, r *reader.Row) { r.Lag = 2 }},
	} {
		rows := rowsOf(7, 0.03, 40, 50)
		for i, r := range rows {
			r.Lag = math.NaN()
			c.change(i, r)
		}
		if got := checked(rows, c.id); got.Result != c.result || !strings.Contains(got.Why, c.says) {
			t.Errorf("%s: %s (%v): %q", c.name, got.Result, got.Value, got.Why)
		}
	}
}

// routed records routes of two ranks: the rollout engine's change with every row if rows is 1, else at every token as the learner's do.
func routed(i int, r *reader.Row, rows int) {
	r.Routes = 2
	r.Flips = make([]bool, len(r.Token))
	for n := range r.Token {
		at := int32((n + i) % 7)
		if rows == 1 {
			at = int32(i % 7)
		}
		r.RouteRoll = append(r.RouteRoll, at, at+1)
		r.RouteLearner = append(r.RouteLearner, int32((n+i)%7), int32((n+i)%7)+1)
		r.Flips[n] = fmt.Sprint(r.RouteRoll[2*n:]) != fmt.Sprint(r.RouteLearner[2*n:])
	}
}
