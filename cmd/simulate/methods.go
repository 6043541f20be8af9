package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"driftlab/engine"
	"driftlab/experiments/measure/tables"
	"driftlab/experiments/study/sources"
	"driftlab/results/figure"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/trace"
	"driftlab/trainer/recipe"
)

type methodsCmd struct {
	Name    string `arg:"" complete:"methods" optional:"" help:"A method, setting, stressor, claim, recipe or field of a recipe, or an arXiv id; or recipe, recipes, systems, presets, numerics, papers, coverage. Without a name, all methods are listed."`
	Explain bool   `help:"Show what a policy loss, a weight, a mask or a correction preset computes on every token of its example, with a check of the gradient."`

	Framework string `overrides:"<name> --explain" help:"A framework's page: its losses, advantages, corrections, schedulers and metrics with those here or the reason, and its keys likewise." placeholder:"NAME"`
	jsonFlag
	outFlag
}

// Run lists the methods, or shows those of one name.
func (c *methodsCmd) Run(a *app) error {
	if c.Framework != "" {
		return c.framework(a)
	}
	if c.Explain {
		return c.explain(a)
	}
	pages := map[string]func(*app) error{"recipes": c.recipes, "systems": c.systems, "coverage": c.coverage,
		"presets":  func(a *app) error { return c.presets(a, correction.Presets) },
		"numerics": func(a *app) error { return c.table(a, "numerics.md", tables.PresetTable(), engine.Presets()) },
		"papers": func(a *app) error {
			return c.table(a, "papers.md", sources.PapersTable(sources.Papers()), sources.Papers())
		}}
	if page := pages[c.Name]; page != nil {
		return page(a)
	}
	if sources.ArXiv.FindString(c.Name) == c.Name && c.Name != "" {
		return c.onePaper(a)
	}
	if p, err := correction.LookupPreset(c.Name); err == nil {
		return c.presets(a, []correction.Preset{p})
	}
	if fields := recipe.LookUp(c.Name); fields != nil {
		return c.fields(a, fields)
	}
	found, err := findMethods(c.Name)
	if slices.Contains(recipe.Names(), c.Name) && err != nil {
		return c.page(a)
	}
	if err != nil {
		for _, other := range []func(*app) (bool, error){c.named, c.term, c.counterparts} {
			if ok, failed := other(a); ok || failed != nil {
				return failed
			}
		}
		return err
	}
	return c.show(a, "methods.md", methodsMarkdown(found), found, func() {
		if c.Name != "" {
			for _, m := range found {
				fmt.Fprint(a.stdout, methodText(m))
			}
			return
		}
		for _, t := range methodTables(found) {
			a.printTable(t)
		}
		fmt.Fprintf(a.stdout, "Numerics: %s\n\nRecipes: %s\n\n", strings.Join(engine.PresetNames(), ", "), strings.Join(recipe.Names(), ", "))
		fmt.Fprintln(a.stdout, "simulate methods NAME explains a method; recipe lists all fields of a recipe, recipes the shipped recipes, systems the asynchronous systems, presets the published corrections, numerics the presets of numerics.")
	})
}

// findMethods returns the methods of that name or alias, all for the empty
// one. One name may stand for several methods, in different fields of a recipe.
func findMethods(name string) ([]recipe.Method, error) {
	all := recipe.Methods()
	if name == "" {
		return all, nil
	}
	if name == "adaptive_kl" || name == "fixed_kl" { // verl's controllers are parameters of a term here
		name = "k1"
	}
	var found []recipe.Method
	var known []string
	for _, m := range all {
		if m.Name == name || slices.Contains(m.Aliases, name) {
			found = append(found, m)
		}
		known = append(append(known, m.Name), m.Aliases...)
	}
	if found != nil {
		return found, nil
	}
	known = append(known, "recipe", "recipes", "systems", "presets", "numerics", "papers")
	known = append(known, stats.Map(correction.Presets, func(p correction.Preset) string { return p.Name })...)
	known = append(known, stats.Map(recipe.Reference(), func(f recipe.FieldReference) string { return f.Path })...)
	known = append(known, stats.Map(printedNames(), func(p namedPage) string { return p.Name })...)
	switch near := method.Nearest(name, known); near {
	case "":
	case name: // of another page
		return nil, bad("methods: %s is not a loss, weight, mask or preset", name)
	default:
		return nil, bad("methods: unknown name %q: did you mean %q?", name, near)
	}
	return nil, bad("methods: unknown name %q; `simulate methods` lists all", name)
}

// methodTables is one table per field of a recipe; of a system it has the rule and the
// bound, where other methods have the unit.
func methodTables(all []recipe.Method) []*figure.Figure {
	var tables []*figure.Figure
	for _, m := range all {
		if n := len(tables); n == 0 || tables[n-1].Title != m.Field {
			head := "methods"
			if m.Bound != nil {
				head = "bounded methods"
			}
			tables = append(tables, tableHead(head, m.Field))
		}
		aliases := figure.Word(strings.Join(m.Aliases, ", ")).As(figure.Muted)
		if m.Bound != nil {
			rule, _, _ := strings.Cut(m.Formula, "\n")
			tables[len(tables)-1].Add(figure.Word(m.Name).As(figure.Strong), figure.Word(boundText(*m.Bound)), aliases, figure.Word(rule), figure.Word(m.Source))
			continue
		}
		tables[len(tables)-1].Add(figure.Word(m.Name).As(figure.Strong), figure.Word(string(m.Unit)), aliases, figure.Word(m.Source))
	}
	return tables
}

// rollOrLogp are the columns by which formulas name the policies mu and new.
var rollOrLogp = regexp.MustCompile(`\b(roll|logp|lr)(_|\b)`)

func methodText(m recipe.Method) string { return textOf("method", m) }

// effectsOf are the effects that the stability map has of a method and of the settings that it is in.
func effectsOf(m recipe.Method) string {
	if m.Group == "schedule" { // which is a stressor there
		return ""
	}
	arms, named := []string{m.Name}, regexp.MustCompile(`(?m)(name: |=)`+regexp.QuoteMeta(m.Name)+`($|[,}])`)
	for _, p := range printedNames() {
		if p.Kind == "setting" && p.Name != m.Name && named.MatchString(strings.Join(p.Recipe, "\n")) {
			arms = append(arms, p.Name)
		}
	}
	return measuredEffects(arms...)
}

// methodsMarkdown is the same for a file.
func methodsMarkdown(found []recipe.Method) string {
	var b strings.Builder
	b.WriteString("# Methods\n")
	field := ""
	for _, m := range found {
		if m.Field != field {
			field = m.Field
			fmt.Fprintf(&b, "\n## %s\n", field)
		}
		head, rest, _ := strings.Cut(methodText(m), "\n")
		fmt.Fprintf(&b, "\n### %s\n\n```\n%s\n```\n", head, strings.TrimSpace(rest))
	}
	return b.String()
}

// explanation is what a method does with the tokens of its worked example.
type explanation struct {
	Name    string `json:"name"`
	Field   string `json:"field"`
	Formula string `json:"formula"`
	// Gradient is the documented formula of a loss's derivative.
	Gradient string `json:"gradient,omitempty"`
	// Loss is a loss's value, absent of a weight or mask.
	Loss *float64 `json:"loss,omitempty"`
	// Tokens have the figures that the evaluation recorded, and Rest is what the loss has in addition.
	Tokens []trace.Token `json:"tokens"`
	Rest   []trace.Term  `json:"rest,omitempty"`
}

func (c *methodsCmd) explain(a *app) error {
	all, err := c.explanations()
	if err != nil {
		return err
	}
	if all == nil || c.Name == "" {
		return bad("methods --explain: name a policy loss, a weight, a mask or a correction preset; `simulate methods` lists them")
	}
	text := ""
	for _, x := range all {
		text += textOf("explanation", &x)
	}
	return c.fenced(a, c.Name, text, all)
}

// explanations are those of the methods of a name or, if there are none, of the parts of a correction preset.
func (c *methodsCmd) explanations() (all []explanation, err error) {
	found, err := findMethods(c.Name)
	if preset, none := correction.LookupPreset(c.Name); err != nil && none == nil {
		return explainedPreset(preset)
	}
	if err != nil && slices.Contains(recipe.Names(), c.Name) {
		return nil, bad("methods --explain: %s is a recipe: `simulate methods %[1]s` names its parts", c.Name)
	}
	for _, m := range found {
		x, err := explained(m)
		if err != nil {
			return nil, err
		}
		if x != nil {
			all = append(all, *x)
		}
	}
	return all, err
}

// explained is the trace of a method on its worked example, with its defaults; nil for
// what has none.
func explained(m recipe.Method) (*explanation, error) {
	x := &explanation{Name: m.Name, Field: m.Field, Formula: m.Formula, Gradient: m.Gradient}
	var t *trace.Trace
	switch m.Field {
	case "loss":
		e, _ := loss.Registry.Lookup(m.Name)
		l := e.New()
		b := loss.Worked(l)
		all := make([]int, b.Tokens())
		for n := range all {
			all[n] = n
		}
		told, out, err := loss.Explain(l, b, all)
		if err != nil {
			return nil, err
		}
		t, x.Loss, x.Rest = told, &out.Loss, told.Rest
	case "correction.weights", "correction.masks":
		p := &correction.Pipeline{}
		if e, err := correction.Weightings.Lookup(m.Name); err == nil && m.Field == "correction.weights" {
			p.Weights = e.New()
		} else if e, err := correction.Masks.Lookup(m.Name); err == nil {
			p.Masks = []correction.Masking{e.New()}
		}
		accounts, err := accountsOf(p)
		if err != nil {
			return nil, err
		}
		t = accounts[0].Trace
	default:
		return nil, nil
	}
	x.Tokens = t.Tokens
	return x, nil
}

// explainedPreset has the trace of each weight and mask of a preset, with its own thresholds.
func explainedPreset(p correction.Preset) (all []explanation, err error) {
	accounts, err := accountsOf(p.New())
	if err != nil {
		return nil, err
	}
	for _, account := range accounts {
		for _, m := range recipe.Methods() {
			if m.Name == account.Name && strings.HasPrefix(m.Field, "correction.") {
				all = append(all, explanation{Name: p.Name + ": " + m.Name, Field: m.Field, Formula: m.Formula, Tokens: account.Trace.Tokens})
			}
		}
	}
	if all == nil {
		return nil, bad("methods --explain: the preset %s has neither a weight nor a mask", p.Name)
	}
	return all, nil
}

// accountsOf is what the methods of a correction recorded of the worked example; a mask runs at one of two stages.
func accountsOf(p *correction.Pipeline) (accounts []correction.Account, err error) {
	b := correction.Worked()
	for _, stage := range []correction.Stage{correction.AtBatch, correction.AtStep} {
		told, err := p.Explain(b, stage)
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, told...)
	}
	return accounts, nil
}
