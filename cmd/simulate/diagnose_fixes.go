package main

import (
	"fmt"
	"strings"

	"driftlab/experiments/diagnose"
	"driftlab/results"
)

// printDecision prints the row of the table that decides, and the line to paste: of the framework whose configuration
// was given, if it can say it.
func (a *app) printDecision(r diagnose.Report) {
	if n := len(r.Decisions); n > 0 {
		d := r.Decisions[n-1]
		fmt.Fprintf(a.stdout, "Decided by: %s\n", strings.TrimSuffix(d.Row+": "+d.Why, ": "))
	}
	name := "verl"
	if r.Active != nil && r.Config[diagnose.ConfigKey(r.Active.Framework)] != "" {
		name = diagnose.ConfigKey(r.Active.Framework)
	}
	var lines []string
	for line := range strings.Lines(r.Config[name]) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(a.stdout, "Paste (%s; others in --json): %s", name, strings.Join(lines, "  "))
	}
}

// printActive prints the configured correction, what is wrong with it, and where the recommended one differs.
func (a *app) printActive(r diagnose.Report) {
	on := r.Active
	if on == nil {
		return
	}
	fmt.Fprintf(a.stdout, "Correction of %s: %s\n", on.Framework, on.Why)
	for _, warning := range on.Warnings {
		fmt.Fprintf(a.stdout, "Warning: %s\n", warning)
	}
	t := settingTable(on)
	if len(t.Rows) == 0 {
		return
	}
	a.printTable(t)
	for _, s := range on.Settings {
		if s.Why != "" {
			fmt.Fprintf(a.stdout, "%s: %s\n", s.Name, s.Why)
		}
	}
}

// settingTable puts the configured settings beside the recommended ones.
func settingTable(on *diagnose.Active) *results.Table {
	t := newTable("setting", "yours ("+on.Framework+")", "recommended")
	for _, s := range on.Settings {
		if s.Configured != "0" || s.Recommended != "0" { // a bound that neither has
			t.Add(results.Word(s.Name).As(results.Strong), results.Word(s.Configured), results.Word(s.Recommended))
		}
	}
	return t
}

// fixTable has what corrections do to the tokens: the configured and the recommended one, and those of the others that are shown.
func fixTable(r diagnose.Report, shown func(name string) bool) *results.Table {
	t := newTable("if corrected by", "changes>", "masks>", "ESS>", "exact ratio", "mean |w - ratio|>", "variance>", "placebo's |w - ratio|>")
	var list []diagnose.Fix
	if r.Active != nil {
		list = append(list, r.Active.Fix())
	}
	if r.Recommended != nil {
		list = append(list, *r.Recommended)
	}
	own := len(list)
	number := func(x *float64) results.Cell {
		if x == nil {
			return results.Word("")
		}
		return results.Word(results.FormatNumber(*x, 3))
	}
	for i, f := range append(list, r.Fixes...) {
		if f.Effect == nil || i >= own && !shown(f.Name) {
			continue
		}
		masked, placebo := results.Word(""), (*float64)(nil)
		if f.Masked != nil {
			masked = results.Percent(f.Masked.Tokens, 1)
		}
		if f.Placebo != nil {
			placebo = &f.Placebo.Distance
		}
		t.Add(results.Word(f.Name).As(results.Strong), results.Percent(f.TokensChanged, 1), masked, number(&f.ESSToken), results.Word(string(f.Ratio)), number(&f.Distance), number(f.Variance), number(placebo))
	}
	return t
}
