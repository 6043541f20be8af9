package lab

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"driftlab/results/figure"
	"driftlab/results/stats"
)

// curves is what the headline's runs came to, by arm and seed.
type curves map[string][]run

// run is one seed of an arm by evaluation.
type run struct{ step, pass, k3 []float64 }

// curvesFile is where they are published.
const curvesFile = "headline/curves.csv"

// readCurves reads the headline's curves; a cell that was left empty is 0.
func (p *published) readCurves() (curves, error) {
	text, err := fs.ReadFile(p.dir, curvesFile)
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", curvesFile, err)
	}
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	out, last := curves{}, ""
	for _, line := range lines[1:] {
		arm, seed := line[column["arm"]], line[column["seed"]]
		if arm+" "+seed != last {
			last = arm + " " + seed
			out[arm] = append(out[arm], run{})
		}
		r := &out[arm][len(out[arm])-1]
		for _, c := range []struct {
			name string
			to   *[]float64
		}{{"step", &r.step}, {"pass_rate", &r.pass}, {"k3", &r.k3}} {
			x := 0.0
			if cell := line[column[c.name]]; cell != "" {
				if x, err = strconv.ParseFloat(cell, 64); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", curvesFile, c.name, err)
				}
			}
			*c.to = append(*c.to, x)
		}
	}
	return out, nil
}

// mean is the average run of an arm.
func (c curves) mean(arm string) (step, pass []float64) {
	runs := c[arm]
	for i := range runs[0].step {
		var at []float64
		for _, r := range runs {
			at = append(at, r.pass[i])
		}
		pass = append(pass, stats.Average(at))
	}
	return runs[0].step, pass
}

// armPanel is the pass rate of an arm, with that of the baseline.
func (c curves) armPanel(arm, title string, method figure.Method) figure.Figure {
	p := figure.Figure{Kind: figure.Lines, Name: "pass-rate published", Title: title, X: figure.Axis{Label: "step"}, Y: figure.Axis{Label: "pass rate", High: 1}}
	for i, r := range c[arm] {
		p.Series = append(p.Series, figure.Series{Name: fmt.Sprintf("seed %d", i+1), Method: method, Faint: true, X: r.step, Y: r.pass})
	}
	step, pass := c.mean(arm)
	p.Series = append(p.Series, figure.Series{Name: "mean", Method: method, X: step, Y: pass})
	if arm != "equal" {
		x, y := c.mean("equal")
		p.Series = append(p.Series, figure.Series{Name: "baseline (equal engines, no staleness)", Method: figure.Equal, X: x, Y: y})
	}
	p.Note = fmt.Sprintf("%d seeds: the mean pass rate goes from %.2f to %.2f.", len(c[arm]), pass[0], pass[len(pass)-1])
	return p
}

// drawAge is the headline's part about staleness.
func drawAge(p *published) ([]figure.Figure, error) {
	c, err := p.readCurves()
	if err != nil {
		return nil, err
	}
	gap := figure.Figure{Kind: figure.Lines, Name: "k3 published", Title: "Published: k3 between rollout policy and learner, ten seeds, off-policy lag 16",
		X: figure.Axis{Label: "step"}, Y: figure.Axis{Label: "k3, nats", Log: true}}
	top := 0.0
	for i, r := range c["lag16"] {
		gap.Series = append(gap.Series, figure.Series{Name: fmt.Sprintf("seed %d", i+1), Method: figure.Uncorrected, Faint: true, X: r.step[1:], Y: r.k3[1:]})
		top = max(top, stats.Max(r.k3))
	}
	gap.Note = fmt.Sprintf("With equal bits in both engines, staleness alone raises k3 to %.2g nats.", top)
	return []figure.Figure{c.armPanel("lag16", "Published: 200 steps, ten seeds, off-policy lag 16", figure.Uncorrected), gap}, nil
}

// corrected is an arm that was run for a problem.
type corrected struct {
	problem, arm, run string
	method            figure.Method
}

// corrections are the arms of the lesson about corrections, by problem.
var corrections = []corrected{
	{"staleness", "uncorrected", "lag16", figure.Uncorrected},
	{"staleness", "OPSM", "lag16-opsm", figure.OPSM},
	{"staleness", "clip against mu", "lag16-bypass", figure.Clip},
	{"staleness", "token TIS", "lag16-token-tis", figure.TokenTIS},
	{"router", "uncorrected", "router4", figure.Uncorrected},
	{"router", "R3 replay", "router4-r3", figure.R3},
	{"router", "sequence TIS", "router4-sequence-tis", figure.IcePop},
	{"router", "token TIS", "router4-token-tis", figure.TokenTIS},
	{"router", "clip against mu", "router4-bypass", figure.Clip},
}

// drawFix has a picture for each arm, and a table of all.
func drawFix(p *published) ([]figure.Figure, error) {
	c, err := p.readCurves()
	if err != nil {
		return nil, err
	}
	var out []figure.Figure
	tables := map[string]*figure.Figure{}
	for _, a := range corrections {
		one := c.armPanel(a.run, a.arm, a.method)
		one.When = map[string]string{"problem": a.problem, "arm": a.arm}
		all := one
		all.When = map[string]string{"problem": a.problem, "arm": "all"}
		out = append(out, one, all)
		t := tables[a.problem]
		if t == nil {
			t = &figure.Figure{Kind: figure.Table, Name: "outcomes", When: all.When, Title: "Published: outcome of ten seeds",
				Columns: []figure.Column{{Name: "correction"}, {Name: "seeds that degrade", Align: figure.Right}, {Name: "final pass rate", Align: figure.Right}, {Name: "minus baseline", Align: figure.Right}}}
			tables[a.problem] = t
		}
		row, err := p.outcome(a.run)
		if err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, figure.Words(append([]string{a.arm}, row...)...))
	}
	return append(append(out, untried()...), *tables["staleness"], *tables["router"]), nil
}

// untried says of an arm that was run for one problem alone that it was not run for the other.
func untried() []figure.Figure {
	var out []figure.Figure
	for _, a := range corrections {
		for _, problem := range []string{"staleness", "router"} {
			tried := slices.ContainsFunc(corrections, func(b corrected) bool { return b.problem == problem && b.arm == a.arm })
			if !tried {
				out = append(out, figure.Figure{Kind: figure.Table, Name: "untried", When: map[string]string{"problem": problem, "arm": a.arm},
					Title: a.arm + " was not run for this problem", Columns: []figure.Column{{Name: "arm"}, {Name: "runs", Align: figure.Right}},
					Rows: [][]figure.Cell{figure.Words(a.arm, "0")}, Note: "Nothing was published about this pair."})
			}
		}
	}
	return out
}

// outcome is how many seeds of an arm degrade, where it ends, and how far from the baseline.
func (p *published) outcome(arm string) ([]string, error) {
	const file = "headline/headline.json"
	var x [4]float64
	for i, field := range []string{"minus_equal.below", "minus_equal.final.n", "final", "minus_equal.final.estimate"} {
		var err error
		if x[i], err = p.number(file, "[name="+arm+"]."+field); err != nil {
			return nil, err
		}
	}
	return []string{fmt.Sprintf("%.0f of %.0f", x[0], x[1]), fmt.Sprintf("%.2f", x[2]), fmt.Sprintf("%+.2f", x[3])}, nil
}
