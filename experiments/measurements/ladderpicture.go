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

// rungPicture has a panel per axis with the exact KL, one of flips by depth, one of answers by length,
// and one of the way from the base to the published size.
func rungPicture(j *claim.Judge) *figure.Figure {
	f := measuredRungs(j, metricKL)
	p := &figure.Figure{Kind: figure.Multiples, Title: "The gap along the ladder of scale: means, and the range of the models"}
	for _, a := range sizeAxes[:5] { // the sixth goes with the fifth
		c := f.panel("By "+a.name, "exact KL, nats per token", a, curve{"MoE", metricKL, moeFamily, 1}, curve{"MoE, routes replayed", metricReplayed, moeFamily, 2}, curve{"dense", metricKL, denseFamily, 3})
		if l := f.law(metricKL, moeFamily); l != nil {
			f.line(&c, figure.Series{Name: "law, MoE", Slot: 5}, "law", a, func(r rung) float64 { return metricKL.figure(l.center(moeFamily.coordinates(r.Size))) })
		}
		p.Parts = append(p.Parts, c)
	}
	depth, length := sizeAxes[0], sizeAxes[3]
	flips := f.panel("Flips by depth", "share", depth, curve{"flips per decision", metricFlips, moeFamily, 6}, curve{"tokens hit", metricHit, moeFamily, 7})
	f.line(&flips, figure.Series{Name: "tokens hit if independent", Slot: 8}, "if independent", depth, func(r rung) float64 {
		return 1 - elementary.Pow(1-stats.Average(metricFlips.values(r, f.runs)), float64(r.Size.Layers))
	})
	answers := f.panel("Whole answers by length, dense", "sequence KL, nats", length, curve{"dense", metricSequence, denseFamily, 3}, curve{"dense, fp16", metricSequenceFP16, denseFamily, 4})
	p.Parts = append(p.Parts, flips, answers, f.wayPanel())
	return p
}

// curve is a metric of a family along an axis.
type curve struct {
	name   string
	metric *gapMetric
	family modelFamily
	slot   int
}

// panel has curves along an axis, of the families that have it: y by its logarithm, bands over the range of the models.
func (f *ladderRungs) panel(title, y string, a axis, curves ...curve) figure.Figure {
	c := figure.Figure{Kind: figure.Lines, Title: title, X: figure.Axis{Label: fmt.Sprintf("doublings of %s from %d", a.unit, *a.of(&baseSize))}, Y: figure.Axis{Label: y, Log: true}}
	for _, k := range curves {
		if slices.ContainsFunc(k.family.axes(), func(own axis) bool { return own.name == a.name }) {
			c.Series = append(c.Series, f.arm(k, a))
		}
	}
	return c
}

// line adds a series of one line over the routed rungs of an axis.
func (f *ladderRungs) line(c *figure.Figure, s figure.Series, name string, a axis, of func(r rung) float64) {
	line := figure.Series{Name: name}
	for _, r := range f.along(moeFamily, a) {
		line.X, line.Y = append(line.X, doublings(r, a)), append(line.Y, of(r))
	}
	s.Seeds = []figure.Series{line}
	c.Series = append(c.Series, s)
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
func (f *ladderRungs) arm(k curve, a axis) figure.Series {
	arm := figure.Series{Name: k.name, Slot: k.slot}
	for i, o := range f.runs {
		c := figure.Series{Name: fmt.Sprintf("model %d", i+1)}
		for _, r := range f.along(k.family, a) {
			if y, ok := k.metric.of(r, o); ok {
				c.X, c.Y = append(c.X, doublings(r, a)), append(c.Y, y)
			}
		}
		if len(c.X) > 0 {
			arm.Seeds = append(arm.Seeds, c)
		}
	}
	return arm
}

// wayPanel is the law of the exact KL from the base, where all axes begin, to the
// primary published size, where they end together; one model in twenty lies outside
// its band.
func (f *ladderRungs) wayPanel() figure.Figure {
	p := publishedFigures[0]
	c := figure.Figure{Kind: figure.Lines, Title: "The way to " + p.Model, X: figure.Axis{Label: "share of the way, every axis in proportion to its logarithm"},
		Y: figure.Axis{Label: "exact KL, nats per token", Log: true}}
	l := f.law(p.Metric, p.Family)
	if l == nil {
		return c
	}
	end := p.Family.coordinates(p.Size)
	var x, middle, low, high []float64
	for k := range 21 {
		share := float64(k) / 20
		i := p.Metric.interval(l.model(stats.Each(end, func(v float64) float64 { return share * v })))
		x, middle, low, high = append(x, share), append(middle, i.Estimate), append(low, i.Low), append(high, i.High)
	}
	c.Series = append(c.Series, figure.Series{Name: "law, MoE", Slot: 5, Seeds: []figure.Series{{X: x, Y: middle}}},
		// A curve without points keeps the band from having a mean line of its own,
		// and one name for both makes them one entry of the legend.
		figure.Series{Name: "law, MoE", Slot: 5, Seeds: []figure.Series{{X: x, Y: low}, {X: x, Y: high}, {}}})
	c.Marks = []figure.Mark{{Name: "published", At: p.Figure}}
	return c
}
