package scaling

import (
	"fmt"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// What the law of dense-kl-law has to be, written before any of its gaps was measured.
const (
	// withinFactor is how near the law has to come to a published figure, and cornerFactor to the corner.
	withinFactor = 3
	cornerFactor = 1.5
	// lossBand is how far the mean held-out loss of a rung may be from that of the base, in nats.
	lossBand = 0.04
)

// overRounding is entry k over what rounding of the raised logits gives: in fp16 the step is an eighth.
func overRounding(k int, squaredSteps float64) func(rung, *claim.Observation) (float64, bool) {
	return func(r rung, o *claim.Observation) (float64, bool) {
		y, ok := listed(k)(r, o)
		if !ok {
			return 0, false
		}
		rounding, _ := listed(roundingHigher)(r, o)
		return y / (rounding * squaredSteps), true
	}
}

// fp16Steps is the square of a step of fp16 over one of bf16.
const fp16Steps = 1.0 / 64

// The metrics of dense-kl-law: the KL of raised logits over their rounding, and the KL as trained.
var (
	lawOther     = &gapMetric{Name: "exact KL over rounding of logits, rounding in other places", of: overRounding(otherHigher, 1)}
	lawOrder     = &gapMetric{Name: "exact KL over rounding of logits, order of sums", of: overRounding(higher, 1)}
	lawFP16      = &gapMetric{Name: "exact KL over rounding of logits, fp16", of: overRounding(higherFP16, fp16Steps)}
	trainedOrder = &gapMetric{Name: "exact KL, logits as trained, order of sums", of: listed(asTrained)}
	trainedOther = &gapMetric{Name: "exact KL, logits as trained, rounding in other places", of: listed(otherAsTrained)}
)

func lawMetrics(f modelFamily) []*gapMetric {
	if f != denseFamily {
		return nil
	}
	return []*gapMetric{lawOther, lawOrder, trainedOrder, trainedOther, lawFP16}
}

// denseLaw is a fit with the level that its quotients are of.
type denseLaw struct {
	*fitted
	rounding float64 // logarithm of the base's KL by rounding alone
}

// over is a law's prediction at a published size over the published figure: the interval of one model. Metrics
// over rounding are at the base's, and a sequence KL is per token times the length.
func (d *denseLaw) over(m *gapMetric, p publishedFigure) (stats.Interval, bool) {
	l := d.laws[m][denseFamily]
	if l == nil {
		return stats.Interval{}, false
	}
	level := -elementary.Log(p.Figure)
	switch m {
	case lawOther, lawOrder:
		level += d.rounding
	case lawFP16:
		level += d.rounding + elementary.Log(fp16Steps)
	}
	if p.Metric != metricKL {
		level += elementary.Log(float64(p.Size.Length))
	}
	i := l.model(denseFamily.coordinates(p.Size))
	i.Estimate, i.Low, i.High = elementary.Exp(i.Estimate+level), elementary.Exp(i.Low+level), elementary.Exp(i.High+level)
	return i, true
}

// within is a check that a law comes near a published figure.
func (d *denseLaw) within(name string, m *gapMetric, p publishedFigure) claim.Check {
	i, ok := d.over(m, p)
	if !ok {
		return noLaw(name)
	}
	return claim.Check{Name: name, Level: claim.Ladder, Needs: fmt.Sprintf("interval inside [1/%d, %d], published %v (%s)", withinFactor, withinFactor, p.Figure, p.Source),
		Value: i, P: math.NaN(), Outcome: near(i)}
}

// near is what becomes of a prediction over a figure.
func near(i stats.Interval) claim.Mark {
	switch {
	case math.IsNaN(i.Low) || math.IsNaN(i.High):
		return claim.Open
	case i.Low >= 1.0/withinFactor && i.High <= withinFactor:
		return claim.Passed
	case i.High < 1.0/withinFactor || i.Low > withinFactor:
		return claim.Failed
	}
	return claim.Open
}

// densePublished are the dense figures: KL per token of Qwen3-8B, and sequence KL of the 1.5B model in bf16 and fp16.
func densePublished() (large, small, half publishedFigure) {
	list := published()
	return list[4], list[5], list[6]
}

// primary needs both sizes; it shows the farther one. Without comparable rungs, or a law that predicts its corner, nothing follows.
func (d *denseLaw) primary(large, small publishedFigure) claim.Check {
	name := "KL of the law over the published one, the farther of Qwen3-8B and the 1.5B model"
	a, b := d.within(name, lawOther, large), d.within(name, lawOther, small)
	far := a
	if math.Abs(elementary.Log(b.Value.Estimate)) > math.Abs(elementary.Log(a.Value.Estimate)) {
		far = b
	}
	far.Needs = fmt.Sprintf("interval inside [1/%d, %d] at both sizes", withinFactor, withinFactor)
	switch {
	case a.Outcome == claim.Failed || b.Outcome == claim.Failed:
		far.Outcome = claim.Failed
	case a.Outcome != claim.Passed || b.Outcome != claim.Passed:
		far.Outcome = claim.Open
	}
	if odd, ok := d.evenLoss(); !ok {
		far.Outcome, far.Needs = claim.Open, far.Needs+"; "+odd
	}
	if r, ok := d.corner(denseFamily); !ok || d.cornerCheck(r).Outcome != claim.Passed {
		far.Outcome, far.Needs = claim.Open, far.Needs+"; the corner is not predicted"
	}
	return far
}

// evenLoss reports whether each rung's mean loss is near the base's, and names the first that is not.
func (d *denseLaw) evenLoss() (string, bool) {
	loss := &gapMetric{of: listed(lawLoss)}
	first := math.NaN()
	for i, r := range d.rungs {
		mean := stats.Average(loss.values(r, d.runs))
		if i == 0 {
			first = mean
		}
		if !(math.Abs(mean-first) <= lossBand) {
			return fmt.Sprintf("%s has a loss of %.3f, the base %.3f", r.short(), mean, first), false
		}
	}
	return "", true
}

// cornerCheck asks whether the law comes near a rung that it was not fitted to.
func (d *denseLaw) cornerCheck(r rung) claim.Check {
	name := "law of the primary check over the corner, which is not in the fit"
	said, found, ok := d.predicted(lawOther, r)
	if !ok {
		return noLaw(name)
	}
	i := stats.Interval{Estimate: said.Estimate / found, Low: said.Low / found, High: said.High / found, N: said.N}
	mark := claim.Open
	switch {
	case i.Low >= 1/cornerFactor && i.High <= cornerFactor:
		mark = claim.Passed
	case i.High < 1/cornerFactor || i.Low > cornerFactor:
		mark = claim.Failed
	}
	return claim.Check{Name: name, Level: claim.Ladder, Needs: fmt.Sprintf("interval inside [1/%v, %v]", cornerFactor, cornerFactor), Value: i, P: math.NaN(), Outcome: mark}
}

// widthSlopes are the exponents of width of entry k, one per run that has all the rungs.
func widthSlopes(runs []*claim.Observation, rungs []rung, name func(rung) string, k int) (slopes []float64) {
	for _, o := range runs {
		x, y := []float64{0}, []float64{elementary.Log(o.List(lawRungs()[0].Name())[k])}
		for _, r := range rungs {
			if o.Has(name(r)) {
				x, y = append(x, elementary.Log(float64(r.Size.Width)/float64(base.Width))), append(y, elementary.Log(o.List(name(r))[k]))
			}
		}
		if len(x) > len(rungs) {
			slopes = append(slopes, stats.Slope(x, y))
		}
	}
	return slopes
}

func judgeDenseLaw(j *claim.Judge) {
	first := lawRungs()[0]
	d := &denseLaw{fitted: fitRungs(j.Runs, lawRungs(), lawMetrics)}
	d.rounding = stats.Average(stats.Logs(j.Entry(first.Name(), roundingHigher)))
	large, small, half := densePublished()
	j.Primary(d.primary(large, small))
	for _, p := range []publishedFigure{large, small} {
		j.Secondary(d.within("logits raised, rounding in other places, over "+p.Model, lawOther, p))
		j.Secondary(d.within("logits raised, order of sums alone, over "+p.Model, lawOrder, p))
		j.Secondary(d.within("logits as trained, rounding in other places, over "+p.Model, trainedOther, p))
		j.Secondary(d.within("logits as trained, order of sums alone, over "+p.Model, trainedOrder, p))
	}
	j.Secondary(d.within("fp16, logits raised, order of sums alone, over "+half.Model, lawFP16, half))
	if r, ok := d.corner(denseFamily); ok {
		j.Secondary(d.cornerCheck(r))
	} else {
		j.Secondary(noLaw("law of the primary check over the corner, which is not in the fit"))
	}
	entry := func(k int) []float64 { return j.Entry(first.Name(), k) }
	j.Secondary(claim.Within(claim.Ladder, "KL over rounding of logits, rounding in other places, base", stats.Quotients(entry(otherHigher), entry(roundingHigher)), 0.67, 1.5))
	j.Secondary(claim.ReportRatio(claim.Ladder, "logits raised over as trained, order of sums, base", entry(higher), entry(asTrained)))
	j.Secondary(claim.ReportRatio(claim.Ladder, "logits raised over as trained, rounding in other places, base", entry(otherHigher), entry(otherAsTrained)))
	routed := func(k int) []float64 { return j.Entry(routedName, k) }
	j.Secondary(claim.ReportRatio(claim.Ladder, "logits raised over as trained, routed model, routes replayed", routed(replayedHigher), routed(replayedAsTrained)))
	j.Secondary(claim.ReportRatio(claim.Ladder, "logits raised over as trained, routed model", routed(routedHigher), routed(routedAsTrained)))
	wide := d.along(denseFamily, axes[1])[1:]
	even := evenSteps()
	j.Secondary(claim.Report(claim.Ladder, "exponent of width at equal loss, logits as trained, order of sums", widthSlopes(j.Runs, wide, rung.Name, asTrained)))
	j.Secondary(claim.Report(claim.Ladder, "exponent of width at equal steps, logits as trained, order of sums", widthSlopes(j.Runs, even, evenName, asTrained)))
	j.Secondary(claim.Report(claim.Ladder, "exponent of width at equal loss, logits raised, rounding in other places", widthSlopes(j.Runs, wide, rung.Name, otherHigher)))
	for _, m := range lawMetrics(denseFamily) {
		j.Note("%s", d.describe(m, denseFamily))
	}
	j.Evidence.Table = d.lawTable()
	j.Evidence.Picture = d.lawPicture()
}

// lawTable has a line per rung, and one per rung with the steps of the base.
func (d *denseLaw) lawTable() *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "Rungs", Columns: []figure.Column{{Name: "rung"}, {Name: "steps", Align: figure.Right}, {Name: "models", Align: figure.Right}},
		Note: "Means over the models of a rung. Loss: of demonstrations that were not trained on, nats per token. KL in nats per token, order of sums alone or with rounding in other places; " +
			"rounding: Σ p(1-p)·step²/12 of the logits that are raised."}
	columns := []struct {
		name string
		of   int
	}{{"loss", lawLoss}, {"entropy", lawEntropy}, {"logit as trained", logitAsTrained}, {"KL as trained, order", asTrained}, {"KL as trained, other", otherAsTrained},
		{"logit raised", logitHigher}, {"KL raised, order", higher}, {"KL raised, other", otherHigher}, {"rounding", roundingHigher}, {"KL raised, fp16", higherFP16}}
	for _, c := range columns {
		t.Columns = append(t.Columns, figure.Column{Name: c.name, Align: figure.Right})
	}
	line := func(title string, steps int, name string) {
		var cells []figure.Cell
		n := 0
		for _, c := range columns {
			var values []float64
			for _, o := range d.runs {
				if o.Has(name) {
					values = append(values, o.List(name)[c.of])
				}
			}
			if n = len(values); n == 0 {
				return
			}
			cells = append(cells, figure.Number(stats.Average(values), 3))
		}
		t.Add(append([]figure.Cell{figure.Word(title), figure.Word(fmt.Sprint(steps)), figure.Word(fmt.Sprint(n))}, cells...)...)
	}
	for _, r := range lawRungs() {
		line(r.short(), r.Steps, r.Name())
	}
	for _, r := range evenSteps() {
		line(r.short()+", steps of the base", r.Steps, evenName(r))
	}
	return t
}

// lawPicture has a panel per axis: the KL as trained, and with logits raised.
func (d *denseLaw) lawPicture() *figure.Figure {
	p := &figure.Figure{Kind: figure.Multiples, Title: "Exact KL of dense models at equal loss: means, and the range of the models"}
	for _, a := range denseFamily.axes() {
		c := sheet("By "+a.name, fmt.Sprintf("doublings of %s from %d", a.unit, *a.of(&base)), "exact KL, nats per token")
		rungs := d.along(denseFamily, a)
		for slot, m := range []*gapMetric{
			{Name: "logits as trained, order of sums", of: listed(asTrained)}, {Name: "logits as trained, rounding in other places", of: listed(otherAsTrained)},
			{Name: "logits raised, rounding in other places", of: listed(otherHigher)}, {Name: "rounding of the raised logits alone", of: listed(roundingHigher)},
		} {
			c.Series = append(c.Series, d.arm(m.Name, m, rungs, a, slot+1))
		}
		p.Parts = append(p.Parts, c)
	}
	return p
}
