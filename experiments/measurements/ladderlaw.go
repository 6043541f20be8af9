package measurements

import (
	"cmp"
	_ "embed" // of the heads of tables
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/judge"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

//go:embed heads.yaml
var headsText []byte

// head is a table of this package without its rows.
var head = figure.Heads(headsText)

// rungPoint is a rung as a law sees it.
type rungPoint struct {
	// X are the coordinates of its size: logarithms over the base's.
	X []float64
	// Y are the logarithms of a figure, one per model.
	Y []float64
}

// sizeLaw is a line in logarithms: log y = a + Σ b_axis·log(x_axis/base), a power of
// each axis and products over axes. The rung is the unit of its residuals, since
// the models of a rung miss the law together; within a rung the model is the unit.
// So the scatter of rungs about the law holds both lack of fit and models.
type sizeLaw struct {
	// Coefficients are the intercept, then an exponent per axis.
	Coefficients []float64
	// Rungs is how many it was fitted to, and Free how many more they are than
	// the coefficients.
	Rungs, Free int
	// R2 is the share of the variance of the rungs' means that it explains.
	R2 float64

	residual float64     // mean square of the rungs' means about the law
	within   float64     // variance of models within a rung
	inverse  [][]float64 // of the normal matrix, by columns
}

// fitLaw is the law through the means of the points by least squares, nil where
// they do not determine it with a residual to spare.
func fitLaw(points []rungPoint) *sizeLaw {
	if len(points) == 0 {
		return nil
	}
	k := len(points[0].X) + 1
	columns, y := make([][]float64, k), make([]float64, len(points))
	var within, models float64
	for i, p := range points {
		for c, v := range designRow(p.X) {
			columns[c] = append(columns[c], v)
		}
		y[i] = stats.Average(p.Y)
		for _, v := range p.Y {
			within += float64((v - y[i]) * (v - y[i]))
		}
		models += float64(len(p.Y) - 1)
	}
	beta, ok := stats.Solve(columns, y)
	l := &sizeLaw{Coefficients: beta, Rungs: len(points), Free: len(points) - k}
	if !ok || l.Free < 1 || !l.invert(columns) {
		return nil
	}
	if models > 0 {
		l.within = within / models
	}
	mean, all := stats.Average(y), 0.0
	for i, p := range points {
		off := y[i] - l.center(p.X)
		l.residual += float64(off * off)
		all += float64((y[i] - mean) * (y[i] - mean))
	}
	l.R2 = 1 - l.residual/all
	l.residual /= float64(l.Free)
	return l
}

func designRow(x []float64) []float64 { return append([]float64{1}, x...) }

// invert fills the inverse of the normal matrix.
func (l *sizeLaw) invert(columns [][]float64) bool {
	k := len(columns)
	normal := make([][]float64, k)
	for a := range normal {
		for b := range columns {
			normal[a] = append(normal[a], stats.Dot(columns[a], columns[b]))
		}
	}
	l.inverse = make([][]float64, k)
	for a := range l.inverse {
		unit := make([]float64, k)
		unit[a] = 1
		column, ok := stats.Solve(normal, unit)
		if !ok {
			return false
		}
		l.inverse[a] = column
	}
	return true
}

func (l *sizeLaw) center(x []float64) float64 { return stats.Dot(l.Coefficients, designRow(x)) }

// exponent is the exponent of an axis, with its 95 % interval.
func (l *sizeLaw) exponent(axis int) stats.Interval {
	return l.interval(l.Coefficients[axis+1], l.residual*l.inverse[axis+1][axis+1])
}

// model is the logarithm of the figure that one model of a size has, with the 95 %
// interval of a new one: of the law, of a rung about it and of a model about its
// rung.
func (l *sizeLaw) model(x []float64) stats.Interval {
	return l.interval(l.center(x), float64(l.residual*(1+l.leverage(x)))+l.within)
}

// mean is the same for the mean of many models.
func (l *sizeLaw) mean(x []float64) stats.Interval {
	return l.interval(l.center(x), l.residual*(1+l.leverage(x)))
}

// leverage is the variance of the law's own estimate at a size over the residual variance.
func (l *sizeLaw) leverage(x []float64) float64 {
	r := designRow(x)
	sum := 0.0
	for a, column := range l.inverse {
		sum += float64(r[a] * stats.Dot(column, r))
	}
	return sum
}

func (l *sizeLaw) interval(center, variance float64) stats.Interval {
	half := float64(stats.StudentQuantile(float64(l.Free)) * math.Sqrt(variance))
	return stats.Interval{Estimate: center, Low: center - half, High: center + half, N: l.Rungs}
}

// gapMetric is a figure of a model that a law is fitted to.
type gapMetric struct {
	// Name is the name of the metric.
	Name string
	// share is a metric that cannot exceed 1. Its law is of the hazard −ln(1−y),
	// in which shares of layers that flip independently add up.
	share bool
	// pooled is a share of rare tokens: a rung's figure is taken over all its models.
	pooled bool
	// equalLoss is a figure of the dense ladder of equal loss.
	equalLoss bool
	// entry is the place in a rung's list, or in its list of fp16; over is the place of the divisor, if there is one, and times its factor.
	entry int
	fp16  bool
	over  int
	times float64
}

// of reads the metric of a rung in an observation.
func (m *gapMetric) of(r rung, o *claim.Observation) (y float64, ok bool) {
	name := r.Name()
	if m.fp16 {
		name = fp16Of(r)
	}
	if !o.Has(name) || m.entry >= len(o.List(name)) {
		return 0, false
	}
	y = o.List(name)[m.entry]
	if m.over > 0 {
		y /= o.List(name)[m.over] * cmp.Or(m.times, 1)
	}
	return y, true
}

// The metrics.
var (
	metricKL           = &gapMetric{Name: "exact KL", entry: exactKL}
	metricK3           = &gapMetric{Name: "k3", entry: k3PerToken}
	metricSequence     = &gapMetric{Name: "sequence KL", entry: sequenceKL}
	metricTail         = &gapMetric{Name: "tokens beyond a factor 2", share: true, pooled: true, entry: beyondTwo, over: tokenCount}
	metricFlips        = &gapMetric{Name: "flips per decision", share: true, entry: flipShare}
	metricHit          = &gapMetric{Name: "tokens hit by a flip", share: true, entry: hitShare}
	metricReplayed     = &gapMetric{Name: "exact KL, routes replayed", entry: replayedKL}
	metricReplayedTail = &gapMetric{Name: "tokens beyond a factor 2, routes replayed", share: true, pooled: true, entry: replayedTwo, over: tokenCount}
	metricFP16         = &gapMetric{Name: "exact KL, fp16", fp16: true, entry: fp16KL}
	metricSequenceFP16 = &gapMetric{Name: "sequence KL, fp16", fp16: true, entry: fp16SequenceKL}
)

// The metrics of dense-kl-law: the KL of raised logits over their rounding, of which a step of fp16 has an eighth, and the KL as trained.
var (
	lawOther     = &gapMetric{equalLoss: true, Name: "exact KL over rounding of logits, rounding in other places", entry: otherHigher, over: roundingHigher}
	lawOrder     = &gapMetric{equalLoss: true, Name: "exact KL over rounding of logits, order of sums", entry: higher, over: roundingHigher}
	lawFP16      = &gapMetric{equalLoss: true, Name: "exact KL over rounding of logits, fp16", entry: higherFP16, over: roundingHigher, times: fp16Steps}
	trainedOrder = &gapMetric{equalLoss: true, Name: "exact KL, logits as trained, order of sums", entry: asTrained}
	trainedOther = &gapMetric{equalLoss: true, Name: "exact KL, logits as trained, rounding in other places", entry: otherAsTrained}
)

// fp16Steps is the square of a step of fp16 over one of bf16.
const fp16Steps = 1.0 / 64

// ladderMetrics are all of them.
var ladderMetrics = []*gapMetric{metricKL, metricK3, metricSequence, metricTail, metricFlips, metricHit, metricReplayed, metricReplayedTail, metricFP16, metricSequenceFP16,
	lawOther, lawOrder, trainedOrder, trainedOther, lawFP16}

func metricNamed(name string) *gapMetric {
	return meant(ladderMetrics, "metric "+name, func(m *gapMetric) bool { return m.Name == name })
}

// meant is the first entry that is meant; claims name no others.
func meant[T any](list []T, what string, is func(T) bool) T {
	i := slices.IndexFunc(list, is)
	if i < 0 {
		panic("measurements: there is no " + what)
	}
	return list[i]
}

// values of a rung, one per replication that has a model of it.
func (m *gapMetric) values(r rung, runs []*claim.Observation) []float64 {
	var out []float64
	for _, o := range runs {
		if y, ok := m.of(r, o); ok {
			out = append(out, y)
		}
	}
	return out
}

// leastEvents is how many rare tokens a rung needs for a figure.
const leastEvents = 50

// logs are the logarithms that a law is fitted to. Where a model has none of
// what is counted, or few enough that the metric is pooled, the rung has the
// logarithm of the mean for one; without any it has nothing.
func (m *gapMetric) logs(r rung, runs []*claim.Observation) []float64 {
	y := m.values(r, runs)
	if len(y) == 0 {
		return nil
	}
	mean, least := stats.Average(y), slices.Min(y)
	if m.pooled && mean*stats.Average((&gapMetric{entry: tokenCount}).values(r, runs))*float64(len(y)) < leastEvents || !(mean > 0) {
		return nil
	}
	if m.pooled || least <= 0 {
		y = []float64{mean}
	}
	return stats.Each(y, func(v float64) float64 { return elementary.Log(m.scale(v)) })
}

// scale is the quantity whose logarithm a law is fitted to; figure is the inverse.
func (m *gapMetric) scale(y float64) float64 {
	if m.share {
		return -elementary.Log(1 - y)
	}
	return y
}

// figure turns a logarithm back into the metric.
func (m *gapMetric) figure(log float64) float64 {
	if m.share {
		return -elementary.Expm1(-elementary.Exp(log))
	}
	return elementary.Exp(log)
}

// interval turns the ends of an interval of logarithms back.
func (m *gapMetric) interval(i stats.Interval) stats.Interval {
	i.Estimate, i.Low, i.High = m.figure(i.Estimate), m.figure(i.Low), m.figure(i.High)
	return i
}

// width is how many times the upper end is the lower, on the law's own scale.
func (m *gapMetric) width(i stats.Interval) float64 {
	if low := m.scale(i.Low); low > 0 {
		return m.scale(i.High) / low
	}
	return math.Inf(1)
}

// The models whose figures are published, as large as the config.json of each says.
// The lengths of their answers are worth less: see the claim's source.
var (
	qwen3MoE   = modelSize{Layers: 48, Width: 2048, Vocabulary: 151936, Experts: 128, TopK: 8, Length: 10000}
	qwen3Dense = modelSize{Layers: 36, Width: 4096, Vocabulary: 151936, Length: 10000}
	distill    = modelSize{Layers: 28, Width: 1536, Vocabulary: 151936, Length: 7600}
)

// publishedFigure is a figure that a paper reports, and the size it belongs to.
type publishedFigure struct {
	Metric *gapMetric
	Family modelFamily
	Size   modelSize
	Figure float64
	// Model and Source say of which model it is, and who reports it.
	Model, Source string
}

const (
	r3Paper   = "R3, 2510.11370"
	fp16Paper = "2510.26788"
)

// publishedFigures are the figures that the laws are compared with.
var publishedFigures = []publishedFigure{
	{metricKL, moeFamily, qwen3MoE, 1.535e-3, "Qwen3-30B-A3B", r3Paper},
	{metricReplayed, moeFamily, qwen3MoE, 7.5e-4, "Qwen3-30B-A3B", r3Paper},
	{metricFlips, moeFamily, qwen3MoE, 0.10, "Qwen3-30B-A3B", r3Paper},
	{metricHit, moeFamily, qwen3MoE, 0.94, "Qwen3-30B-A3B", r3Paper},
	{metricKL, denseFamily, qwen3Dense, 6.4e-4, "Qwen3-8B", r3Paper},
	{metricSequence, denseFamily, distill, 7.64, "DeepSeek-R1-Distill-Qwen-1.5B", fp16Paper},
	{metricSequenceFP16, denseFamily, distill, 0.32, "DeepSeek-R1-Distill-Qwen-1.5B", fp16Paper},
}

// publishedFigureOf is the published figure of a metric and a model; the metrics of the ladder of equal loss are KLs, too.
func publishedFigureOf(metric, model string) publishedFigure {
	return meant(publishedFigures, "published "+metric+" of "+model, func(p publishedFigure) bool { return p.Metric.Name == metric && p.Model == model })
}

// What a fit has to be before its word at the published size counts. They were
// written before any gap was measured.
const (
	lowestEntropy  = 0.70
	highestEntropy = 0.95
	widestInterval = 100
)

// ladderRungs are the rungs that were measured.
type ladderRungs struct {
	rungs []rung
	runs  []*claim.Observation
}

// measuredRungs are the rungs of a metric's ladder that the runs have.
func measuredRungs(j *claim.Judge, m *gapMetric) *ladderRungs {
	all := allRungs
	if m.equalLoss {
		all = lawRungs
	}
	f := &ladderRungs{runs: j.Runs}
	for _, r := range all() {
		if len(metricKL.values(r, j.Runs)) > 0 {
			f.rungs = append(f.rungs, r)
		}
	}
	return f
}

// law is the law fitted to a metric of a family; nil where the rungs do not determine it.
func (f *ladderRungs) law(m *gapMetric, family modelFamily) *sizeLaw {
	return fitLaw(f.points(m, family, nil))
}

// points are what a law of a family is fitted to: every rung but the corners, and
// but one that is left out.
func (f *ladderRungs) points(m *gapMetric, family modelFamily, without *rung) []rungPoint {
	var list []rungPoint
	for _, r := range f.rungs {
		if r.Family != family || r.Corner || without != nil && r.Size == without.Size {
			continue
		}
		if y := m.logs(r, f.runs); len(y) > 0 {
			list = append(list, rungPoint{family.coordinates(r.Size), y})
		}
	}
	return list
}

// extreme is the corner of a family, or the highest rung of an axis that differs from the base along it alone; nil
// where it was not measured.
func (f *ladderRungs) extreme(family modelFamily, where string) (found *rung) {
	k := slices.IndexFunc(sizeAxes, func(a axis) bool { return a.name == where }) // -1: the corner
	for i := range f.rungs {
		r := &f.rungs[i]
		switch {
		case r.Family != family || r.Corner != (k < 0):
		case r.Corner:
			return r
		case *sizeAxes[k].of(&r.Size) > *sizeAxes[k].of(&baseSize) && (found == nil || *sizeAxes[k].of(&r.Size) > *sizeAxes[k].of(&found.Size)):
			found = r
		}
	}
	return found
}

// predicted is what the law, fitted without an extreme rung, says of it, in the metric's own
// unit, and what was found; false where there is no law, or nothing to compare.
func (f *ladderRungs) predicted(m *gapMetric, family modelFamily, where string) (r *rung, said stats.Interval, found float64, ok bool) {
	if r = f.extreme(family, where); r == nil {
		return r, said, found, false
	}
	y := m.logs(*r, f.runs)
	l := fitLaw(f.points(m, r.Family, r))
	if l == nil || len(y) == 0 {
		return r, said, found, false
	}
	return r, m.interval(l.mean(r.Family.coordinates(r.Size))), m.figure(stats.Average(y)), true
}

// comparable reports whether every rung's mean entropy lies in its band, and
// names the first that does not.
func (f *ladderRungs) comparable() (string, bool) {
	entropy := &gapMetric{entry: entropyOf}
	for _, r := range f.rungs {
		if h := stats.Average(entropy.values(r, f.runs)); !(h >= lowestEntropy && h <= highestEntropy) {
			return fmt.Sprintf("%s %s has %.2f nats per token", r.Family, r.short(), h), false
		}
	}
	return "", true
}

// ofLaw is a check of what a law says, which is no test.
func ofLaw(needs string, i stats.Interval, m judge.Mark) judge.Check {
	return judge.Check{Needs: needs, Value: i, P: math.NaN(), Outcome: m}
}

func noLaw() judge.Check {
	nan := math.NaN()
	return ofLaw("a law", stats.Interval{Estimate: nan, Low: nan, High: nan}, judge.Open)
}

// holdsPublished asks whether a law's interval for one model of a published size holds the published figure; its texts are
// the metric and the model.
func holdsPublished(j *claim.Judge, texts []string) judge.Check {
	p := publishedFigureOf(texts[0], texts[1])
	l := measuredRungs(j, p.Metric).law(p.Metric, p.Family)
	if l == nil {
		return noLaw()
	}
	i := p.Metric.interval(l.model(p.Family.coordinates(p.Size)))
	return ofLaw(fmt.Sprintf("holds %v (%s), at most a factor %d wide", p.Figure, p.Source, widestInterval), i, holds(i, p.Figure, p.Metric.width(i)))
}

func holds(i stats.Interval, figure, width float64) judge.Mark {
	switch {
	case math.IsNaN(i.Low) || math.IsNaN(i.High):
		return judge.Open
	case figure < i.Low || figure > i.High:
		return judge.Failed
	case width > widestInterval:
		return judge.Open
	}
	return judge.Passed
}

// holdsAndPasses is holdsPublished, for which the ladder itself has to pass too: what a law of rungs that do not compare, or one
// that misses its corner, holds or excludes says nothing.
func holdsAndPasses(j *claim.Judge, texts []string) judge.Check {
	c, p := holdsPublished(j, texts), publishedFigureOf(texts[0], texts[1])
	if odd, ok := measuredRungs(j, p.Metric).comparable(); !ok {
		c.Outcome, c.Needs = judge.Open, c.Needs+"; "+odd
	}
	if predictsRung(j, []string{texts[0], string(p.Family), "corner"}).Outcome != judge.Passed {
		c.Outcome, c.Needs = judge.Open, c.Needs+"; the corner is not predicted"
	}
	return c
}

// predictsRung asks whether a law that never saw a rung predicts the mean of its models; its texts are the metric, the family, and
// corner or the axis whose top rung it is.
func predictsRung(j *claim.Judge, texts []string) judge.Check {
	m, family := metricNamed(texts[0]), modelFamily(texts[1])
	r, said, found, ok := measuredRungs(j, m).predicted(m, family, texts[2])
	if !ok {
		return noLaw()
	}
	return ofLaw(fmt.Sprintf("contains %s, the figure of %s", figure.FormatNumber(found, 3), r.short()), said, holds(said, found, 1))
}

// lawNote is a law in a paragraph; its texts are the metric and the family.
func lawNote(j *claim.Judge, texts []string) string {
	m, family := metricNamed(texts[0]), modelFamily(texts[1])
	l := measuredRungs(j, m).law(m, family)
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

// missNote says by how much a law misses what is published, and how wide it is there; its texts are the metric and the model.
func missNote(j *claim.Judge, texts []string) string {
	p := publishedFigureOf(texts[0], texts[1])
	l := measuredRungs(j, p.Metric).law(p.Metric, p.Family)
	if l == nil {
		return ""
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
	return fmt.Sprintf("%s, %s: published %v, the law's middle is %s%s; its interval there is a factor %s from end to end.", p.Metric.Name, p.Model, p.Figure, way, unit,
		figure.FormatNumber(elementary.Exp(i.High-i.Low), 3))
}

// flipsNote says what flips that knew nothing of each other would do.
func flipsNote(j *claim.Judge, _ []string) string {
	l := measuredRungs(j, metricFlips).law(metricFlips, moeFamily)
	if l == nil {
		return ""
	}
	s := publishedFigures[0].Size
	rate := metricFlips.figure(l.center(moeFamily.coordinates(s)))
	return fmt.Sprintf("Flips that knew nothing of each other, at the law's %s per decision, would hit %s of the tokens in %d layers; at the published 10 %%, 99 %%. Published: 94 %%.",
		figure.FormatNumber(rate, 3), figure.FormatNumber(1-elementary.Pow(1-rate, float64(s.Layers)), 3), s.Layers)
}

func rungTable(j *claim.Judge) *figure.Figure {
	f := measuredRungs(j, metricKL)
	t := head("rungs")
	for _, r := range f.rungs {
		number := func(y []float64) figure.Cell {
			if len(y) == 0 {
				return figure.Word("-")
			}
			return figure.Number(stats.Average(y), 3)
		}
		cells := []figure.Cell{figure.Word(string(r.Family) + ", " + r.short()), figure.Word(fmt.Sprint(len(metricKL.values(r, f.runs))))}
		values := func(m *gapMetric) figure.Cell { return number(m.values(r, f.runs)) }
		cells = append(cells, stats.Map([]*gapMetric{{entry: entropyOf}, {entry: lengthMean}, metricKL, metricK3, metricTail, metricFlips, metricHit}, values)...)
		cells = append(cells, number(stats.Each(metricFlips.values(r, f.runs), func(y float64) float64 { return 1 - elementary.Pow(1-y, float64(r.Size.Layers)) })))
		t.Add(append(cells, stats.Map([]*gapMetric{metricReplayed, metricReplayedTail, metricFP16}, values)...)...)
	}
	return t
}

// What the law of dense-kl-law has to be, written before any of its gaps was measured.
const (
	// withinFactor is how near the law has to come to a published figure, and cornerFactor to the corner.
	withinFactor = 3
	cornerFactor = 1.5
	// lossBand is how far the mean held-out loss of a rung may be from that of the base, in nats.
	lossBand = 0.04
)

// denseLaw are the rungs of equal loss with the level that quotients by rounding are of.
type denseLaw struct {
	*ladderRungs
	rounding float64 // logarithm of the base's KL by rounding alone
}

func denseLawOf(j *claim.Judge) *denseLaw {
	return &denseLaw{measuredRungs(j, lawOther), stats.Average(stats.Logs(j.Each(func(o *claim.Observation) float64 { return o.List(lawRungs()[0].Name())[roundingHigher] })))}
}

// over is a law's prediction at a published size over the published figure: the interval of one model. Metrics
// over rounding are at the base's, and a sequence KL is per token times the length.
func (d *denseLaw) over(m *gapMetric, p publishedFigure) (stats.Interval, bool) {
	l := d.law(m, denseFamily)
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

// comesNearPublished asks whether a law of the ladder of equal loss comes near a published figure; its texts are the metric and
// the model.
func comesNearPublished(j *claim.Judge, texts []string) judge.Check {
	d, m := denseLawOf(j), metricNamed(texts[0])
	p := densePublished(m, texts[1])
	i, ok := d.over(m, p)
	if !ok {
		return noLaw()
	}
	return ofLaw(fmt.Sprintf("interval inside [1/%d, %d], published %v (%s)", withinFactor, withinFactor, p.Figure, p.Source), i, comesNear(i, withinFactor))
}

// densePublished is the figure that a metric of the ladder of equal loss is compared with: the first KL of the model, in its format.
func densePublished(m *gapMetric, model string) publishedFigure {
	return meant(publishedFigures, "published KL of "+model, func(p publishedFigure) bool {
		return p.Model == model && p.Family == denseFamily && (p.Metric == metricSequenceFP16) == (m == lawFP16)
	})
}

// comesNear is what becomes of a prediction over a figure that has to lie within a factor.
func comesNear(i stats.Interval, factor float64) judge.Mark {
	switch {
	case i.Low >= 1/factor && i.High <= factor:
		return judge.Passed
	case i.High < 1/factor || i.Low > factor:
		return judge.Failed
	}
	return judge.Open // NaN is neither
}

// comesNearBoth needs two models, its texts after the metric; it shows the farther one. Without comparable rungs, or a law that
// predicts its corner, nothing follows.
func comesNearBoth(j *claim.Judge, texts []string) judge.Check {
	a, b := comesNearPublished(j, texts[:2]), comesNearPublished(j, []string{texts[0], texts[2]})
	far := a
	if math.Abs(elementary.Log(b.Value.Estimate)) > math.Abs(elementary.Log(a.Value.Estimate)) {
		far = b
	}
	far.Needs = fmt.Sprintf("interval inside [1/%d, %d] at both sizes", withinFactor, withinFactor)
	switch {
	case a.Outcome == judge.Failed || b.Outcome == judge.Failed:
		far.Outcome = judge.Failed
	case a.Outcome != judge.Passed || b.Outcome != judge.Passed:
		far.Outcome = judge.Open
	}
	if odd, ok := denseLawOf(j).evenLoss(); !ok {
		far.Outcome, far.Needs = judge.Open, far.Needs+"; "+odd
	}
	if comesNearCorner(j, texts[:1]).Outcome != judge.Passed {
		far.Outcome, far.Needs = judge.Open, far.Needs+"; the corner is not predicted"
	}
	return far
}

// evenLoss reports whether each rung's mean loss is near the base's, and names the first that is not.
func (d *denseLaw) evenLoss() (string, bool) {
	loss := &gapMetric{entry: lawLoss}
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

// comesNearCorner asks whether the law of a metric comes near the corner, which it was not fitted to.
func comesNearCorner(j *claim.Judge, texts []string) judge.Check {
	m := metricNamed(texts[0])
	_, said, found, ok := measuredRungs(j, m).predicted(m, denseFamily, "corner")
	if !ok {
		return noLaw()
	}
	i := stats.Interval{Estimate: said.Estimate / found, Low: said.Low / found, High: said.High / found, N: said.N}
	return ofLaw(fmt.Sprintf("interval inside [1/%v, %v]", cornerFactor, cornerFactor), i, comesNear(i, cornerFactor))
}

// widthExponents are the exponents of width, one per run that has all the rungs, of entry k, the second text; the first says
// whether rungs have the loss or the steps of the base.
func widthExponents(j *claim.Judge, _, texts []string) (slopes []float64) {
	f := measuredRungs(j, lawOther)
	rungs, name := f.along(denseFamily, sizeAxes[1])[1:], rung.Name
	if texts[0] == "equal steps" {
		rungs, name = evenSteps(), evenName
	}
	k := claim.Must(strconv.Atoi(texts[1]))
	for _, o := range j.Runs {
		x, y := []float64{0}, []float64{elementary.Log(o.List(lawRungs()[0].Name())[k])}
		for _, r := range rungs {
			if o.Has(name(r)) {
				x, y = append(x, elementary.Log(float64(r.Size.Width)/float64(baseSize.Width))), append(y, elementary.Log(o.List(name(r))[k]))
			}
		}
		if len(x) > len(rungs) {
			slopes = append(slopes, stats.Slope(x, y))
		}
	}
	return slopes
}

// equalLossTable has a line per rung, and one per rung with the steps of the base.
func equalLossTable(j *claim.Judge) *figure.Figure {
	t := head("rungs of equal loss")
	columns := []int{lawLoss, lawEntropy, logitAsTrained, asTrained, otherAsTrained, logitHigher, higher, otherHigher, roundingHigher, higherFP16}
	line := func(title string, steps int, name string) {
		var cells []figure.Cell
		n := 0
		for _, c := range columns {
			var values []float64
			for _, o := range j.Runs {
				if o.Has(name) {
					values = append(values, o.List(name)[c])
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

// equalLossPicture has a panel per axis: the KL as trained, and with logits raised.
func equalLossPicture(j *claim.Judge) *figure.Figure {
	d := measuredRungs(j, lawOther)
	p := &figure.Figure{Kind: figure.Multiples, Title: "Exact KL of dense models at equal loss: means, and the range of the models"}
	for _, a := range denseFamily.axes() {
		p.Parts = append(p.Parts, d.panel("By "+a.name, "exact KL, nats per token", a, curve{"logits as trained, order of sums", trainedOrder, denseFamily, 1},
			curve{"logits as trained, rounding in other places", trainedOther, denseFamily, 2}, curve{"logits raised, rounding in other places", &gapMetric{entry: otherHigher}, denseFamily, 3},
			curve{"rounding of the raised logits alone", &gapMetric{entry: roundingHigher}, denseFamily, 4}))
	}
	return p
}
