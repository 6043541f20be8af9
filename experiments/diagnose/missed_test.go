package diagnose

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
)

// A cause that was missed on dumps that were kept back is named, or the verdict says that the dump cannot tell: it is never another one.
func TestMissedCauses(t *testing.T) {
	bf16, lag := Cases[0], Cases[4]
	for _, c := range []struct {
		name string
		of   Case
		set  func(w *SyntheticDump)
		// change makes the fault in rows that are right so far.
		change func(rows []*reader.Row, r *rand.Rand)
		says   []string // any of which the verdict must have
	}{
		{"swapped columns, top-p", bf16, func(w *SyntheticDump) { w.Temperature, w.TopP = 1, 0.9 }, func(rows []*reader.Row, _ *rand.Rand) {
			for _, r := range rows {
				for i := range r.Old {
					r.Old[i] -= 0.08
				}
				r.Roll, r.Old = r.Old, r.Roll
			}
		}, []string{"swapped"}},
		{"reversed rows", bf16, nil, func(rows []*reader.Row, _ *rand.Rand) {
			for _, r := range rows {
				slices.Reverse(r.Roll)
			}
		}, []string{"reversed"}},
		{"a tenth of the rows reversed", bf16, nil, func(rows []*reader.Row, _ *rand.Rand) {
			for i, r := range rows {
				if i%10 == 3 {
					slices.Reverse(r.Roll)
				}
			}
		}, []string{"reversed"}},
		{"order of the rows reversed", bf16, nil, func(rows []*reader.Row, _ *rand.Rand) {
			columns := make([][]float64, len(rows))
			for i, r := range rows {
				columns[len(rows)-1-i] = r.Roll
			}
			for i, r := range rows { // padded, or cut
				r.Roll = append(slices.Clone(columns[i]), make([]float64, len(r.Roll))...)[:len(r.Roll)]
			}
		}, []string{"another response's"}},
		{"repetition penalty 1.1", bf16, func(w *SyntheticDump) { w.Repetition, w.IDs = 1.1, 512 }, nil, []string{"penalty"}},
		{"repetition penalty 1.3", bf16, func(w *SyntheticDump) { w.Repetition, w.IDs = 1.3, 512 }, nil, []string{"penalty"}},
		{"fp8 at lag 16", Cases[8], func(w *SyntheticDump) { w.Lags = []int{16} }, nil, []string{"staleness", "either"}},
		{"a quarter of the rows at another temperature", bf16, nil, func(rows []*reader.Row, _ *rand.Rand) {
			for i, r := range rows {
				if i%4 == 1 {
					for k := range r.Old {
						r.Old[k] = sharpened(r.Old[k], 0.7)
					}
				}
			}
		}, []string{"temperature"}},
		{"re-tokenised at lag 2", lag, func(w *SyntheticDump) { w.Lags = []int{2} }, func(rows []*reader.Row, r *rand.Rand) {
			for i, row := range rows {
				if n := len(row.Old); i%4 == 2 && n > 12 { // one token became two, and the last is cut
					at := 2 + r.IntN(n-8)
					copy(row.Old[at+1:], row.Old[at:n-1])
					row.Old[at] = -6
				}
			}
		}, []string{"decoded and encoded again"}},
	} {
		each := 1
		if *fresh {
			each = 12
		}
		right := 0
		for seed := range each {
			w := c.of.Draw(uint64(400_000 + seed))
			w.TopP, w.Temperature, w.Responses = 1, 1, 64
			if c.set != nil {
				c.set(&w)
			}
			rows, _ := w.Rows()
			if c.change != nil {
				c.change(rows, rand.New(rand.NewPCG(uint64(seed), 5)))
			}
			r := report(Options{Experts: 1}, rows)
			if slices.ContainsFunc(c.says, func(s string) bool { return strings.Contains(r.Verdict.Summary, s) }) {
				right++
			} else {
				t.Logf("%s %d: %.400s", c.name, seed, r.Verdict.Summary)
			}
		}
		if 10*right < 9*each {
			t.Errorf("%s: %d of %d", c.name, right, each)
		}
	}
}
