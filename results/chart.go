package results

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/stats"
)

// chart is a figure of lines or of dots. Lines that are faint are the seeds of one line.
type chart struct {
	*figure.Figure
	lines  []figure.Series
	points [][]point // of each line
}

func newChart(f *figure.Figure) *chart {
	c := &chart{Figure: f}
	faint := figure.Series{Name: "recorded seeds"}
	for _, s := range f.Series {
		if s.Faint {
			faint.Seeds = append(faint.Seeds, s)
		} else {
			c.lines = append(c.lines, s)
		}
	}
	if faint.Seeds != nil {
		c.lines = append(c.lines, faint)
	}
	for i := range c.lines {
		c.points = append(c.points, c.pointsOf(&c.lines[i]))
	}
	return c
}

// slot is the palette place of arm i, from 0.
func (c *chart) slot(i int) int {
	if s := c.lines[i].Slot; s > 0 {
		return s - 1
	}
	return i
}

// mostBands is how many bands a reader can tell from each other.
const mostBands = 4

// banded reports whether bands are drawn unasked.
func (c *chart) banded() bool { return len(c.lines) <= mostBands }

// values are the values of lines, seed by seed.
func values(lines []figure.Series) (all []float64) {
	for _, a := range lines {
		for _, s := range a.Curves() {
			all = append(all, s.Y...)
		}
	}
	return all
}

// nothing says in words why the y axis shows nothing of lines, or no more than a line at zero; it is empty for all others.
func (c *chart) nothing(lines []figure.Series) string {
	some, zero := false, true
	for _, y := range values(lines) {
		switch {
		case !finite(y):
		case y > 0, y < 0 && !c.Y.Log:
			return ""
		default:
			some, zero = true, zero && y == 0
		}
	}
	switch {
	case !some:
		return "no data"
	case zero:
		return "exactly 0"
	}
	return "never above 0"
}

// empty says what stands in the place of an axis that would show nothing, or a line at zero; it is empty for every other chart.
func (c *chart) empty() string {
	return strings.Replace(c.nothing(c.lines), "exactly 0", "exactly 0 throughout", 1)
}

// point is what the seeds of an arm say together at one X.
type point struct {
	X float64
	// Mean is NaN unless every seed of the arm has a value: a mean over the
	// survivors would hide the seeds that stopped.
	Mean float64
	// Low and High bound the band over the seeds that have a value; NaN where it is not defined.
	Low, High float64
}

// pointsOf are the dots of an arm, or merge its seeds: one point for each X at which any seed has
// an entry, in increasing order. An X that is not finite is nowhere.
func (c *chart) pointsOf(a *figure.Series) []point {
	if c.Kind == figure.Dots {
		var dots []point
		for i, x := range a.X {
			if finite(x) && finite(a.Y[i]) {
				dots = append(dots, summarise(x, a.Y[i:i+1], 1, true))
			}
		}
		return dots
	}
	var xs []float64
	seeds := a.Curves()
	for _, s := range seeds {
		xs = append(xs, s.X...)
	}
	xs = slices.DeleteFunc(xs, func(x float64) bool { return !finite(x) })
	slices.Sort(xs)
	xs = slices.Compact(xs)
	points := make([]point, len(xs))
	at := make([]int, len(seeds)) // next entry of each seed
	values := make([]float64, 0, len(seeds))
	for i, x := range xs {
		values = values[:0]
		for k, s := range seeds {
			// A repeated X keeps its last entry, as a record does.
			for ; at[k] < len(s.X) && !(s.X[at[k]] > x); at[k]++ {
				if s.X[at[k]] == x && finite(s.Y[at[k]]) {
					values = append(values, s.Y[at[k]])
				}
			}
		}
		points[i] = summarise(x, values, len(seeds), c.MeanOnly)
	}
	return points
}

// summarise is one point of an arm with the given number of seeds.
func summarise(x float64, values []float64, seeds int, meanOnly bool) point {
	p := point{X: x, Mean: math.NaN(), Low: math.NaN(), High: math.NaN()}
	if len(values) == seeds {
		p.Mean = stats.Average(values)
	}
	if len(values) > 0 && !meanOnly {
		p.Low, p.High = slices.Min(values), slices.Max(values)
	}
	return p
}

// finite reports whether v is a number that can be drawn.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// notDrawn counts the values of the chart that its axes cannot show: those
// that are not finite and, on a log axis, those at or below zero.
func (c *chart) notDrawn() (notFinite, notPositive int) {
	for _, y := range values(c.lines) {
		if !finite(y) {
			notFinite++
		} else if c.Y.Log && y <= 0 {
			notPositive++
		}
	}
	return notFinite, notPositive
}

// chartView is a chart on a page: the places the script fills, the same curves in numbers for
// those who cannot see or run it, and the data.
type chartView struct {
	*figure.Figure
	Described, Remark string
	Numbers           *figure.Figure
	Data              template.JS
}

func (p *page) chart(f *figure.Figure) chartView {
	c := newChart(f)
	return chartView{f, c.describe(), c.note(p), c.numbers(), template.JS(c.data(p.group + " " + c.X.Label))}
}

// note says what the axes cannot show and, once in a section for each kind of
// band, what lines and bands are.
func (c *chart) note(p *page) string {
	var parts []string
	seeds := 0
	for _, a := range c.lines {
		seeds = max(seeds, len(a.Curves()))
	}
	if kind := fmt.Sprint(p.group, "/", c.MeanOnly); seeds > 1 && !p.explained[kind] {
		p.explained[kind] = true
		parts = append(parts, "Lines are means over seeds, drawn only where every seed has a value.")
		if !c.MeanOnly && c.banded() {
			parts = append(parts, "Bands: lowest to highest seed.")
		}
	}
	if n := c.stride(); n > 1 {
		parts = append(parts, fmt.Sprintf("One step in %d is drawn; the record has all steps.", n))
	}
	bad, low := c.notDrawn()
	if bad > 0 {
		parts = append(parts, fmt.Sprintf("Not finite and left out: %s.", figure.Count(bad, "value")))
	}
	if low > 0 {
		parts = append(parts, fmt.Sprintf("At or below zero and not drawn on a log axis: %s.", figure.Count(low, "value")))
	}
	return strings.Join(parts, " ")
}

// numbers is the chart as a table: where each arm starts, ends, and its extremes.
func (c *chart) numbers() *figure.Figure {
	t := &figure.Figure{Kind: figure.Table,
		Title: c.Title + ": means over seeds",
		Columns: []figure.Column{{Name: "line"}, {Name: "seeds", Align: figure.Right}, {Name: "first", Align: figure.Right}, {Name: "lowest", Align: figure.Right},
			{Name: "highest", Align: figure.Right}, {Name: "last", Align: figure.Right}, {Name: "last at " + c.X.Label, Align: figure.Right}},
	}
	for i, a := range c.lines {
		means := slices.DeleteFunc(slices.Clone(c.points[i]), func(q point) bool { return !finite(q.Mean) })
		row := []figure.Cell{figure.Word(a.Name), figure.Number(float64(len(a.Curves())), 1)}
		row[1].Text = strconv.Itoa(len(a.Curves()))
		if len(means) == 0 {
			t.Add(append(row, figure.Word("no data").As(figure.Muted))...)
			continue
		}
		low, high := means[0].Mean, means[0].Mean
		for _, q := range means {
			low, high = min(low, q.Mean), max(high, q.Mean)
		}
		last := means[len(means)-1]
		t.Add(append(row, figure.Number(means[0].Mean, 3), figure.Number(low, 3), figure.Number(high, 3), figure.Number(last.Mean, 3),
			figure.Cell{Text: tickLabel(last.X), Value: last.X, Numeric: true})...)
	}
	return t
}

// chartData is a chart for the page's script, which makes means and ranges of the seeds itself.
type chartData struct {
	Group  string     `json:"group"`
	XLabel string     `json:"xlabel"`
	Log    bool       `json:"log"`
	Bands  bool       `json:"bands"`
	Range  *numbers   `json:"range,omitempty"`
	Empty  string     `json:"empty,omitempty"`
	Arms   []armData  `json:"arms"`
	Refs   []markData `json:"refs"`
}

// armData is a line. X is left out where it equals the X of the line before.
type armData struct {
	Name   string     `json:"name"`
	Color  string     `json:"color"`
	Dark   string     `json:"dark"`
	Dash   *numbers   `json:"dash,omitempty"`
	Remark string     `json:"remark,omitempty"`
	X      *numbers   `json:"x,omitempty"`
	Seeds  []markData `json:"seeds"`
}

// markData is a curve, or a level.
type markData struct {
	Name string   `json:"name"`
	Y    *numbers `json:"y"`
}

// numbers are written with a number of significant digits, -1 for all, and null for what is not finite.
type numbers struct {
	list   []float64
	digits int
	single bool // the first stands for all
}

// MarshalJSON is a list, or a single number.
func (n *numbers) MarshalJSON() ([]byte, error) {
	var b []byte
	for _, v := range n.list {
		if b = append(b, ','); !finite(v) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, v, 'g', n.digits, 64)
		}
		if n.single {
			return b[1:], nil
		}
	}
	if b == nil {
		return []byte("[]"), nil
	}
	b[0] = '['
	return append(b, ']'), nil
}

// short is a list with more digits than a screen shows.
func short(list ...float64) *numbers { return &numbers{list: list, digits: 6} }

func (c *chart) data(group string) []byte {
	d := chartData{Group: group, XLabel: c.X.Label, Log: c.Y.Log, Bands: c.banded(), Empty: c.empty(), Arms: []armData{}, Refs: []markData{}}
	if c.Y.Low < c.Y.High {
		d.Range = short(c.Y.Low, c.Y.High)
	}
	if d.Empty == "" {
		var before []float64
		for i := range c.lines {
			arm, x := c.armData(i)
			if i > 0 && slices.Equal(x, before) {
				arm.X = nil
			}
			d.Arms, before = append(d.Arms, arm), x
		}
		for _, r := range c.Marks {
			d.Refs = append(d.Refs, markData{r.Name, &numbers{[]float64{r.At}, 6, true}})
		}
	}
	text, _ := json.Marshal(d) // texts and numbers cannot fail
	return text
}

// armData is line i with its x.
func (c *chart) armData(i int) (d armData, x []float64) {
	a := &c.lines[i]
	stride := c.stride()
	for k, q := range c.points[i] {
		if k%stride == 0 || k == len(c.points[i])-1 {
			x = append(x, q.X)
		}
	}
	slot := c.slot(i)
	d = armData{Name: a.Name, Color: hex(armColor(slot)), Dark: hex(darkPalette[slot%len(palette)]), X: &numbers{list: x, digits: -1}, Seeds: []markData{},
		Remark: c.undrawn(i)}
	if dash := armDash(slot); dash != nil {
		d.Dash = short(dash...)
	}
	for _, s := range a.Curves() {
		y := on(&s, x)
		flat := len(y) > 0 && finite(y[0]) && !slices.ContainsFunc(y, func(v float64) bool { return v != y[0] })
		d.Seeds = append(d.Seeds, markData{s.Name, &numbers{y, 4, flat}})
	}
	return d, x
}

// stride is how many steps lie between two that the page draws.
func (c *chart) stride() int {
	if c.Most == 0 {
		return 1
	}
	return (len(values(c.lines)) + c.Most - 1) / c.Most
}

// on places the curve's values on xs, which contains its X; NaN elsewhere.
func on(s *figure.Series, xs []float64) []float64 {
	out := make([]float64, len(xs))
	at := 0
	for i, x := range xs {
		out[i] = math.NaN()
		for ; at < len(s.X) && s.X[at] <= x; at++ {
			out[i] = s.Y[at]
		}
	}
	return out
}
