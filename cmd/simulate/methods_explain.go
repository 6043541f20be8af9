package main

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/trace"
	"driftlab/trainer/recipe"
)

// explanation is what a method does with the tokens of its worked example.
type explanation struct {
	Name    string `json:"name"`
	Field   string `json:"field"`
	Formula string `json:"formula"`
	// Compared says of a loss's formula whether it was evaluated on every token: equal,
	// different, or not, with the reason.
	Compared string `json:"compared,omitempty"`
	// Computed are the formulas that the loss gave for its value, by branch.
	Computed []string `json:"computed,omitempty"`
	// Loss is a loss's value, absent of a weight or mask.
	Loss *float64 `json:"loss,omitempty"`
	// Tokens have every figure with its formula, and Rest is what the loss has beside them.
	Tokens []trace.Token `json:"tokens"`
	Rest   []trace.Term  `json:"rest,omitempty"`
}

// explain shows the traces of the methods that have one.
func (c *methodsCmd) explain(a *app, found []recipe.Method) error {
	var all []explanation
	for _, m := range found {
		x, err := explained(m)
		if err != nil {
			return err
		}
		if x != nil {
			all = append(all, *x)
		}
	}
	if all == nil || c.Name == "" {
		return bad("methods --explain: name a policy loss, a weight or a mask; `simulate methods` lists them")
	}
	text := ""
	for _, x := range all {
		text += x.text()
	}
	return c.show(a, "methods.md", "# "+c.Name+"\n\n```\n"+text+"```\n", all, func() { fmt.Fprint(a.stdout, text) })
}

// explained is the trace of a method on its worked example, with its defaults; nil for
// what has none.
func explained(m recipe.Method) (*explanation, error) {
	x := &explanation{Name: m.Name, Field: m.Field, Formula: m.Formula}
	var t *trace.Trace
	switch m.Field {
	case "loss":
		e, err := loss.Registry.Lookup(m.Name)
		if err != nil {
			return nil, err
		}
		l := e.New()
		told, out, err := loss.Explain(l, loss.Worked(l))
		if err != nil {
			return nil, err
		}
		t, x.Loss, x.Rest = told, &out.Loss, told.Rest
		x.compare(l, t)
	case "correction.weights", "correction.masks":
		p := &correction.Pipeline{}
		if e, err := correction.Weightings.Lookup(m.Name); err == nil && m.Field == "correction.weights" {
			p.Weights = e.New()
		} else if e, err := correction.Masks.Lookup(m.Name); err == nil {
			p.Masks = []correction.Masking{e.New()}
		}
		b := correction.Worked()
		var accounts []correction.Account
		for _, stage := range []correction.Stage{correction.AtBatch, correction.AtStep} { // a mask runs at one of them
			told, err := p.Explain(b, stage)
			if err != nil {
				return nil, err
			}
			accounts = append(accounts, told...)
		}
		t = accounts[0].Trace
	default:
		return nil, nil
	}
	x.Tokens = t.Tokens
	return x, nil
}

// compare evaluates the documented formula on the trace.
func (x *explanation) compare(l loss.Loss, t *trace.Trace) {
	checked, why, err := loss.CheckFormula(l, x.Formula, t)
	switch {
	case err != nil:
		x.Compared = "different: " + err.Error()
	case checked:
		x.Compared = "equal"
	default:
		why, _, _ = strings.Cut(why, "\n")
		x.Compared = "not evaluated: " + why
	}
	for i := range t.Tokens {
		k := &t.Tokens[i]
		value, ok := k.Find(trace.Value)
		line := fmt.Sprintf("L = %s   (%s)", value.Formula, k.Branch)
		if ok && !slices.Contains(x.Computed, line) {
			x.Computed = append(x.Computed, line)
		}
	}
}

// heading is the formula: the documented one where it has the values below, else the
// computed ones.
func (x *explanation) heading(b *strings.Builder) {
	documented := strings.ReplaceAll(x.Formula, "\n", "\n  ")
	switch {
	case x.Compared == "" || x.Compared == "equal":
		fmt.Fprintf(b, "  %s\n", documented)
		if x.Compared != "" {
			b.WriteString("  This formula, evaluated on every token below, is L.\n")
		}
	case strings.HasPrefix(x.Compared, "different"):
		fmt.Fprintf(b, "  computed:   %s\n  documented: %s\n  The two are %s.\n", strings.Join(x.Computed, "\n              "), documented, x.Compared)
	default:
		fmt.Fprintf(b, "  computed:   %s\n  documented: %s\n  The documented formula is %s.\n", strings.Join(x.Computed, "\n              "), documented, x.Compared)
	}
}

// text shows a token after the other, line by line.
func (x *explanation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n", x.Name, x.Field)
	x.heading(&b)
	if x.Loss != nil {
		b.WriteString("  L is a token's term and dL its derivative by logp; loss and grad are the same with its weight in the batch.\n")
	}
	for i := range x.Tokens {
		k := &x.Tokens[i]
		fmt.Fprintf(&b, "\nresponse %d, token %d\n", k.Response+1, k.Position+1)
		for _, line := range k.Lines() {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	if x.Loss != nil {
		fmt.Fprintf(&b, "\nloss of the batch = the tokens' together")
		for _, part := range x.Rest {
			fmt.Fprintf(&b, ", and %s (%s)", part.Value, part.Name)
		}
		fmt.Fprintf(&b, " = %s\n", trace.Number(*x.Loss))
	}
	b.WriteByte('\n')
	return b.String()
}
