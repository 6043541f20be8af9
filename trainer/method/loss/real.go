package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// REAL reads the sign of the advantage as a label and separates the responses of a
// group by a logistic loss on their mean log-ratios.
//
// The size of the advantage has no effect, and an advantage of 0 counts as negative.
// Groups with one label only have no gradient; they count in the number of groups.
// A response without active tokens is a negative with s = 0. Importance weights have
// no effect; a token whose gate is closed leaves the mean.
type REAL struct {
	// Tau is the temperature of the log-ratio.
	Tau float64 `yaml:"tau" default:"0.5" range:"(0,inf]"`
}

// Eval computes the loss over the groups.
func (p *REAL) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, Aggregation{Mode: "token-sum"}, batch.Columns{batch.Anchor, batch.Advantage, batch.Group}, func(f *frame) {
		f.restrictToOpen()
		terms, slopes := p.responses(f)
		groups := float64(f.groups().Len())
		for i := range in.Len() {
			f.share(i, "slope", slopes[i])
			f.addResponse(i, terms[i]/groups)
			f.spread(i, slopes[i]/groups)
		}
		f.addKL(in.Anchor, 0)
	})
}

// responses are the share of every response in the loss of its group, and the derivative
// of that loss by each of its log-probs.
func (p *REAL) responses(f *frame) (terms, slopes []float64) {
	terms, slopes = f.out.work(1, f.in.Len()), f.out.work(2, f.in.Len())
	side, x := f.out.work(3, f.in.Len()), f.out.work(4, f.in.Len())
	for i := range f.in.Len() {
		if side[i] = 1; f.meanAdvantage(i, f.length(i)) > 0 {
			side[i] = -1
		}
		x[i] = side[i] * f.sumLogRatio(i, f.in.Now.Logp, f.in.Anchor) / max(f.length(i), 1) / p.Tau
	}
	for rows := range f.groups().All() {
		positive, positives := logOnePlus(x, side, -1, rows)
		negative, negatives := logOnePlus(x, side, 1, rows)
		if positives == 0 || negatives == 0 {
			continue
		}
		for _, i := range rows {
			total, members := negative, negatives
			if side[i] < 0 {
				total, members = positive, positives
			}
			terms[i] = total / members
			slopes[i] = side[i] * elementary.Exp(x[i]-total) / p.Tau / max(f.length(i), 1)
		}
	}
	return terms, slopes
}

// logOnePlus is log(1 + Σ exp(x)) over those of the rows that are on that side, and their number.
func logOnePlus(x, side []float64, which float64, rows []int) (total, members float64) {
	largest := 0.0
	for _, i := range rows {
		if side[i] == which {
			largest = max(largest, x[i])
		}
	}
	sum := elementary.Exp(-largest)
	for _, i := range rows {
		if side[i] == which {
			sum += elementary.Exp(x[i] - largest)
			members++
		}
	}
	return largest + elementary.Log(sum), members
}
