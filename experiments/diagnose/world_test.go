package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/experiments/diagnose/reader"
)

// world makes responses of two engines whose distributions have two tokens each: the rollout
// engine draws, the learner's logits are off by sigma.
type world struct {
	r     *rand.Rand
	sigma float64
}

func logOdds(p float64) float64 { return math.Log(p / (1 - p)) }

func logistic(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// row is a response of n tokens after a prompt of four.
func (w world) row(n int) *reader.Row {
	r := &reader.Row{Step: 5, Index: reader.Unknown, Group: reader.Unknown, Head: reader.Unknown, Tail: reader.Unknown,
		Reward: math.NaN(), Temperature: math.NaN(), TopP: math.NaN(), Prompt: []int32{1, 2, 3, int32(w.r.IntN(1 << 20))},
		PromptRoll: make([]float64, 4), PromptOld: []float64{-9, -1, -2, -3}}
	for range n {
		p := 0.02 + 0.96*w.r.Float64()
		q := logistic(logOdds(p) + w.sigma*w.r.NormFloat64())
		if w.r.Float64() > p {
			p, q = 1-p, 1-q
		}
		r.Token, r.Mask = append(r.Token, int32(w.r.IntN(1<<20))), append(r.Mask, true)
		r.Roll, r.Old = append(r.Roll, math.Log(p)), append(r.Old, math.Log(q))
	}
	return r
}

// rows are several.
func rowsOf(seed uint64, sigma float64, count, n int) []*reader.Row {
	w := world{rand.New(rand.NewPCG(seed, 1)), sigma}
	var list []*reader.Row
	for range count {
		list = append(list, w.row(n))
	}
	return list
}

// report is the report of rows of a single file.
func report(o Options, rows []*reader.Row) Report { return analysed(o, rows).judgement() }

// analysed has taken in rows of a single file.
func analysed(o Options, rows []*reader.Row) *Analysis {
	a := New(o)
	for _, r := range rows {
		a.row(r, "f")
	}
	return a
}

// said is what a check says of a scope.
func said(r Report, id, scope string) Check {
	for _, c := range r.Checks {
		if c.ID == id && c.Scope == scope {
			return c
		}
	}
	return Check{Result: "absent"}
}

// checked is what a check says of rows of a single file.
func checked(rows []*reader.Row, id string) Check {
	return said(Report{Checks: analysed(Options{}, rows).judged()}, id, "all")
}

// tokens changes every token of the rows, numbered from 0.
func tokens(rows []*reader.Row, change func(n int, roll, old *float64)) {
	n := 0
	for _, r := range rows {
		for i := range r.Roll {
			change(n, &r.Roll[i], &r.Old[i])
			n++
		}
	}
}

// every changes one token in k.
func every(k int, rows []*reader.Row, change func(roll, old *float64)) {
	tokens(rows, func(n int, roll, old *float64) {
		if n%k == 0 {
			change(roll, old)
		}
	})
}

// moved is a column, shifted later by the given number of tokens.
func moved(x []float64, by int) []float64 {
	y := slices.Clone(x)
	for i := range x {
		if j := i - by; j >= 0 && j < len(x) {
			y[i] = x[j]
		}
	}
	return y
}

// sharpened is the log-prob in a distribution over two tokens at temperature 1/by.
func sharpened(logp, by float64) float64 {
	return math.Log(logistic(by * logOdds(math.Exp(logp))))
}
