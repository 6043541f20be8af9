package claim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/study/judge"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// filePicture is bars or lines. Bars stand for the texts of Bars, or for arms; a group of them,
// one colour, has a value for each, in which $bar is the bar's text and $k its place, or Values.
// Arms have
// one group per learning rate, of one value, in which $arm is the arm.
type filePicture struct {
	Title, Label, Note string
	Log                bool
	// High is the top of the axis; 0 leaves it to the data.
	High float64

	Bars   []string
	Groups []barGroup
	Arms   []string
	Value  string

	// X is the label of the horizontal axis of lines. Over is x, of the first run; without it x is
	// 1, 2, ... or what a line says.
	X, Over string
	Lines   []struct{ Name, X, Y string }
	// Marks are numbers on the vertical axis.
	Marks []struct{ Name, At string }

	// Function draws it in the place of all these.
	Function string
}

// barGroup is a colour of bars.
type barGroup struct {
	Name, Value string
	Values      []string
}

// of is the expression of a bar.
func (g *barGroup) of(bar string, k int) string {
	if len(g.Values) > 0 {
		return g.Values[k]
	}
	return strings.NewReplacer("$arm", bar, "$bar", bar, "$k", strconv.Itoa(k)).Replace(g.Value)
}

// draw is the picture of the observations.
func (p *filePicture) draw(s scope) *figure.Figure {
	if p.Function != "" {
		return s.lib.Figures[p.Function](s.j)
	}
	if len(p.Lines) > 0 {
		return p.lines(s)
	}
	b := &figure.Figure{Kind: figure.Bars, Title: p.Title, Y: figure.Axis{Label: p.Label, Log: p.Log, High: p.High}, Labels: slices.Concat(p.Bars, p.Arms), Note: p.Note}
	// A group is of geometric or plain means, with intervals over replications as whiskers.
	group := func(s scope, name string, g *barGroup) {
		out := figure.Series{Name: name}
		for k, bar := range b.Labels {
			i := stats.T(s.evaluate(g.of(bar, k)))
			out.Y, out.Low, out.High = append(out.Y, i.Estimate), append(out.Low, i.Low), append(out.High, i.High)
		}
		b.Series = append(b.Series, out)
	}
	for i := range p.Groups {
		group(s, p.Groups[i].Name, &p.Groups[i])
	}
	if len(p.Arms) > 0 {
		for _, rate := range s.rates {
			one := s
			one.rates = []string{rate}
			group(one, "lr "+rate, &barGroup{Value: p.Value})
		}
	}
	return b
}

// lines has a curve of every run.
func (p *filePicture) lines(s scope) *figure.Figure {
	one := s.single()
	c := Chart(p.Title, p.X, p.Label, p.Note, p.Log)
	c.Y.High = p.High
	for _, m := range p.Marks {
		c.Marks = append(c.Marks, figure.Mark{Name: m.Name, At: s.number(m.At)})
	}
	for _, l := range p.Lines {
		series := figure.Series{Name: l.Name}
		ys := one.lists(l.Y)
		for i, y := range ys {
			x := Counting(len(y))
			switch {
			case l.X != "":
				x = one.lists(l.X)[i]
			case p.Over != "":
				x = one.lists(p.Over)[0][:len(y)]
			}
			series.Seeds = append(series.Seeds, figure.Series{Name: fmt.Sprintf("seed %d", s.j.Seeds[i]), X: x, Y: y})
		}
		c.Series = append(c.Series, series)
	}
	return c
}

// fileTable is a table of means over replications: of expressions by row and column, or of the
// entries of figures, a column each, in named rows or over the numbers of an expression.
type fileTable struct {
	Title, Note string
	Columns     []string
	// Rows are written out. A cell is an expression, or a word after "=".
	Rows []tableRow
	// Digits are the numbers of digits of the cells' columns, 3 where there is none.
	Digits []int

	// Row is the heading of the rows of figures, which are Names, or numbers Over the first run; without either they have none.
	Row     string
	Names   []string
	Over    string
	Figures []string

	// Function makes it in the place of all these.
	Function string
}

// tableRow is a row that is written out.
type tableRow struct {
	Name  string
	Cells []string
}

// draw is the table of the observations.
func (t *fileTable) draw(s scope) *figure.Figure {
	switch {
	case t.Function != "":
		return s.lib.Figures[t.Function](s.j)
	case len(t.Figures) > 0:
		return t.means(s)
	}
	out := &figure.Figure{Kind: figure.Table, Title: t.Title, Note: t.Note}
	for i, name := range t.Columns {
		words := i == 0 || !slices.ContainsFunc(t.Rows, func(r tableRow) bool { return !strings.HasPrefix(r.Cells[i-1], "=") })
		out.Columns = append(out.Columns, figure.Column{Name: name, Align: figure.Align(!words)})
	}
	for _, r := range t.Rows {
		row := []figure.Cell{figure.Word(r.Name)}
		for i, text := range r.Cells {
			if word, ok := strings.CutPrefix(text, "="); ok {
				row = append(row, figure.Word(word))
				continue
			}
			digits := 3
			if i < len(t.Digits) {
				digits = t.Digits[i]
			}
			row = append(row, figure.Number(stats.Average(s.evaluate(text)), digits))
		}
		out.Add(row...)
	}
	return out
}

// means lists the means of figures, over named rows or numbers if there are any.
func (t *fileTable) means(s scope) *figure.Figure {
	out := &figure.Figure{Kind: figure.Table, Title: t.Title, Note: cmp.Or(t.Note, "Means over replications.")}
	rows, n := t.Names, len(s.j.Mean(t.Figures[0]))
	if t.Over != "" {
		rows = append(rows, stats.Map(s.single().lists(t.Over)[0], func(x float64) string { return fmt.Sprintf("%.4g", x) })...)
	}
	if rows != nil {
		out.Columns, n = []figure.Column{{Name: t.Row, Align: figure.Align(t.Over != "")}}, len(rows)
	}
	for _, c := range t.Figures {
		out.Columns = append(out.Columns, figure.Column{Name: c, Align: figure.Right})
	}
	for k := range n {
		var row []figure.Cell
		if rows != nil {
			row = figure.Words(rows[k])
		}
		for _, c := range t.Figures {
			cell := figure.Word("-")
			if m := s.j.Mean(c); k < len(m) {
				cell = figure.Number(m[k], 3)
			}
			row = append(row, cell)
		}
		out.Add(row...)
	}
	return out
}

// fileNote is a finding, unless the value of When is 0 or the text is empty: a text with a verb of fmt for each of
// the expressions Of, or what a function of the library says of texts.
type fileNote struct {
	When, Text string
	Of         []string
	Function   string
	Texts      []string
}

// add adds the note.
func (n *fileNote) add(s scope) {
	if n.When != "" && s.number(n.When) == 0 {
		return
	}
	if n.Function != "" {
		if text := s.lib.Notes[n.Function](s.j, n.Texts); text != "" {
			s.j.Note("%s", text)
		}
		return
	}
	s.j.Note(n.Text, stats.Map(n.Of, func(text string) any { return s.number(text) })...)
}

// shares counts the runs, one of each replication and learning rate, of which an expression is
// not 0.
func (s scope) shares(text string) judge.Shares {
	out, events := judge.Shares{Runs: len(s.rates) * len(s.j.Runs)}, make([]float64, len(s.j.Runs))
	for _, rate := range s.rates {
		one := s.single()
		one.rate, one.rates = rate, []string{rate}
		for i, v := range one.evaluate(text) {
			if v != 0 {
				events[i]++
				out.Events++
			}
		}
	}
	out.By = s.j.Means(stats.Each(events, func(n float64) float64 { return n / float64(len(s.rates)) }))
	return out
}

// collapses counts the runs of an arm that collapse.
func (s scope) collapses(arm string) judge.Shares {
	return s.shares(fmt.Sprintf("collapsed(%q)", AtLR(arm, "$rate")))
}

// Counting is 1, 2, ..., n.
func Counting(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i + 1)
	}
	return x
}

// Chart draws curves with the range of the replications as bands.
func Chart(title, x, y, caption string, logY bool, arms ...figure.Series) *figure.Figure {
	return &figure.Figure{Kind: figure.Lines, Title: title, X: figure.Axis{Label: x}, Y: figure.Axis{Label: y, Log: logY}, Series: arms, Note: caption}
}
