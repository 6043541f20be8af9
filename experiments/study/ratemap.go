package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// Labels of arms that a map of learning rates reads: the title in tables and figures, and the problem that the arm has. The first
// arm of a problem has no correction; the first arm of all has no problem.
const (
	titleLabel   = "title"
	problemLabel = "problem"
)

// rateMap is a study of arms over learning rates: where each arm is stable, and where it ends.
type rateMap struct {
	rates  []string // from the lowest
	values []float64
	arms   []mapArm
}

// mapArm is an arm over the rates.
type mapArm struct {
	name, title, problem string
	at                   []mapCell // by rate
	k3                   float64   // the mean mismatch of the runs at the lowest rate; NaN if it was not measured
}

// mapCell is an arm at a rate, over its seeds.
type mapCell struct {
	final  float64 // the mean of the runs' last evaluations; NaN without runs
	stable int     // runs that end within stableLoss of their best
	seeds  []*Row
}

// whole reports whether every run is stable.
func (c mapCell) whole() bool { return len(c.seeds) > 0 && c.stable == len(c.seeds) }

// limit is the place of the largest rate up to which every run is stable, -1 for none.
func (a *mapArm) limit() int {
	i := slices.IndexFunc(a.at, func(c mapCell) bool { return !c.whole() })
	if i < 0 {
		i = len(a.at)
	}
	return i - 1
}

// level is the highest mean pass rate at the end among the stable rates, or among all rates where none is.
func (a *mapArm) level() float64 {
	best := math.NaN()
	for i, c := range a.at {
		if (a.limit() < 0 || i <= a.limit()) && !(c.final <= best) && !math.IsNaN(c.final) {
			best = c.final
		}
	}
	return best
}

// rateMap is that of a folder whose plan varies arms and learning rates; nil for any other.
func (d *Folder) rateMap() *rateMap {
	if len(d.Factors) != 2 || d.Factors[0].Name != ArmFactor || d.Factors[1].Name != rateField {
		return nil
	}
	m := &rateMap{}
	numbers := Factor{}
	for _, v := range d.Factors[1].Values {
		numbers.Values = append(numbers.Values, Value{Name: v})
	}
	order := numbers.numbers()
	if order == nil || len(d.Rows) == 0 {
		return nil
	}
	for _, i := range stats.Order(order) {
		m.rates, m.values = append(m.rates, d.Factors[1].Values[i]), append(m.values, order[i])
	}
	for _, name := range d.Factors[0].Values {
		arm := mapArm{name: name, title: name, k3: math.NaN()}
		for i, rate := range m.rates {
			c := mapCell{final: math.NaN(), seeds: d.having(map[string]string{ArmFactor: name, rateField: rate})}
			for _, o := range c.seeds {
				arm.title, arm.problem = cmp.Or(o.Values[titleLabel], name), o.Values[problemLabel]
				if o.stable() {
					c.stable++
				}
			}
			c.final = average(c.seeds, func(o *Outcome) record.Number { return o.Final })
			if i == 0 {
				arm.k3 = average(c.seeds, func(o *Outcome) record.Number { return o.known("gap/k3") })
			}
			arm.at = append(arm.at, c)
		}
		m.arms = append(m.arms, arm)
	}
	return m
}

// problems are those of the arms, each once, with the places of their arms; the first arm is in none.
func (m *rateMap) problems() (names []string, arms map[string][]*mapArm) {
	arms = map[string][]*mapArm{}
	for i := range m.arms {
		a := &m.arms[i]
		if a.problem == "" {
			continue
		}
		if arms[a.problem] == nil {
			names = append(names, a.problem)
		}
		arms[a.problem] = append(arms[a.problem], a)
	}
	return names, arms
}

// table has a row for each arm and a column for each rate.
func (m *rateMap) table() *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "Pass rate at the end by learning rate, and how many runs are stable", Columns: []figure.Column{{Name: "arm"}, {Name: "k3", Align: figure.Right}},
		Note: fmt.Sprintf("Each cell: mean pass rate of the last %d evaluations (stable runs/all runs).\nStable: a run ends within %g of its own best. k3: mean mismatch of the runs at the lowest rate, in nats per token.", record.Window, stableLoss)}
	for _, rate := range m.rates {
		t.Columns = append(t.Columns, figure.Column{Name: rate, Align: figure.Right})
	}
	problem := ""
	for _, a := range m.arms {
		if a.problem != problem {
			problem = a.problem
			t.Add(append([]figure.Cell{figure.Word(problem).As(figure.Muted)}, make([]figure.Cell, len(t.Columns)-1)...)...)
		}
		row := []figure.Cell{figure.Word(a.title), {}}
		if !math.IsNaN(a.k3) {
			row[1] = figure.Number(a.k3, 2)
		}
		for _, c := range a.at {
			cell := figure.Word("stopped")
			if len(c.seeds) == 0 {
				cell = figure.Word("-")
			} else if !math.IsNaN(c.final) {
				cell = figure.Word(fmt.Sprintf("%.2f", c.final))
			}
			if len(c.seeds) > 0 {
				cell.Text += fmt.Sprintf(" (%d/%d)", c.stable, len(c.seeds))
			}
			if len(c.seeds) > 0 && !c.whole() {
				cell = cell.As(figure.Warn)
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	return t
}

// picture has a panel for each problem: the pass rate at the end by learning rate, a curve for each arm and the first arm's in all.
func (m *rateMap) picture() *figure.Figure {
	p := &figure.Figure{Kind: figure.Multiples, Title: "Pass rate at the end by learning rate"}
	names, arms := m.problems()
	for _, name := range names {
		c := figure.Figure{Kind: figure.Lines, Title: name, X: figure.Axis{Label: "learning rate", Log: true}, Y: figure.Axis{Label: "pass rate at the end", High: 1}}
		for i, a := range append([]*mapArm{&m.arms[0]}, arms[name]...) {
			line := figure.Series{Name: a.title, Slot: i + 1}
			for k := range a.at[0].seeds {
				one := figure.Series{Name: fmt.Sprintf("seed %d", a.at[0].seeds[k].Seed)}
				for r, c := range a.at {
					if k < len(c.seeds) && !math.IsNaN(float64(c.seeds[k].Final)) {
						one.X, one.Y = append(one.X, m.values[r]), append(one.Y, float64(c.seeds[k].Final))
					}
				}
				line.Seeds = append(line.Seeds, one)
			}
			c.Series = append(c.Series, line)
		}
		p.Parts = append(p.Parts, c)
	}
	return p
}

// alike is the difference of pass rates that the stability studies declare as none.
const alike = 0.05

// limits says for each problem in a sentence up to which rate training is stable and where it ends there, without and with the
// corrections.
func (m *rateMap) limits() string {
	equal := &m.arms[0]
	var parts []string
	names, arms := m.problems()
	for _, name := range names {
		var rates, levels []string
		for i, a := range arms[name] {
			with := "without a correction"
			if i > 0 {
				with = "with **" + a.title + "**"
			}
			rates, levels = append(rates, m.limitText(a)+" "+with), append(levels, fmt.Sprintf("%.2f", a.level()))
		}
		parts = append(parts, fmt.Sprintf("%s: the largest stable learning rate is %s (%s: %s); the pass rate there is %s (%.2f).",
			capital(name), series(rates), equal.title, m.limitText(equal), series(levels), equal.level()))
	}
	return strings.Join(parts, " ")
}

// finding says for each problem whether a lower rate does what a correction does: in a sentence each where there is something to say.
func (m *rateMap) finding() string {
	equal := &m.arms[0]
	var parts []string
	names, arms := m.problems()
	for _, name := range names {
		bare := arms[name][0]
		i := bare.limit()
		switch {
		case math.IsNaN(bare.level()) || math.IsNaN(equal.level()):
		case i >= 0 && i < equal.limit() && bare.at[i].final >= equal.at[i].final-alike:
			next := bare.at[i+1]
			parts = append(parts, fmt.Sprintf("**With %s, lower the learning rate before you add a correction**: without one, %d of %d runs lose more than %g at %s, and at %s none does (pass rate %.2f, %s %.2f).",
				name, len(next.seeds)-next.stable, len(next.seeds), stableLoss, m.rates[i+1], m.rates[i], bare.at[i].final, equal.title, equal.at[i].final))
		case bare.level() < equal.level()-alike:
			parts = append(parts, fmt.Sprintf("**With %s, no learning rate is enough**: without a correction the best pass rate is %.2f (%s %.2f)%s.", name, bare.level(), equal.title, equal.level(), corrected(arms[name][1:])))
		}
	}
	return strings.Join(parts, " ")
}

// corrected names what corrections come to.
func corrected(arms []*mapArm) string {
	var list []string
	for _, a := range arms {
		list = append(list, fmt.Sprintf("%.2f with %s", a.level(), a.title))
	}
	if len(list) == 0 {
		return ""
	}
	return ", and " + series(list)
}

// series is a list in a sentence.
func series(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// capital begins a text with a capital.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// limitText is the largest stable rate of an arm.
func (m *rateMap) limitText(a *mapArm) string {
	switch i := a.limit(); i {
	case -1:
		return "none"
	case len(m.rates) - 1:
		return m.rates[i] + " or more"
	default:
		return m.rates[i]
	}
}

// Finding says in a sentence or two what the study found; empty where it compares nothing.
func (d *Folder) Finding() string {
	if d.Ladder != nil {
		return limitsFinding(d.Limits())
	}
	m := d.rateMap()
	if m == nil {
		return d.Best()
	}
	return strings.ReplaceAll(cmp.Or(m.finding(), m.limits()), "**", "")
}

// Tables are what a reader needs first: the map of rates, or the values ranked and the points, with at most so many rows each.
func (d *Folder) Tables(most int) []*figure.Figure {
	if d.Ladder != nil {
		return []*figure.Figure{limitTable(d.Limits())}
	}
	if m := d.rateMap(); m != nil {
		return []*figure.Figure{m.table()}
	}
	return append(d.BestTables(most), d.PointTable(most))
}
