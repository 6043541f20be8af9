package lab

import (
	"fmt"

	"driftlab/results/figure"
	"driftlab/results/stability"
	"driftlab/results/stats"
)

// mapFile is where the stability map is published.
const mapFile = "stability/map.json"

// study reads a study of the stability map.
func (p *publishedFolder) study(name string) *stability.Study {
	var m stability.Map
	p.decode(mapFile, &m)
	s := m.Study(name)
	if s == nil {
		p.t.Fatalf("%s has no study %s", mapFile, name)
	}
	return s
}

// byRate is the mean pass rate at the end of an arm of the map at each learning rate.
func byRate(a *stability.Arm, name string, method figure.Method) figure.Series {
	s := figure.Series{Name: name, Method: method}
	for _, r := range a.Rates {
		s.X, s.Y = append(s.X, r.Rate), append(s.Y, stats.Average(r.Finals))
	}
	return s
}

// rateFigure is a figure over learning rates.
func rateFigure(title string) figure.Figure {
	return figure.Figure{Kind: figure.Lines, Name: "rates published", Title: title, MeanOnly: true,
		X: figure.Axis{Label: "learning rate", Log: true}, Y: figure.Axis{Label: "pass rate after 1,000 updates", High: 1}}
}

// drawAge is the map's part about staleness, without a correction.
func drawAge(p *publishedFolder) []figure.Figure {
	s := p.study("staleness")
	f := rateFigure("Published: pass rate against the learning rate, by off-policy lag, no correction")
	for _, c := range []struct {
		lag    string
		colour figure.Method
	}{{"0", figure.Equal}, {"16", figure.Clip}, {"64", figure.Uncorrected}} {
		a := s.Arm(c.lag, s.None)
		if a == nil {
			p.t.Fatalf("%s has no arm without a correction at lag %s", mapFile, c.lag)
		}
		f.Series = append(f.Series, byRate(a, "k = "+c.lag, c.colour))
		f.Note += fmt.Sprintf("Largest stable learning rate at k = %s: %s. ", c.lag, a.Limit.Text(stability.RateText))
	}
	f.Note += fmt.Sprintf("Means of %d base models.", s.Arm("16", s.None).Level.N)
	return []figure.Figure{f}
}

// corrections are the arms of the lesson about corrections, by the name that its control has.
var corrections = []struct {
	arm, method string
	colour      figure.Method
}{
	{"token TIS", "token-tis-2", figure.TokenTIS},
	{"sequence TIS", "sequence-tis-5", figure.IcePop},
	{"OPSM", "opsm-1e-4", figure.OPSM},
	{"EMA anchor", "ema-anchor-0.75", figure.Own},
	{"clip against mu", "rollout-clip", figure.Clip},
	{"R3 replay", "r3", figure.R3},
}

// drawFix has a picture for each correction under each problem, and a table of all.
func drawFix(p *publishedFolder) []figure.Figure {
	var out []figure.Figure
	var tables []figure.Figure
	for _, problem := range stability.Problems {
		if problem.Name == "natural" {
			continue // which needs none
		}
		s := p.study(problem.Study)
		when := func(arm string) map[string]string { return map[string]string{"problem": problem.Name, "arm": arm} }
		none, equal := s.Arm(problem.Stressor, s.None), s.Arm(s.Equal, s.None)
		t := figure.Figure{Kind: figure.Table, Name: "outcomes", When: when("all"), Title: "Published: each correction at its own best rate",
			Columns: []figure.Column{{Name: "correction"}, {Name: "largest stable rate"}, {Name: "pass rate at the end"}, {Name: "at rate"}, {Name: "minus no correction"}, {Name: "models", Align: figure.Right}}}
		row := func(name string, a *stability.Arm) {
			t.Rows = append(t.Rows, figure.Words(name, a.Limit.Text(stability.RateText), a.Level.Text(false), a.LevelRate, a.GainNone.Text(true), fmt.Sprint(a.Level.N)))
		}
		row("equal engines", equal)
		row("none", none)
		for _, c := range corrections {
			a := s.Arm(problem.Stressor, c.method)
			if a == nil {
				out = append(out, figure.Figure{Kind: figure.Table, Name: "untried", When: when(c.arm), Title: c.arm + " was not run for this problem",
					Columns: []figure.Column{{Name: "arm"}, {Name: "runs", Align: figure.Right}}, Rows: [][]figure.Cell{figure.Words(c.arm, "0")}, Note: "Nothing was published about this pair."})
				continue
			}
			row(c.arm, a)
			one := rateFigure(fmt.Sprintf("Published: %s (%s), mean of %d base models", c.arm, c.method, a.Level.N))
			one.Series = []figure.Series{byRate(equal, "equal engines", figure.Equal), byRate(none, "no correction", figure.Uncorrected), byRate(a, c.arm, c.colour)}
			all := one
			one.When, all.When = when(c.arm), when("all")
			out = append(out, one, all)
		}
		one := rateFigure(fmt.Sprintf("Published: no correction, mean of %d base models", none.Level.N))
		one.When, one.Series = when("uncorrected"), []figure.Series{byRate(equal, "equal engines", figure.Equal), byRate(none, "no correction", figure.Uncorrected)}
		out, tables = append(out, one), append(tables, t)
	}
	return append(out, tables...)
}
