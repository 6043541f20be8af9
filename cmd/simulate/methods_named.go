package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"driftlab/experiments"
	"driftlab/experiments/study/claims"
	"driftlab/experiments/study/sources"
	"driftlab/experiments/table"
	"driftlab/trainer/recipe/foreign"
)

// namedPage is a name that a table, plot or claim prints, as --json has it.
type namedPage struct {
	table.Named
	Problem    string           `json:"problem,omitempty"`
	SameAs     string           `json:"same_as,omitempty"`
	Seeds      int              `json:"seeds,omitempty"`
	Effects    []namedEffect    `json:"effects,omitempty"`
	Models     int              `json:"models,omitempty"`
	Tuned      []tunedEffect    `json:"tuned,omitempty"`
	Frameworks []frameworkLines `json:"frameworks,omitempty"`
	Command    string           `json:"command"`
}

// namedEffect is an effect with the names of what it is of.
type namedEffect struct {
	Setting  string `json:"setting"`
	Stressor string `json:"stressor"`
	Problem  string `json:"problem"`
	table.Effect
}

// tunedEffect is an effect at tuned learning rates with the names of what it is of.
type tunedEffect struct {
	Setting     string `json:"setting"`
	Task        string `json:"task"`
	Stressor    string `json:"stressor"`
	ControlRate string `json:"control_rate"`
	table.TunedEffect
}

// frameworkLines is a setting in the syntax of a framework.
type frameworkLines struct {
	Framework string   `json:"framework"`
	Text      string   `json:"text"`
	Notes     []string `json:"notes"`
}

// printedNames are the names of settings, stressors, arms of the headline, sweeps and claims.
func printedNames() ([]namedPage, error) {
	all, err := table.AllNamed()
	if err != nil {
		return nil, err
	}
	var pages []namedPage
	for _, n := range all {
		only := "stressor=" + n.Name
		if n.Kind == "setting" {
			only = "method=none+" + n.Name
		}
		pages = append(pages, namedPage{Named: n, Command: fmt.Sprintf("simulate sweep %s --only %s", n.Sweeps[0], only)})
	}
	for _, arm := range experiments.HeadlineArms() {
		pages = append(pages, namedPage{Named: table.Named{Name: arm.Name, Kind: "arm of the main job", Recipe: append([]string{}, arm.Set...)}, Problem: arm.Title, Command: "simulate --arms " + arm.Name})
	}
	for _, name := range table.Names() {
		pages = append(pages, namedPage{Named: table.Named{Name: name, Kind: "sweep"}, Command: "simulate sweep " + name})
	}
	for _, c := range claims.All() {
		pages = append(pages, namedPage{Named: table.Named{Name: c.ID, Kind: "claim"}, Problem: c.Title, Command: "simulate reproduce " + c.ID + " --quick"})
	}
	return pages, nil
}

// named shows what a printed name stands for; ok is false where it is none.
func (c *methodsCmd) named(a *app) (ok bool, err error) {
	pages, err := printedNames()
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(pages, func(p namedPage) bool { return p.Name == c.Name })
	if i < 0 {
		return false, nil
	}
	p := pages[i]
	if err := p.fill(); err != nil {
		return false, err
	}
	text := p.String()
	return true, c.show(a, "methods.md", "# "+p.Name+"\n\n```\n"+text+"```\n", p, func() { fmt.Fprint(a.stdout, text) })
}

// fill adds the published effects and the lines of the frameworks.
func (p *namedPage) fill() error {
	effects := publishedEffects()
	p.Seeds = effects.Seeds
	p.fillTuned(effects.Tuned)
	switch p.Kind {
	case "setting":
		if s, ok := effects.Setting(p.Name); ok {
			p.SameAs = s.SameAs
			for j, e := range s.Effects {
				p.Effects = append(p.Effects, namedEffect{s.Name, effects.Stressors[j].Name, effects.Stressors[j].Problem, e})
			}
		}
		if len(p.Recipe) == 0 {
			return nil
		}
		for _, name := range foreign.Writable() {
			text, notes, err := foreign.WriteChanged(name, "headline", p.Recipe)
			if err != nil {
				return err
			}
			p.Frameworks = append(p.Frameworks, frameworkLines{name, text, notes})
		}
	case "stressor":
		for j, stressor := range effects.Stressors {
			if stressor.Name == p.Name {
				p.Problem = stressor.Problem
				p.Effects = best(effects, j)
			}
		}
	}
	return nil
}

// fillTuned adds the effects at tuned learning rates, the largest first where the page is a stressor's.
func (p *namedPage) fillTuned(t *table.Tuned) {
	if t == nil {
		return
	}
	p.Models = t.Models
	for i := range t.Tasks {
		task := &t.Tasks[i]
		var own []tunedEffect
		for _, s := range task.Settings {
			for j, e := range s.Effects {
				problem := task.Problems[j]
				named := p.Kind == "setting" && p.Name == s.Name || p.Kind == "stressor" && p.Name == problem.Name
				if named && s.SameAs == "" && len(s.Recipe) > 0 && !e.Inactive {
					own = append(own, tunedEffect{s.Name, task.Name, problem.Name, problem.Rate, e})
				}
			}
		}
		if p.Kind == "stressor" {
			slices.SortStableFunc(own, func(a, b tunedEffect) int { return cmp.Compare(b.Estimate, a.Estimate) })
			own = own[:min(len(own), shownEffects)]
		}
		p.Tuned = append(p.Tuned, own...)
	}
}

// best are the effects of the distinct settings under a stressor, the largest first.
func best(effects *table.Effects, stressor int) (list []namedEffect) {
	for _, s := range effects.Settings {
		if s.SameAs == "" && len(s.Recipe) > 0 {
			list = append(list, namedEffect{s.Name, effects.Stressors[stressor].Name, effects.Stressors[stressor].Problem, s.Effects[stressor]})
		}
	}
	slices.SortStableFunc(list, func(a, b namedEffect) int { return cmp.Compare(b.Estimate, a.Estimate) })
	return list
}

// shownEffects is how many settings a stressor's page lists.
const shownEffects = 10

// String is the page for a terminal.
func (p *namedPage) String() string {
	var b strings.Builder
	head := p.Kind
	if p.Group != "" {
		head += ", group " + p.Group
	}
	if p.Level != "" && p.Level != "none" {
		head += ", level " + p.Level
	}
	fmt.Fprintf(&b, "%s (%s)\n", p.Name, head)
	if p.Problem != "" {
		fmt.Fprintf(&b, "  %s\n", p.Problem)
	}
	if p.SameAs != "" {
		fmt.Fprintf(&b, "  Every published run is equal in every bit to that with %s.\n", p.SameAs)
	}
	if len(p.Recipe) > 0 {
		fmt.Fprintf(&b, "\nIn a recipe\n%s\n", indented(p.Line()))
	}
	if len(p.Frameworks) > 0 {
		b.WriteString("\nIn frameworks\n")
	}
	for _, f := range p.Frameworks {
		text := f.Framework + ": " + foreign.NotWritten
		if f.Text != "" {
			text = f.Framework + "\n" + indented(strings.TrimSpace(f.Text))
		}
		fmt.Fprintln(&b, indented(text))
		for _, note := range f.Notes {
			fmt.Fprintf(&b, "    # %s\n", note)
		}
	}
	p.writeTuned(&b)
	writeEffects(&b, p.Kind, p.Seeds, p.Effects)
	fmt.Fprintf(&b, "\nRun\n  %s\n\n", p.Command)
	return b.String()
}

// writeTuned lists the effects at tuned learning rates.
func (p *namedPage) writeTuned(b *strings.Builder) {
	if len(p.Tuned) == 0 {
		return
	}
	name := func(e tunedEffect) string { return e.Task + ", " + e.Stressor }
	if p.Kind == "stressor" {
		name = func(e tunedEffect) string { return e.Task + ", " + e.Setting }
	}
	width := 0
	for _, e := range p.Tuned {
		width = max(width, len(name(e)))
	}
	fmt.Fprintf(b, "\nImprovement over no correction, both at their own learning rates: paired by base model, n = %d\n", p.Models)
	for _, e := range p.Tuned {
		fmt.Fprintf(b, "  %-*s  %+.2f (%+.2f to %+.2f) at %s, no correction at %s  %s\n", width, name(e), e.Estimate, e.Low, e.High, e.Rate, e.ControlRate, significance(e.Effect))
	}
}

// significance says on which side an effect is significant.
func significance(e table.Effect) string {
	return [...]string{"significantly worse", "not significant", "significantly better"}[e.Significant()+1]
}

// writeEffects lists effects with their intervals, under the name of the stressor; of a
// stressor, the first under the name of the setting.
func writeEffects(b *strings.Builder, kind string, seeds int, list []namedEffect) {
	if len(list) == 0 {
		return
	}
	name := func(e namedEffect) string { return e.Stressor }
	if kind == "stressor" {
		list, name = list[:min(len(list), shownEffects)], func(e namedEffect) string { return e.Setting }
	}
	width := 0
	for _, e := range list {
		width = max(width, len(name(e)))
	}
	fmt.Fprintf(b, "\nImprovement over no correction, the same learning rates for both: mean pass rate of the whole run, paired by seed, n = %d\n(95 %% CI of each comparison, unadjusted; significance is adjusted over the whole table, family-wise 5 %%, so that\na CI that excludes zero need not be significant)\n", seeds)
	for _, e := range list {
		verdict := significance(e.Effect)
		if e.Inactive {
			verdict = "has no effect: every bit equals the run without a correction"
		}
		fmt.Fprintf(b, "  %-*s  %+.2f (%+.2f to %+.2f)  %s\n", width, name(e), e.Estimate, e.Low, e.High, verdict)
	}
}

// settingsOf are the settings of the published table that name a method, a line each with
// their significant effects.
func settingsOf(method string) string {
	effects := publishedEffects()
	named := regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(method) + `($|[^\w-])`)
	var b strings.Builder
	for _, s := range effects.Settings {
		if !named.MatchString(strings.Join(s.Recipe, "\n")) {
			continue
		}
		var found []string
		for j, e := range s.Effects {
			if e.Significant() != 0 {
				found = append(found, fmt.Sprintf("%s %+.2f (%+.2f to %+.2f)", effects.Stressors[j].Name, e.Estimate, e.Low, e.High))
			}
		}
		fmt.Fprintf(&b, "%s: %s\n", s.Name, cmp.Or(strings.Join(found, ", "), "no significant effect"))
	}
	return b.String()
}

// publishedEffects are those that the program has with it.
func publishedEffects() *table.Effects {
	effects, err := table.PublishedEffects()
	if err != nil {
		panic("effects.json: " + err.Error()) // tests read it
	}
	return effects
}

// claimsOn are the published claims that cite a paper of a method's source, a line each with the verdict and the command.
func claimsOn(source string) string {
	cited := sources.ArXiv.FindAllString(source, -1)
	var b strings.Builder
	for _, c := range claims.All() {
		if !slices.ContainsFunc(cited, func(id string) bool { return strings.Contains(c.Source, id) }) {
			continue
		}
		fmt.Fprintf(&b, "%s: %s: %s (simulate reproduce %s)\n", c.ID, c.Title, sources.Verdict(c), c.ID)
	}
	return b.String()
}

// papers lists the papers.
func (c *methodsCmd) papers(a *app) error {
	list := sources.Papers()
	t := sources.PapersTable(list)
	return c.show(a, "papers.md", t.Markdown(), list, func() { a.printTable(t) })
}

// onePaper shows what the program has of a paper.
func (c *methodsCmd) onePaper(a *app) error {
	list := sources.Papers()
	at := slices.IndexFunc(list, func(p sources.Paper) bool { return p.ID == c.Name })
	if at < 0 {
		return bad("methods: no method, recipe or claim cites arXiv %s; `simulate methods papers` lists the papers", c.Name)
	}
	text := list[at].Text()
	return c.show(a, "paper.txt", text, list[at], func() { fmt.Fprint(a.stdout, text) })
}

// coverage lists features and statements.
func (c *methodsCmd) coverage(a *app) error {
	list, err := sources.Coverage()
	if err != nil {
		return err
	}
	return c.show(a, "coverage.md", sources.CoveragePage(list), list, func() {
		for _, t := range sources.CoverageTables(list) {
			a.printTable(t)
		}
	})
}
