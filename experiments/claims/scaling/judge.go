package scaling

import (
	"fmt"
	"math"
	"strings"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// What a fit has to be before its word at the published size counts. They were
// written before any gap was measured.
const (
	lowestEntropy  = 0.70
	highestEntropy = 0.95
	widestInterval = 100
)

// fitted are the rungs that were measured, with the laws through them.
type fitted struct {
	rungs []rung
	runs  []*claim.Observation
	laws  map[*gapMetric]map[modelFamily]*law
}

func fit(runs []*claim.Observation) *fitted {
	return fitRungs(runs, allRungs(), modelFamily.metrics)
}

// fitRungs fits a law to each metric of each family, on the rungs that the runs have.
func fitRungs(runs []*claim.Observation, rungs []rung, metrics func(modelFamily) []*gapMetric) *fitted {
	f := &fitted{runs: runs, laws: map[*gapMetric]map[modelFamily]*law{}}
	for _, r := range rungs {
		if len(metricKL.values(r, runs)) > 0 {
			f.rungs = append(f.rungs, r)
		}
	}
	for _, family := range []modelFamily{moeFamily, denseFamily} {
		for _, m := range metrics(family) {
			if f.laws[m] == nil {
				f.laws[m] = map[modelFamily]*law{}
			}
			if l, ok := fitLaw(f.points(m, family, nil)); ok {
				f.laws[m][family] = l
			}
		}
	}
	return f
}

// points are what a law of a family is fitted to: every rung but the corners, and
// but one that is left out.
func (f *fitted) points(m *gapMetric, family modelFamily, without *rung) []point {
	var list []point
	for _, r := range f.rungs {
		if r.Family != family || r.Corner || without != nil && r.Size == without.Size {
			continue
		}
		if y := m.logs(r, f.runs); len(y) > 0 {
			list = append(list, point{family.coordinates(r.Size), y})
		}
	}
	return list
}

// top is the highest rung of an axis that differs from the base along it alone.
func (f *fitted) top(family modelFamily, a axis) (top rung, ok bool) {
	for _, r := range f.rungs {
		if r.Family == family && !r.Corner && *a.of(&r.Size) > max(*a.of(&base), *a.of(&top.Size)) {
			top, ok = r, true
		}
	}
	return top, ok
}

// corner is the one of a family.
func (f *fitted) corner(family modelFamily) (corner rung, ok bool) {
	for _, r := range f.rungs {
		if r.Family == family && r.Corner {
			return r, true
		}
	}
	return corner, false
}

// predicted is what the law, fitted without a rung, says of it, in the metric's own
// unit; false where there is no law, or nothing to compare.
func (f *fitted) predicted(m *gapMetric, r rung) (said stats.Interval, found float64, ok bool) {
	y := m.logs(r, f.runs)
	l, fits := fitLaw(f.points(m, r.Family, &r))
	if !fits || len(y) == 0 {
		return said, found, false
	}
	return m.interval(l.mean(r.Family.coordinates(r.Size))), m.figure(stats.Average(y)), true
}

// comparable reports whether every rung's mean entropy lies in its band, and
// names the first that does not.
func (f *fitted) comparable() (string, bool) {
	entropy := &gapMetric{of: listed(entropyOf)}
	for _, r := range f.rungs {
		if h := stats.Average(entropy.values(r, f.runs)); !(h >= lowestEntropy && h <= highestEntropy) {
			return fmt.Sprintf("%s %s has %.2f nats per token", r.Family, r.short(), h), false
		}
	}
	return "", true
}

// judge fits the laws and holds them against what is published.
func judge(j *claim.Judge) {
	f := fit(j.Runs)
	for i, p := range published() {
		if i == 0 {
			j.Primary(f.primary(p))
			continue
		}
		j.Secondary(f.against(p))
	}
	for _, family := range []modelFamily{moeFamily, denseFamily} {
		if r, ok := f.corner(family); ok {
			j.Secondary(f.heldOut(metricKL, r))
		} else {
			j.Secondary(noLaw(fmt.Sprintf("exact KL, %s, predicted: the corner", family)))
		}
	}
	for _, family := range []modelFamily{moeFamily, denseFamily} {
		for _, a := range family.axes() {
			name := fmt.Sprintf("exact KL, %s, predicted: the top rung of %s", family, a.name)
			if r, ok := f.top(family, a); ok {
				c := f.heldOut(metricKL, r)
				c.Name = name
				j.Secondary(c)
			} else {
				j.Secondary(noLaw(name))
			}
		}
	}
	for _, family := range []modelFamily{moeFamily, denseFamily} {
		for _, m := range family.metrics() {
			j.Note("%s", f.describe(m, family))
		}
	}
	f.misses(j)
	j.Evidence.Table = f.table()
	j.Evidence.Picture = f.picture()
}

// noLaw is a check that could not be made.
func noLaw(name string) claim.Check {
	nan := math.NaN()
	return claim.Check{Name: name, Level: claim.Ladder, Needs: "a law", Value: stats.Interval{Estimate: nan, Low: nan, High: nan}, P: nan, Outcome: claim.Open}
}

// against holds a law's interval for one model of the published size against the
// published figure.
func (f *fitted) against(p publishedFigure) claim.Check {
	name := fmt.Sprintf("%s at the size of %s", p.Metric.Name, p.Model)
	l := f.laws[p.Metric][p.Family]
	if l == nil {
		return noLaw(name)
	}
	i := p.Metric.interval(l.model(p.Family.coordinates(p.Size)))
	needs := fmt.Sprintf("holds %v (%s), at most a factor %d wide", p.Figure, p.Source, widestInterval)
	return claim.Check{Name: name, Level: claim.Ladder, Needs: needs, Value: i, P: math.NaN(), Outcome: held(i, p.Figure, p.Metric.width(i))}
}

// held is what becomes of a figure and an interval that should hold it.
func held(i stats.Interval, figure, width float64) claim.Mark {
	switch {
	case math.IsNaN(i.Low) || math.IsNaN(i.High):
		return claim.Open
	case figure < i.Low || figure > i.High:
		return claim.Failed
	case width > widestInterval:
		return claim.Open
	}
	return claim.Passed
}

// primary is against, for which the ladder itself has to pass too: what a law of
// rungs that do not compare, or one that misses its corner, holds or excludes says
// nothing.
func (f *fitted) primary(p publishedFigure) claim.Check {
	c := f.against(p)
	if odd, ok := f.comparable(); !ok {
		c.Outcome, c.Needs = claim.Open, c.Needs+"; "+odd
	}
	if r, ok := f.corner(p.Family); !ok || f.heldOut(p.Metric, r).Outcome != claim.Passed {
		c.Outcome, c.Needs = claim.Open, c.Needs+"; the corner is not predicted"
	}
	return c
}

// heldOut asks whether a law that never saw a rung predicts the mean of its models.
func (f *fitted) heldOut(m *gapMetric, r rung) claim.Check {
	name := fmt.Sprintf("%s, %s, predicted: the corner", m.Name, r.Family)
	said, found, ok := f.predicted(m, r)
	if !ok {
		return noLaw(name)
	}
	return claim.Check{Name: name, Level: claim.Ladder, Needs: fmt.Sprintf("contains %s, the figure of %s", figure.FormatNumber(found, 3), r.short()),
		Value: said, P: math.NaN(), Outcome: held(said, found, 1)}
}

// describe is a law in a paragraph.
func (f *fitted) describe(m *gapMetric, family modelFamily) string {
	l := f.laws[m][family]
	if l == nil {
		return fmt.Sprintf("%s, %s: too few rungs have enough of it for a law.", m.Name, family)
	}
	var powers []string
	for k, a := range family.axes() {
		e := l.exponent(k)
		powers = append(powers, fmt.Sprintf("%s^%.2f [%.2f, %.2f]", a.name, e.Estimate, e.Low, e.High))
	}
	what := m.Name
	if m.share {
		what = "−ln(1 − " + m.Name + ")"
	}
	return fmt.Sprintf("**%s, %s** ∝ %s. R² %.2f over %d rungs, %d to spare; a rung lies within a factor %.2f of the law, a model within %.2f of its rung (one standard deviation).",
		what, family, strings.Join(powers, " · "), l.R2, l.Rungs, l.Free, elementary.Exp(math.Sqrt(l.residual)), elementary.Exp(math.Sqrt(l.within)))
}

// misses says by how much each law misses what is published, how wide it is
// there, and what flips that knew nothing of each other would do.
func (f *fitted) misses(j *claim.Judge) {
	for _, p := range published() {
		l := f.laws[p.Metric][p.Family]
		if l == nil {
			continue
		}
		i := l.model(p.Family.coordinates(p.Size))
		off := elementary.Exp(i.Estimate) / p.Metric.scale(p.Figure)
		way := fmt.Sprintf("%s times too large", figure.FormatNumber(off, 3))
		if off < 1 {
			way = fmt.Sprintf("%s times too small", figure.FormatNumber(1/off, 3))
		}
		unit := ""
		if p.Metric.share {
			unit = " (both as −ln(1 − share))"
		}
		j.Note("%s, %s: published %v, the law's middle is %s%s; its interval there is a factor %s from end to end.", p.Metric.Name, p.Model, p.Figure, way, unit,
			figure.FormatNumber(elementary.Exp(i.High-i.Low), 3))
	}
	if l := f.laws[metricFlips][moeFamily]; l != nil {
		s := published()[0].Size
		rate := metricFlips.figure(l.center(moeFamily.coordinates(s)))
		j.Note("Flips that knew nothing of each other, at the law's %s per decision, would hit %s of the tokens in %d layers; at the published 10 %%, 99 %%. Published: 94 %%.",
			figure.FormatNumber(rate, 3), figure.FormatNumber(1-elementary.Pow(1-rate, float64(s.Layers)), 3), s.Layers)
	}
}

// table has a line per rung.
func (f *fitted) table() *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "Rungs", Columns: []figure.Column{{Name: "rung"}, {Name: "models", Align: figure.Right}, {Name: "entropy", Align: figure.Right}},
		Note: "Means over a rung's models; the base is named by what it is, the others by what sets them apart from it. “If independent” is 1 − (1 − flips)^layers."}
	for _, name := range []string{"answer", "exact KL", "k3", "beyond 2", "flips", "hit", "if independent", "KL, replayed", "beyond 2, replayed", "KL, fp16"} {
		t.Columns = append(t.Columns, figure.Column{Name: name, Align: figure.Right})
	}
	for _, r := range f.rungs {
		mean := func(m *gapMetric) figure.Cell {
			y := m.values(r, f.runs)
			if len(y) == 0 {
				return figure.Word("-")
			}
			return figure.Number(stats.Average(y), 3)
		}
		entry := func(k int) figure.Cell { return mean(&gapMetric{of: listed(k)}) }
		independent := &gapMetric{of: func(r rung, o *claim.Observation) (float64, bool) {
			y, ok := metricFlips.of(r, o)
			return 1 - elementary.Pow(1-y, float64(r.Size.Layers)), ok
		}}
		t.Add(figure.Word(string(r.Family)+", "+r.short()), figure.Word(fmt.Sprint(len(metricKL.values(r, f.runs)))), entry(entropyOf), entry(lengthMean),
			mean(metricKL), mean(metricK3), mean(metricTail), mean(metricFlips), mean(metricHit), mean(independent), mean(metricReplayed), mean(metricReplayedTail), mean(metricFP16))
	}
	return t
}
