package loss

import "driftlab/trainer/method/batch"

// GVPO regresses the centred log-ratio of a response onto its centred reward: a
// variance over the group.
//
// It reads the mean advantage of a response as its reward minus that of the group:
// use it with advantages that are centred and not divided by their deviation. The
// loss is a sum over responses and groups, so that it grows with the batch, and the
// log-ratio of a response grows with its length. A response without active tokens is
// left out of its group, where the source divides by zero; a group of one has no loss.
// Importance weights have no effect.
type GVPO struct {
	// Beta scales the log-ratio of a response.
	Beta float64 `yaml:"beta" default:"0.1" range:"(0,inf]"`
}

// Eval computes the loss over the groups.
func (p *GVPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, Aggregation{Mode: "token-sum"}, batch.Columns{batch.Anchor, batch.Advantage, batch.Group}, func(f *frame) {
		f.restrictToOpen()
		centres, weights := p.centres(f)
		for i := range in.Len() {
			e := p.logRatio(f, i, in.Now.Logp) - centres[i] - f.meanAdvantage(i, f.length(i))
			f.share(i, "e", e)
			f.addResponse(i, float64(weights[i]*e*e/2))
			f.spread(i, weights[i]*p.Beta*e)
		}
		f.addKL(in.Anchor, 0)
	})
}

// logRatio is S of response i.
func (p *GVPO) logRatio(f *frame, i int, logp []float64) float64 {
	return float64(p.Beta * f.sumLogRatio(i, logp, f.in.Anchor))
}

// centres are the detached mean of S in the group of every response, and the weight of
// its square, 1/(n-1): 0 where there is nothing to compare with.
func (p *GVPO) centres(f *frame) (centres, weights []float64) {
	centres, weights = f.out.work(1, f.in.Len()), f.out.work(2, f.in.Len())
	for rows := range f.groups().All() {
		n, sum := 0.0, 0.0
		for _, i := range rows {
			n += count(f.length(i) > 0)
			sum += p.logRatio(f, i, f.sg)
		}
		for _, i := range rows {
			if n > 1 && f.length(i) > 0 {
				centres[i], weights[i] = sum/n, 1/(n-1)
			}
		}
	}
	return centres, weights
}
