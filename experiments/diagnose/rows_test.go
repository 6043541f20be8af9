package diagnose

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
)

// sumOf is the sum of a column.
func sumOf(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// one is a column of n equal values.
func constantly(n int, v float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
}

// What is wrong with some of the responses is named, with how many these are; what is like it and no fault passes. A case is
// 40 responses of 50 tokens.
func TestRowFaults(t *testing.T) {
	some := func(n int, change func(r *reader.Row)) func([]*reader.Row) {
		return func(rows []*reader.Row) {
			for _, r := range rows[:n] {
				change(r)
			}
		}
	}
	turned := func(r *reader.Row) { slices.Reverse(r.Roll) }
	for _, c := range []struct {
		name   string
		change func(rows []*reader.Row)
		id     string
		result Result
		says   string
	}{
		{"reversed", some(40, turned), "same-tokens", Fail, "in 40 of 40 responses (100 %) one column is reversed"},
		{"reversed in some", some(10, turned), "same-tokens", Fail, "in 10 of 40 responses (25 %) one column is reversed"},
		{"the learner's reversed", some(8, func(r *reader.Row) { slices.Reverse(r.Old) }), "same-tokens", Fail, "in 8 of 40 responses (20 %) one column is reversed"},
		{"shuffled", some(20, func(r *reader.Row) {
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(r.Roll), func(i, j int) { r.Roll[i], r.Roll[j] = r.Roll[j], r.Roll[i] })
		}), "same-tokens", Fail, "in 20 of 40 responses (50 %) the two columns are not of the same tokens"},
		{"rows permuted", func(rows []*reader.Row) {
			first := rows[0].Roll
			for i := range 20 {
				rows[i].Roll = rows[i+1].Roll
			}
			rows[20].Roll = first
		}, "same-tokens", Fail, "in 21 of 40 responses (52 %) the rollout column is another response's"},
		{"not retokenised", some(40, turned), "retokenised", Pass, ""},
		{"zeros of a worker", some(10, func(r *reader.Row) { clear(r.Roll) }), "rows-not-real", Fail, "in 10 of 40 responses (25 %) the rollout log-probs are all zero"},
		{"zeros of the learner", some(4, func(r *reader.Row) { clear(r.Old) }), "rows-not-real", Fail, "in 4 of 40 responses (10 %) the learner's log-probs are all zero"},
		{"sums", some(12, func(r *reader.Row) { r.Roll = constantly(50, sumOf(r.Roll)) }), "rows-not-real", Fail, "in 12 of 40 responses (30 %) the rollout column is constant, the sum of"},
		{"means", some(12, func(r *reader.Row) { r.Roll = constantly(50, sumOf(r.Roll)/50) }), "rows-not-real", Fail, "in 12 of 40 responses (30 %) the rollout column is constant"},
		{"copied", some(20, func(r *reader.Row) { r.Old = r.Roll }), "rows-not-real", Fail, "in 20 of 40 responses (50 %) the two columns are equal to the last bit"},
		{"equal where both are certain", some(20, func(r *reader.Row) {
			for i := range r.Old[:45] {
				r.Roll[i], r.Old[i] = 0, 0
			}
			copy(r.Old[45:], constantly(5, -0.001))
			copy(r.Roll[45:], constantly(5, -0.001))
		}), "rows-not-real", Pass, ""},
		{"sums everywhere", some(40, func(r *reader.Row) { r.Roll = constantly(50, sumOf(r.Roll)) }), "sign-units", Fail, "it is the sum of the response's log-probs"},
		{"sums are no placeholder", some(40, func(r *reader.Row) { r.Roll = constantly(50, sumOf(r.Roll)-60) }), "non-finite", Pass, ""},
		{"padding", some(10, func(r *reader.Row) {
			clear(r.Roll[40:])
			clear(r.Old[40:])
			clear(r.Token[40:])
		}), "padding", Fail, "in 10 of 40 responses (25 %) padding is trained: 5.0 %"},
		{"padding before", some(10, func(r *reader.Row) {
			clear(r.Roll[:10])
			clear(r.Old[:10])
			clear(r.Token[:10])
		}), "padding", Fail, "in 10 of 40 responses (25 %) padding is trained: 5.0 %"},
		{"padding without ids", some(40, func(r *reader.Row) {
			clear(r.Roll[40:])
			clear(r.Old[40:])
			r.Token = nil
		}), "padding", Fail, "in 40 of 40 responses (100 %) padding is trained: 20.0 %"},
		{"certain of tokens that differ", some(40, func(r *reader.Row) {
			clear(r.Roll[40:])
			clear(r.Old[40:])
		}), "padding", Pass, ""},
		{"certain of a token inside", some(40, func(r *reader.Row) {
			clear(r.Roll[20:30])
			clear(r.Old[20:30])
			clear(r.Token[20:30])
		}), "padding", Pass, ""},
		{"floor", some(40, func(r *reader.Row) {
			for i, x := range r.Roll {
				r.Roll[i] = max(x, -2)
			}
		}), "floor", Fail, "the rollout log-probs were bounded from below at -2"},
		{"floor of the learner's", some(40, func(r *reader.Row) {
			for i, x := range r.Old {
				r.Old[i] = max(x, -2.5)
			}
		}), "floor", Fail, "the learner's log-probs were bounded from below at -2.5"},
		{"floor of both", some(40, func(r *reader.Row) {
			for i := range r.Old {
				r.Roll[i], r.Old[i] = max(r.Roll[i], -3), max(r.Old[i], -3)
			}
		}), "floor", Pass, ""},
	} {
		rows := rowsOf(7, 0.03, 40, 50)
		c.change(rows)
		r := report(Options{}, rows)
		got := said(r, c.id, "all")
		if got.Result != c.result || !strings.Contains(got.Why, c.says) {
			t.Errorf("%s: %s is %s (%v): %q", c.name, c.id, got.Result, got.Value, got.Why)
		}
		if c.result == Fail && (r.Verdict.State != Repair || !strings.Contains(r.Verdict.Summary, c.says)) {
			t.Errorf("%s: %+v", c.name, r.Verdict)
		}
	}
}

// Swapped columns are recognised by the column whose distribution was sampled from, wherever the gap is large enough to show it.
func TestSwapped(t *testing.T) {
	found := 0
	for seed := range uint64(10) {
		w := Cases[2].Draw(seed) // fp4
		rows, _ := w.Rows()
		if c := checked(rows, "swapped"); c.Result != Pass {
			t.Errorf("%d, as they are: %+v", seed, c)
		}
		for _, r := range rows {
			r.Roll, r.Old = r.Old, r.Roll
		}
		r := report(Options{}, rows)
		if said(r, "swapped", "all").Result == Fail {
			found++
			if !strings.Contains(r.Verdict.Summary, "the two columns are swapped") {
				t.Errorf("%d: %+v", seed, r.Verdict)
			}
		}
	}
	if found < 6 { // of so few tokens
		t.Errorf("%d of 10 are found", found)
	}
}

// A penalty in the rollout engine is named, and a gap of any other cause is not taken for one: the largest part that
// repetition explains in 200 worlds is below the limit.
func TestPenalty(t *testing.T) {
	worlds := 1
	if *fresh {
		worlds = 20
	}
	for i, c := range Cases {
		for k := range worlds {
			rows, _ := c.Draw(uint64(700_000 + 1000*i + k)).Rows()
			if p := checked(rows, "penalty"); p.Result != Pass && p.Result != NotApplicable {
				t.Errorf("%s %d: %+v", c.Name, k, p)
			}
		}
	}
	for _, x := range []SyntheticDump{{Presence: 0.3}, {Presence: 1}, {Frequency: 0.2}, {Repetition: 1.05}, {Repetition: 1.2}} {
		for k := range uint64(1 + worlds) {
			w := Cases[0].Draw(k)
			w.Presence, w.Frequency, w.Repetition = x.Presence, x.Frequency, x.Repetition
			rows, _ := w.Rows()
			v := report(Options{}, rows).Verdict
			if v.State != Repair || !slices.Equal(v.Causes, []string{Penalty}) || !strings.Contains(v.Summary, "the rollout engine applies a repetition, presence or frequency penalty") {
				t.Errorf("presence %v, frequency %v, repetition %v, %d: %+v", x.Presence, x.Frequency, x.Repetition, k, v)
			}
			for _, r := range rows {
				r.Roll, r.Old = r.Old, r.Roll
			}
			if c := checked(rows, "penalty"); c.Result == Fail && !strings.Contains(c.Why, "the learner applies") {
				t.Errorf("of the learner: %+v", c)
			}
		}
	}
}
