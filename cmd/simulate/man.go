package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// manPage is the manual page, in the macros of man(7), from the same table of
// commands and flags as everything else.
func manPage(app *kong.Application, version string) string {
	p := &roff{}
	p.macro("TH", "SIMULATE", "1", "", version, "driftlab")
	p.macro("SH", "NAME")
	first, rest, _ := strings.Cut(app.Help, "\n")
	p.text(app.Name + " - " + strings.TrimSuffix(strings.ToLower(first[:1])+first[1:], "."))
	p.macro("SH", "SYNOPSIS")
	p.macro("B", app.Name)
	p.text("[command] [arguments] [flags]")
	p.macro("SH", "DESCRIPTION")
	p.prose(strings.TrimSpace(rest))
	p.macro("SH", "COMMANDS")
	for _, node := range app.Leaves(true) {
		p.command(node)
	}
	p.macro("SH", "EXIT STATUS")
	for _, s := range []struct{ status, meaning string }{
		{fmt.Sprint(statusOK), "Success."},
		{fmt.Sprint(statusFailure), "A failure that is not the caller's."},
		{fmt.Sprint(statusBadInput), "Bad input: one line on standard error names the place and the remedy."},
		{fmt.Sprint(statusStrict), "diagnose --strict: the data must be repaired, or a correction is off."},
		{fmt.Sprint(statusInterrupted), "Stopped by a signal; the message says how to go on."},
	} {
		p.item(s.status, s.meaning)
	}
	p.macro("SH", "ENVIRONMENT")
	p.item("COLUMNS", "Width of tables, instead of the terminal's.")
	p.item("NO_COLOR", "No colours, if set.")
	p.item("SIMULATE_TRACE", "After an internal error, print where it happened, if set.")
	return p.String()
}

// command is a subsection: usage, what it does, arguments, flags.
func (p *roff) command(node *kong.Node) {
	usage := commandName(node)
	for _, arg := range node.Positional {
		usage += " " + arg.Summary()
	}
	p.macro("SS", usage)
	p.text(node.Help)
	if node.Parent.Type != kong.ApplicationNode && node.Parent.Detail != "" {
		p.prose(node.Parent.Detail)
	}
	p.prose(node.Detail)
	for _, arg := range node.Positional {
		p.item(arg.Summary(), arg.Help)
	}
	for _, f := range node.Flags {
		if !f.Hidden {
			p.item(f.String(), f.Help)
		}
	}
}

// roff is a page as it grows.
type roff struct{ strings.Builder }

// macro writes a request with its arguments, each one word.
func (p *roff) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, arg := range args {
		fmt.Fprintf(p, " \"%s\"", strings.ReplaceAll(roffText(arg), `"`, `\(dq`))
	}
	p.WriteByte('\n')
}

// text writes lines that are filled; one that would be read as a request is not.
func (p *roff) text(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		line = roffText(line)
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		p.WriteString(line + "\n")
	}
}

// item is a term and its meaning.
func (p *roff) item(term, meaning string) {
	p.macro("TP")
	p.macro("B", term)
	p.text(meaning)
}

// prose writes paragraphs; lines that are set in stand as they are.
func (p *roff) prose(text string) {
	if text == "" {
		return
	}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		p.macro("PP")
		verbatim := false
		for line := range strings.SplitSeq(paragraph, "\n") {
			if in := strings.HasPrefix(line, "  "); in != verbatim {
				verbatim = in
				p.macro(map[bool]string{true: "nf", false: "fi"}[in])
			}
			p.text(line)
		}
		if verbatim {
			p.macro("fi")
		}
	}
}

// roffText escapes what roff would read as its own.
func roffText(text string) string {
	return strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text)
}
