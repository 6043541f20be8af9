package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/page"
	"driftlab/experiments/diagnose/reader"
	"driftlab/experiments/diagnose/tables"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/stability"
	"driftlab/results/stats"
	"driftlab/trainer/method"

	"github.com/charmbracelet/x/ansi"
)

type diagnoseCmd struct {
	Files       []string `arg:"" name:"file" complete:"files" help:"Dumps of one run, in order, or a folder of them; - is standard input."`
	Format      string   `help:"Read all files in this format, without recognition." placeholder:"NAME" complete:"formats"`
	TopP        *float64 `name:"top-p" help:"top_p of the sampling, used in explanations." placeholder:"P"`
	Temperature *float64 `help:"Temperature of the sampling, used in explanations." placeholder:"T"`
	Experts     *int     `help:"Experts per layer of the model, 1 if it is dense: needed to consider routing as a cause if the dump has no routes." placeholder:"N"`
	configFlag
	MaxMemory byteSize `default:"1GB" help:"Memory that reading and judging may take, as 512MB or 4GB." placeholder:"SIZE"`
	Strict    bool     `help:"Exit with status 3 if the data must be repaired, a correction is off, or the run cannot learn from the batch."`
	Reproduce bool     `help:"Write reproduce.yaml, the recipe of a toy run whose mismatch has the same cause and size, into --out or the current folder."`
	jsonFlag
	outFlag
	workFlags
}

// Run reads the files and prints the verdict.
func (c *diagnoseCmd) Run(a *app) error {
	debug.SetMemoryLimit(int64(c.MaxMemory) / 8 * 3) // the collector works harder above it; the reader bounds what is held
	if err := c.check(); err != nil {
		return err
	}
	if c.Out != "" {
		if err := ownPage(c.Out, "simulate diagnose"); err != nil {
			return err
		}
	}
	config, err := c.readConfig(a)
	if err != nil {
		return err
	}
	analysis := diagnose.New(diagnose.Options{Format: c.Format, Config: config, Framework: c.Dialect, Rates: stability.PublishedAlarms(),
		TopP: given(c.TopP), Temperature: given(c.Temperature), Experts: given(c.Experts)})
	files, err := dumpFiles(c.Files)
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := readDump(analysis, name, int64(c.MaxMemory)); err != nil {
			return err
		}
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
	}
	r := analysis.Report()
	if c.Reproduce {
		if err := c.reproduce(a, &r); err != nil {
			return err
		}
	}
	if c.Out != "" {
		document := page.Of(r, analysis.Shown())
		if err := cmp.Or(writeDocument(c.Out, "report.json", r), writeFile(c.Out, pageFile, document.HTML())); err != nil {
			return err
		}
	}
	if c.JSON {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		a.printDiagnosis(r, c.Out)
	}
	return c.status(r, analysis.Refused())
}

// given is the value of a flag, 0 where it was left out.
func given[T any](flag *T) (value T) {
	if flag != nil {
		value = *flag
	}
	return value
}

// check refuses flags that mean nothing.
func (c *diagnoseCmd) check() error {
	if _, names := reader.Formats(); c.Format != "" && !slices.Contains(names, c.Format) {
		return bad("--format: %v", method.UnknownName(c.Format, names))
	}
	if p := c.TopP; p != nil && !(*p > 0 && *p <= 1) {
		return bad("--top-p %v: give a share of the probability, above 0 and up to 1", *p)
	}
	if t := c.Temperature; t != nil && (!(*t > 0) || math.IsInf(*t, 1)) {
		return bad("--temperature %v: give a positive number", *t)
	}
	if n := c.Experts; n != nil && *n < 1 {
		return bad("--experts %d: give the number of experts per layer, 1 if the model is dense", *n)
	}
	return nil
}

// strict is the verdict as an error, on request.
type strict struct{ diagnose.Verdict }

// Error is one line.
func (s strict) Error() string {
	if s.LearningState == diagnose.Fault {
		return fmt.Sprintf("diagnose --strict: %s, and a fault of learning", s.State)
	}
	return fmt.Sprintf("diagnose --strict: %s", s.State)
}

// status is the error that a verdict comes to.
func (c *diagnoseCmd) status(r diagnose.Report, refused []error) error {
	switch state := r.Verdict.State; {
	case len(refused) > 0:
		return badInput{errors.Join(refused...)}
	case r.NoRow() != "":
		return bad("%s: %s%s", strings.Join(c.Files, ", "), r.NoRow(), configurationAmong(c.Files))
	case c.Strict && (state == diagnose.Repair || state == diagnose.Inactive || r.Verdict.LearningState == diagnose.Fault):
		return strict{r.Verdict}
	}
	return nil
}

// configurationAmong says which of the files is a framework's configuration, where no dump is; empty for none.
func configurationAmong(files []string) string {
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			continue // a named pipe has been read to its end
		}
		file := configFlag{Config: name}
		if c, err := file.readConfig(&app{stderr: io.Discard}); err == nil {
			return fmt.Sprintf("; %s is a configuration of %s: name a dump of its run, and this file with --config", name, c.Framework)
		}
	}
	return ""
}

// A summary fits on a page of a terminal, of these lines and columns.
const (
	pageLines   = 40
	pageColumns = 100
	// mostInputs and mostChecks are the most lines that it gives to files, and to checks.
	mostInputs = 2
	mostChecks = 5
)

// summary has the parts of the summary after the verdict, the first needed most.
var summary = []func(*app, diagnose.Report){(*app).printFindings, (*app).printInputs, (*app).printGap, (*app).printCauses, (*app).printActive, (*app).printDecision, (*app).printChecks, (*app).printFixes}

// printDiagnosis prints the verdict, and what a page has room for: a part that does not fit is left to the JSON document.
func (a *app) printDiagnosis(r diagnose.Report, out string) {
	v := r.Verdict
	var text bytes.Buffer
	fmt.Fprintf(&text, "Log-probs: %s\nLearning:  %s\n", v.LogProbs, v.Learning)
	if v.Next != "" {
		fmt.Fprintf(&text, "Next:      %s.\n", v.Next)
	}
	var last bytes.Buffer
	end := &app{stdout: &last}
	end.printReproduced(r)
	if out != "" {
		fmt.Fprintf(&last, "Report: %s\n", filepath.Join(out, pageFile))
	}
	width := cmp.Or(tableWidth(a.stdout), pageColumns)
	room, left := pageLines-1-height(text.String(), width)-height(last.String(), width), false
	for _, print := range summary {
		var part bytes.Buffer
		print(&app{stdout: &part}, r)
		if n := height(part.String(), width); n <= room {
			room -= n
			text.Write(part.Bytes())
		} else {
			left = true
		}
	}
	if left && out == "" {
		text.WriteString("More: --json, or a page with --out DIR\n")
	}
	fmt.Fprintf(a.stdout, "%s%s", text.String(), last.String())
}

// height is how many lines of a terminal a text takes.
func height(text string, width int) (n int) {
	for line := range strings.Lines(text) {
		n += 1 + max(0, ansi.StringWidth(strings.TrimSuffix(line, "\n"))-1)/width
	}
	return n
}

// printFindings prints the findings that the verdict does not have, and what was not there to be looked at.
func (a *app) printFindings(r diagnose.Report) {
	for _, f := range r.Findings {
		if text := f.String(); !strings.Contains(strings.ToLower(r.Verdict.LogProbs+r.Verdict.Learning), strings.ToLower(text)) {
			if f.Next != "" && f.Level != diagnose.Note {
				text += "; " + f.Next
			}
			fmt.Fprintf(a.stdout, "%s: %s\n", strings.ToUpper(string(f.Level[:1]))+string(f.Level[1:]), text)
		}
	}
	if len(r.Unchecked) > 0 {
		fmt.Fprintf(a.stdout, "Not looked at (not in the dump): %s\n", strings.Join(r.Unchecked, ", "))
	}
}

func (a *app) printInputs(r diagnose.Report) {
	for i, in := range r.Inputs {
		if i == mostInputs && len(r.Inputs) > mostInputs+1 {
			fmt.Fprintf(a.stdout, "Read: %d more files\n", len(r.Inputs)-i)
			break
		}
		fmt.Fprintf(a.stdout, "Read: %s\n", describeInput(in))
	}
}

func (a *app) printGap(r diagnose.Report) {
	if g := r.Gap; g != nil {
		n := figure.FormatNumber
		fmt.Fprintf(a.stdout, "Gap: k1 %s  k3 %s  mean |d| %s  max |d| %s  Pearson %s  ESS %s  mean ratio %s\n",
			n(g.K1, 3), n(g.K3, 3), n(g.MeanAbsDlogp, 3), n(g.MaxAbsDlogp, 3), n(g.Pearson, 4), n(g.ESSToken, 3), n(g.MeanRatio, 4))
	}
}

// shownFixes are the corrections that the summary shows of all that were tried, where the gap calls for one.
var shownFixes = []string{"token_tis", "sequence_tis", "icepop", "geometric"}

// printFixes prints what corrections would do, where one may be needed.
func (a *app) printFixes(r diagnose.Report) {
	if len(r.Fixes) > 0 && r.Verdict.State == diagnose.Genuine {
		a.printTable(tables.Fixes(r, func(name string) bool { return slices.Contains(shownFixes, name) }))
	}
}

// printCauses prints the likely causes of the gap, and those that cannot be distinguished.
func (a *app) printCauses(r diagnose.Report) {
	causes := slices.DeleteFunc(slices.Clone(r.Causes), func(c diagnose.Cause) bool { return c.ShareK3[2] < 0.005 })
	slices.SortStableFunc(causes, func(x, y diagnose.Cause) int { return cmp.Compare(y.ShareK3[1], x.ShareK3[1]) })
	parts := stats.Map(causes, func(c diagnose.Cause) string { return c.Name + " " + c.Part() })
	if len(parts) > 0 {
		if first := r.Causes[0]; first.Log10LR > 0 { // the likeliest; of the others the ratio is below 1
			parts = append(parts, fmt.Sprintf("likelihood ratio %s:1 for %s against the next cause", figure.FormatNumber(elementary.Pow(10, first.Log10LR), 2), first.Name))
		}
		fmt.Fprintf(a.stdout, "Causes: %s\n", strings.Join(parts, "; "))
	}
	if len(r.Ambiguous) > 0 {
		pairs := stats.Map(r.Ambiguous, func(pair [2]string) string { return pair[0] + " and " + pair[1] })
		fmt.Fprintf(a.stdout, "Not distinguished by this data: %s\n", strings.Join(pairs, "; "))
	}
}

// describeInput is a file in a line.
func describeInput(in diagnose.Input) string {
	text := in.File
	if in.Format != "" {
		text += ", " + in.Format
	}
	if in.Step != nil {
		text += fmt.Sprintf(", step %d", *in.Step)
	}
	text += fmt.Sprintf(": %d rows, %d used, %d tokens", in.Rows, in.RowsUsed, in.Tokens)
	if in.Damaged > 0 {
		d := in.Damage[0]
		text += fmt.Sprintf("; %d damaged, the first at line %d, byte %d: %s", in.Damaged, d.Line, d.Byte, d.Reason)
	}
	for _, note := range in.Notes {
		text += "; " + note
	}
	return text
}

// printChecks prints the checks that did not pass, and which did. Where none has failed, the odd ones share a line: the table
// of corrections comes after it, and all of it shall fit on a screen.
func (a *app) printChecks(r diagnose.Report) {
	checks := r.Checks
	t := tableHead("checks")
	var odd []string
	passed, more := 0, 0
	said := map[string]diagnose.Result{} // of everything
	failed := slices.ContainsFunc(checks, func(k diagnose.Check) bool { return k.Result == diagnose.Fail })
	for _, k := range checks {
		if k.Scope == "all" {
			said[k.ID] = k.Result
		}
		switch {
		case k.Result == diagnose.Pass && k.Scope == "all":
			passed++
		case k.Result == diagnose.NotApplicable, k.Scope != "all" && k.Result == said[k.ID]:
		case len(t.Rows)+len(odd) == mostChecks:
			more++
		case !failed:
			odd = append(odd, fmt.Sprintf("%s of %s (%s)", k.ID, k.Scope, k.Why))
		default:
			result := string(k.Result)
			if k.Conditional {
				result += ", conditional"
			}
			t.Add(figure.Word(k.ID).As(figure.Strong), figure.Word(k.Scope), figure.Word(result), figure.Word(figure.FormatNumber(k.Value, 3)), figure.Word(k.Why))
		}
	}
	if more > 0 {
		t.Note = fmt.Sprintf("and %d more, in --json", more)
		odd = append(odd, t.Note)
	}
	if len(t.Rows) > 0 {
		a.printTable(t)
	} else if len(odd) > 0 {
		fmt.Fprintf(a.stdout, "Watch: %s\n", strings.Join(odd, "; "))
	}
	if passed > 0 {
		fmt.Fprintf(a.stdout, "Checks of the log-probs passed: %d of %d\n", passed, len(said))
	}
}
