package measurements

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// rungPicture has a panel per axis, one of flips by depth, one of answers by length,
// and one of the way from the base to the published size.
func rungPicture(j *claim.Judge) *figure.Figure {
	f := measuredRungs(j, metricKL)
	p := &figure.Figure{Kind: figure.Multiples, Title: "The gap along the ladder of scale: means, and the range of the models"}
	for k, a := range sizeAxes[:5] { // the sixth goes with the fifth
		p.Parts = append(p.Parts, f.panel(k, a))
	}
	p.Parts = append(p.Parts, f.flipPanel(), f.answerPanel(), f.wayPanel())
	return p
}

// along are the rungs of a family on an axis, the base among them, in its order.
func (f *ladderRungs) along(family modelFamily, a axis) []rung {
	var list []rung
	for _, r := range f.rungs {
		origin := baseSize
		if family == denseFamily {
			origin.Experts, origin.TopK = 0, 0
		}
		*a.of(&origin) = *a.of(&r.Size)
		if a.name == "experts" {
			origin.TopK = max(baseSize.TopK, r.Size.Experts/8)
		}
		if r.Family == family && !r.Corner && r.Size == origin {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(x, y rung) int { return cmp.Compare(*a.of(&x.Size), *a.of(&y.Size)) })
	return list
}

func doublings(r rung, a axis) float64 {
	return elementary.Log(float64(*a.of(&r.Size))/float64(*a.of(&baseSize))) / math.Ln2
}

// arm is a metric along an axis, with a curve per model.
func (f *ladderRungs) arm(name string, m *gapMetric, rungs []rung, a axis, slot int) figure.Series {
	arm := figure.Series{Name: name, Slot: slot}
	for i, o := range f.runs {
		c := figure.Series{Name: fmt.Sprintf("model %d", i+1)}
		for _, r := range rungs {
			if y, ok := m.of(r, o); ok {
				c.X, c.Y = append(c.X, doublings(r, a)), append(c.Y, y)
			}
		}
		if len(c.X) > 0 {
			arm.Seeds = append(arm.Seeds, c)
		}
	}
	return arm
}

// sheet is an empty panel: y by its logarithm, bands over the range of the models.
func sheet(title, x, y string) figure.Figure {
	return figure.Figure{Kind: figure.Lines, Title: title, X: figure.Axis{Label: x}, Y: figure.Axis{Label: y, Log: true}}
}

// panel is the exact KL along an axis.
func (f *ladderRungs) panel(k int, a axis) figure.Figure {
	c := sheet("By "+a.name, fmt.Sprintf("doublings of %s from %d", a.unit, *a.of(&baseSize)), "exact KL, nats per token")
	c.Series = append(c.Series, f.arm("MoE", metricKL, f.along(moeFamily, a), a, 1))
	c.Series = append(c.Series, f.arm("MoE, routes replayed", metricReplayed, f.along(moeFamily, a), a, 2))
	if k < len(denseFamily.axes()) {
		c.Series = append(c.Series, f.arm("dense", metricKL, f.along(denseFamily, a), a, 3))
	}
	if l := f.law(metricKL, moeFamily); l != nil {
		line := figure.Series{Name: "law"}
		for _, r := range f.along(moeFamily, a) {
			line.X, line.Y = append(line.X, doublings(r, a)), append(line.Y, metricKL.figure(l.center(moeFamily.coordinates(r.Size))))
		}
		c.Series = append(c.Series, figure.Series{Name: "law, MoE", Slot: 5, Seeds: []figure.Series{line}})
	}
	return c
}

// flipPanel has flips per decision and tokens hit by depth.
func (f *ladderRungs) flipPanel() figure.Figure {
	depth := sizeAxes[0]
	c := sheet("Flips by depth", fmt.Sprintf("doublings of layers from %d", baseSize.Layers), "share")
	rungs := f.along(moeFamily, depth)
	c.Series = append(c.Series, f.arm("flips per decision", metricFlips, rungs, depth, 6))
	c.Series = append(c.Series, f.arm("tokens hit", metricHit, rungs, depth, 7))
	line := figure.Series{Name: "if independent"}
	for _, r := range rungs {
		rate := stats.Average(metricFlips.values(r, f.runs))
		line.X, line.Y = append(line.X, doublings(r, depth)), append(line.Y, 1-elementary.Pow(1-rate, float64(r.Size.Layers)))
	}
	c.Series = append(c.Series, figure.Series{Name: "tokens hit if independent", Slot: 8, Seeds: []figure.Series{line}})
	return c
}

// answerPanel is the KL of whole answers of dense models by length.
func (f *ladderRungs) answerPanel() figure.Figure {
	length := sizeAxes[3]
	c := sheet("Whole answers by length, dense", fmt.Sprintf("doublings of tokens of an answer from %d", baseSize.Length), "sequence KL, nats")
	rungs := f.along(denseFamily, length)
	c.Series = append(c.Series, f.arm("dense", metricSequence, rungs, length, 3))
	c.Series = append(c.Series, f.arm("dense, fp16", metricSequenceFP16, rungs, length, 4))
	return c
}

// wayPanel is the law of the exact KL from the base, where all axes begin, to the
// primary published size, where they end together; one model in twenty lies outside
// its band.
func (f *ladderRungs) wayPanel() figure.Figure {
	p := publishedFigures[0]
	c := sheet("The way to "+p.Model, "share of the way, every axis in proportion to its logarithm", "exact KL, nats per token")
	l := f.law(p.Metric, p.Family)
	if l == nil {
		return c
	}
	end := p.Family.coordinates(p.Size)
	var middle, low, high figure.Series
	for k := range 21 {
		share := float64(k) / 20
		i := p.Metric.interval(l.model(stats.Each(end, func(v float64) float64 { return share * v })))
		for _, part := range []struct {
			curve *figure.Series
			y     float64
		}{{&middle, i.Estimate}, {&low, i.Low}, {&high, i.High}} {
			part.curve.X, part.curve.Y = append(part.curve.X, share), append(part.curve.Y, part.y)
		}
	}
	c.Series = append(c.Series, figure.Series{Name: "law, MoE", Slot: 5, Seeds: []figure.Series{middle}},
		// A curve without points keeps the band from having a mean line of its own,
		// and one name for both makes them one entry of the legend.
		figure.Series{Name: "law, MoE", Slot: 5, Seeds: []figure.Series{low, high, {}}})
	c.Marks = []figure.Mark{{Name: "published", At: p.Figure}}
	return c
}
