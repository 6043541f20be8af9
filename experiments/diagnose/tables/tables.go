// Package tables lays the figures of a diagnosis out as tables, for the terminal, the report and the lab's page.
//
// What it is not: it measures and decides nothing, and draws nothing.
package tables

import (
	_ "embed" // of the heads of tables
	"slices"

	"driftlab/experiments/diagnose"
	"driftlab/results/figure"
)

//go:embed heads.yaml
var headsText []byte

// Head is a table of a diagnosis without its rows.
var Head = figure.Heads(headsText)

var resultMarks = map[diagnose.Result]figure.Emphasis{diagnose.Pass: figure.Good, diagnose.Watch: figure.Warn, diagnose.Fail: figure.Bad, diagnose.NotApplicable: figure.Muted}

var levelMarks = map[diagnose.Level]figure.Emphasis{diagnose.Fault: figure.Bad, diagnose.Warning: figure.Warn, diagnose.Undecided: figure.Warn, diagnose.Note: figure.Muted}

// Findings are all statements of the report, the gravest first.
func Findings(r diagnose.Report) *figure.Figure {
	t := Head("findings")
	for _, f := range r.Findings {
		t.Add(figure.Word(string(f.Level)).As(levelMarks[f.Level]), figure.Word(string(f.Topic)), figure.Word(f.String()), figure.Word(f.Next))
	}
	return t
}

// Causes are what may have made the gap, with their parts and what would confirm them.
func Causes(r diagnose.Report) *figure.Figure {
	t := Head("causes")
	for _, c := range r.Causes {
		t.Add(figure.Word(c.Name).As(figure.Strong), figure.Percent(c.ShareK3[1], 0), figure.Word(figure.Percent(c.ShareK3[0], 0).Text+" to "+figure.Percent(c.ShareK3[2], 0).Text),
			figure.Number(c.Log10LR, 2), figure.Word(c.Confirm))
	}
	return t
}

// Decisions are the rows of the table as far as it was evaluated.
func Decisions(r diagnose.Report) *figure.Figure {
	t := Head("decisions")
	for _, d := range r.Decisions {
		verdict := figure.Word("no").As(figure.Muted)
		if d.Fired {
			verdict = figure.Word("decides").As(figure.Warn)
		}
		t.Add(figure.Word(d.Row).As(figure.Strong), figure.Word(d.Why), verdict, figure.Word(d.Source).As(figure.Muted))
	}
	return t
}

// Signatures puts the gap's features next to those of simulated gaps of each cause.
func Signatures(r diagnose.Report) *figure.Figure {
	t := Head("signatures")
	for _, l := range r.Signatures {
		row := []figure.Cell{figure.Word(l.About), figure.Number(l.Value, 3)}
		for _, cause := range []string{diagnose.Precision, diagnose.Routing, diagnose.Staleness} {
			var of *diagnose.Range
			if i := slices.IndexFunc(l.Ranges, func(x diagnose.Range) bool { return x.Cause == cause }); i >= 0 {
				of = &l.Ranges[i]
			}
			row = append(row, within(of, l.Value))
		}
		t.Add(row...)
	}
	return t
}

// within shows where nine of ten simulated dumps have a figure, marked where this one does,
// too; nothing of no range.
func within(r *diagnose.Range, value float64) figure.Cell {
	if r == nil {
		return figure.Word("")
	}
	low, high := r.Quantiles[0], r.Quantiles[4]
	cell := figure.Word(figure.FormatNumber(low, 3) + " to " + figure.FormatNumber(high, 3)).As(figure.Muted)
	if low <= value && value <= high {
		cell = cell.As(figure.Good)
	}
	return cell
}

// Checks are the checks of the data, with where their values lie in sound dumps.
func Checks(r diagnose.Report) *figure.Figure {
	t := Head("checks")
	for _, c := range r.Checks {
		why := c.Why
		if c.Conditional {
			why += " (perhaps the consequence of an earlier fault)"
		}
		t.Add(figure.Word(c.ID).As(figure.Strong), figure.Word(c.Scope), figure.Word(string(c.Result)).As(resultMarks[c.Result]), figure.Number(c.Value, 4), figure.Number(c.Limit, 3), within(c.Reference, c.Value), figure.Word(why))
	}
	return t
}

// Alarms are early-warning signals, with their rates in simulated runs.
func Alarms(r diagnose.Report) *figure.Figure {
	t := Head("alarms")
	rate := func(x *float64) figure.Cell {
		if x == nil {
			return figure.Word("")
		}
		return figure.Percent(*x, 0)
	}
	for _, a := range r.Alarms {
		fired := figure.Word("quiet").As(figure.Muted)
		if a.Fired {
			fired = figure.Word("fires").As(figure.Warn)
		}
		t.Add(figure.Word(a.Rule), figure.Word(a.Source).As(figure.Muted), figure.Number(a.Value, 3), figure.Number(a.Limit, 3), fired, rate(a.Detection), rate(a.FalseAlarm))
	}
	return t
}

// Disagreements are what the sources of limits would say of these tokens.
func Disagreements(r diagnose.Report) *figure.Figure {
	t := Head("disagreements")
	for _, d := range r.Disagreements {
		for i, s := range d.Say {
			question := figure.Word("")
			if i == 0 {
				question = figure.Word(d.About).As(figure.Strong)
			}
			t.Add(question, figure.Word(s.Source), figure.Word(s.Value), figure.Word(s.Effect))
		}
	}
	return t
}

// Settings puts the configured settings next to the recommended ones.
func Settings(on *diagnose.Active) *figure.Figure {
	t := Head("settings")
	t.Columns[1].Name += " (" + on.Framework + ")"
	for _, s := range on.Settings {
		if s.Configured != "0" || s.Recommended != "0" { // a bound that neither has
			t.Add(figure.Word(s.Name).As(figure.Strong), figure.Word(s.Configured), figure.Word(s.Recommended))
		}
	}
	return t
}

// Fixes has what corrections do to the tokens: the configured and the recommended one, and those of the others that are shown.
func Fixes(r diagnose.Report, shown func(name string) bool) *figure.Figure {
	t := Head("fixes")
	var list []diagnose.Fix
	if r.Active != nil {
		list = append(list, r.Active.Fix)
	}
	if r.Recommended != nil {
		list = append(list, *r.Recommended)
	}
	own := len(list)
	number := func(x *float64) figure.Cell {
		if x == nil {
			return figure.Word("")
		}
		return figure.Word(figure.FormatNumber(*x, 3))
	}
	for i, f := range append(list, r.Fixes...) {
		if f.Effect == nil || i >= own && !shown(f.Name) {
			continue
		}
		masked, placebo := figure.Word(""), (*float64)(nil)
		if f.Masked != nil {
			masked = figure.Percent(f.Masked.Tokens, 1)
		}
		if f.Placebo != nil {
			placebo = &f.Placebo.Distance
		}
		t.Add(figure.Word(f.Name).As(figure.Strong), figure.Percent(f.TokensChanged, 1), masked, number(&f.ESSToken), figure.Word(string(f.Ratio)), number(&f.Distance), number(f.Variance), number(placebo))
	}
	return t
}
