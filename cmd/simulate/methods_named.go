package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"driftlab/experiments/studies"
	"driftlab/experiments/study"
	"driftlab/experiments/study/claims"
	"driftlab/experiments/study/sources"
	"driftlab/results/record"
	"driftlab/results/stability"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

// namedPage is a name that a plan, plot or claim prints, as --json has it.
type namedPage struct {
	Name string `json:"name"`
	// Kind is setting, stressor, study, claim or arm of the main job.
	Kind string `json:"kind"`
	// Studies are those that have a setting or a stressor.
	Studies []string `json:"studies,omitempty"`
	// Group is the kind of method of a setting, Level the strength of a stressor.
	Group string `json:"group,omitempty"`
	Level string `json:"level,omitempty"`
	// Recipe are the changes to a recipe, as --set takes them.
	Recipe     []string         `json:"recipe"`
	Title      string           `json:"title,omitempty"`
	Frameworks []frameworkLines `json:"frameworks,omitempty"`
	Command    string           `json:"command"`
}

type frameworkLines struct {
	Framework string   `json:"framework"`
	Text      string   `json:"text"`
	Notes     []string `json:"notes"`
}

// factorKinds are what the values of a factor are, by its name: those of other factors are numbers.
var factorKinds = map[string]string{"method": "setting", "stressor": "stressor", "gap": "stressor", study.ArmFactor: "arm"}

// printedNames are the names of settings and stressors of the shipped studies, of the studies and of the claims.
var printedNames = sync.OnceValue(func() (pages []namedPage) {
	for _, file := range studies.Names() {
		plan := shippedPlan(file)
		command := "simulate study " + file
		for _, f := range plan.Factors {
			kind, ok := factorKinds[f.Name]
			if !ok {
				continue
			}
			for _, v := range f.Values {
				page := namedValue(kind, v, command)
				i := slices.IndexFunc(pages, func(p namedPage) bool { return p.Name == v.Name && p.Kind == kind })
				if i < 0 {
					i, pages = len(pages), append(pages, page)
				}
				if slices.Equal(pages[i].Recipe, page.Recipe) { // else another setting has that name there
					pages[i].Studies = append(pages[i].Studies, file)
				}
			}
		}
		pages = append(pages, namedPage{Name: file, Kind: "study", Title: plan.Title, Recipe: []string{}, Command: command})
	}
	for _, c := range claims.All() {
		pages = append(pages, namedPage{Name: c.ID, Kind: "claim", Title: c.Title, Recipe: []string{}, Command: "simulate reproduce " + c.ID + " --quick"})
	}
	return pages
})

func namedValue(kind string, v study.Value, command string) namedPage {
	p := namedPage{Name: v.Name, Kind: kind, Command: command, Recipe: stats.Map(v.Set, recipe.Change.String)}
	for _, l := range v.Labels {
		switch l.Name {
		case "group":
			p.Group = l.Text
		case "dose":
			p.Level = l.Text
		case "title":
			p.Title = l.Text
		}
	}
	return p
}

// named shows what a printed name stands for; ok is false where it is none.
func (c *methodsCmd) named(a *app) (ok bool, err error) {
	pages := printedNames()
	i := slices.IndexFunc(pages, func(p namedPage) bool { return p.Name == c.Name })
	if i < 0 {
		return false, nil
	}
	p := pages[i]
	p.fill()
	return true, c.fenced(a, p.Name, textOf("named", p), p)
}

// setting is the page of the setting with a name; nil where there is none.
func setting(name string) *namedPage {
	for _, p := range printedNames() {
		if p.Kind == "setting" && p.Name == name {
			p.fill()
			return &p
		}
	}
	return nil
}

// settingOf is the page of the setting with a method's name, where it sets that method; its title names the studies if it changes more.
func settingOf(m recipe.Method) *namedPage {
	p := setting(m.Name)
	if p == nil || !slices.ContainsFunc(p.Recipe, func(change string) bool {
		return strings.HasPrefix(change, m.Field) && regexp.MustCompile(`(=|name: )`+m.Name+`\b`).MatchString(change)
	}) {
		return nil
	}
	p.Title = ""
	if alone := []string{m.Field + "=" + m.Name, m.Field + ".name=" + m.Name}; len(p.Recipe) > 1 || !slices.Contains(alone, p.Recipe[0]) {
		p.Title = "As the setting " + p.Name + " of " + strings.Join(p.Studies, ", ")
	}
	return p
}

// fill writes a setting in the syntax of each framework.
func (p *namedPage) fill() {
	if p.Kind == "setting" && len(p.Recipe) > 0 {
		for _, name := range foreign.Writable() {
			text, notes, err := foreign.WriteChanged(name, "headline", p.Recipe)
			if err != nil {
				panic("simulate: " + err.Error()) // a test writes all settings
			}
			p.Frameworks = append(p.Frameworks, frameworkLines{name, text, notes})
		}
	}
}

// measuredEffects are the lines of the published stability map on some of its arms.
func measuredEffects(arms ...string) string {
	var lines []string
	for _, arm := range arms {
		lines = append(lines, stability.Published().Effects(arm)...)
	}
	return strings.Join(lines, "\n")
}

// claimsOn are the published claims that cite a paper of a method's source, a line each with the verdict and the command.
func claimsOn(source string) string {
	cited := sources.ArXiv.FindAllString(source, -1)
	var b strings.Builder
	for _, c := range claims.All() {
		if slices.ContainsFunc(cited, func(id string) bool { return strings.Contains(c.Source, id) }) {
			fmt.Fprintf(&b, "%s: %s: %s (simulate reproduce %s)\n", c.ID, c.Title, sources.Verdict(c), c.ID)
		}
	}
	return b.String()
}

// methodsCiting are the methods whose source is a paper.
func methodsCiting(id string) []recipe.Method {
	return slices.DeleteFunc(recipe.Methods(), func(m recipe.Method) bool { return !slices.Contains(sources.ArXiv.FindAllString(m.Source, -1), id) })
}

func (c *methodsCmd) onePaper(a *app) error {
	list := sources.Papers()
	at := slices.IndexFunc(list, func(p sources.Paper) bool { return p.ID == c.Name })
	if at < 0 {
		return bad("methods: no method, recipe or claim cites arXiv %s; `simulate methods papers` lists the papers", c.Name)
	}
	return c.text(a, "paper.txt", textOf("paper", list[at]), list[at])
}

func (c *methodsCmd) coverage(a *app) error {
	list := sources.Coverage()
	pages := sources.CoveragePages(list)
	for _, p := range pages[1:] {
		if c.Out == "" {
			break
		}
		if err := record.WriteNew(filepath.Join(c.Out, p.Name), []byte(p.Text)); err != nil {
			return err
		}
	}
	return c.show(a, pages[0].Name, pages[0].Text, list, func() {
		for _, t := range sources.CoverageTables(list) {
			a.printTable(t)
		}
	})
}
