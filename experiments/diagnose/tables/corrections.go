package tables

import (
	"driftlab/experiments/diagnose"
	"driftlab/results/figure"
)

// Settings puts the configured settings next to the recommended ones.
func Settings(on *diagnose.Active) *figure.Figure {
	t := Columns("setting", "yours ("+on.Framework+")", "recommended")
	for _, s := range on.Settings {
		if s.Configured != "0" || s.Recommended != "0" { // a bound that neither has
			t.Add(figure.Word(s.Name).As(figure.Strong), figure.Word(s.Configured), figure.Word(s.Recommended))
		}
	}
	return t
}

// Fixes has what corrections do to the tokens: the configured and the recommended one, and those of the others that are shown.
func Fixes(r diagnose.Report, shown func(name string) bool) *figure.Figure {
	t := Columns("if corrected by", "changes>", "masks>", "ESS>", "exact ratio", "mean |w - ratio|>", "variance>", "placebo's |w - ratio|>")
	var list []diagnose.Fix
	if r.Active != nil {
		list = append(list, r.Active.Fix())
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
