package main

import (
	"fmt"
	"strings"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/page"
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
	t := page.SettingTable(on)
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
