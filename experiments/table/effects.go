package table

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/results/record"
	"driftlab/results/stats"
)

// effectsFile has the effect of every setting as JSON, for the README, the pages of methods
// and the page of corrections.
const effectsFile = "effects.json"

// Effects are the effects of the settings of a stage that is whole.
type Effects struct {
	Stage string `json:"stage"`
	// Seeds is the number of seeds of every run, Rates the learning rates that an effect is
	// the mean over.
	Seeds     int        `json:"seeds"`
	Rates     []string   `json:"rates"`
	Stressors []Stressor `json:"stressors"`
	// Settings are ranked by their mean regret.
	Settings []Setting `json:"settings"`
	// Tuned compares settings at their own learning rates; nil while no task is whole.
	Tuned *Tuned `json:"tuned,omitempty"`
}

// Stressor is a problem that a run is given.
type Stressor struct {
	Name string `json:"name"`
	// Problem describes it in a phrase.
	Problem string `json:"problem"`
	// Healthy: it is none, only a harmless mismatch.
	Healthy bool `json:"healthy,omitempty"`
	// Recipe are its changes to a recipe, as --set takes them.
	Recipe []string `json:"recipe"`
	// Uncorrected is the mean pass rate of the whole run without a correction, minus that of
	// the matched control.
	Uncorrected float64 `json:"uncorrected"`
	// Recommended is the setting that the screening stage, which has other seeds, ranked first.
	Recommended string `json:"recommended"`
}

// Setting is a method with its parameters.
type Setting struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	// Recipe are its changes to a recipe, as --set takes them; none of the control.
	Recipe []string `json:"recipe"`
	// SameAs is an earlier setting whose runs all have the same bits; empty if there is none.
	SameAs string `json:"same_as,omitempty"`
	// Regret is the mean distance to the best setting of each stressor.
	Regret stats.Interval `json:"regret"`
	// Effects are in the order of the stressors.
	Effects []Effect `json:"effects"`
}

// Effect is the mean pass rate of the whole run with a setting minus that without a
// correction, under a stressor, paired by seed.
type Effect struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	// P is adjusted over all settings and stressors of the stage (stats.WestfallYoung); nan
	// where no bit differs.
	P record.Number `json:"p"`
	// Inactive: the setting changed no bit of any run under the stressor.
	Inactive bool `json:"inactive,omitempty"`
}

// Significant is 1 where the effect is significantly positive, -1 where significantly
// negative, and else 0.
func (e Effect) Significant() int {
	return Gain{Interval: stats.Interval{Estimate: e.Estimate}, P: e.P}.sign()
}

// ReadEffects reads the file.
func ReadEffects(text []byte) (*Effects, error) {
	e := new(Effects)
	return e, json.Unmarshal(text, e)
}

// JSON is the file, indented.
func (e *Effects) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(e, "", " ")
	return append(text, '\n'), err
}

// Setting is the one of that name.
func (e *Effects) Setting(name string) (Setting, bool) {
	i := slices.IndexFunc(e.Settings, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return e.Settings[i], true
}

// effects are those of a ranking; nil while its stage can tell no difference, and without a
// screening stage.
func (r *Ranking) effects(screen *Ranking) (*Effects, error) {
	if !r.confirms(screen) {
		return nil, nil
	}
	all, err := AllNamed()
	if err != nil {
		return nil, err
	}
	e := &Effects{Stage: r.Stage.Name, Seeds: len(r.Stage.Index.Seeds), Rates: ratesOf(r.Rows)}
	bare := slices.IndexFunc(r.Methods, func(m Standing) bool { return m.Method == control })
	for j, name := range r.Stressors {
		s := Stressor{Name: name, Problem: r.problem(j), Healthy: r.row(j).Letter == healthy, Recipe: recipeOf(all, "stressor", name), Recommended: r.recommended(screen, name)}
		if bare >= 0 {
			s.Uncorrected = shortened(r.Methods[bare].AUC[j])
		}
		e.Stressors = append(e.Stressors, s)
	}
	for _, m := range r.Methods {
		s := Setting{Name: m.Method, Group: m.Group, Recipe: recipeOf(all, "setting", m.Method), SameAs: m.SameAs,
			Regret: stats.Interval{Estimate: shortened(m.Regret.Estimate), Low: shortened(m.Regret.Low), High: shortened(m.Regret.High), N: m.Regret.N}}
		for j := range r.Stressors {
			g := m.gain(j)
			s.Effects = append(s.Effects, Effect{shortened(g.Estimate), shortened(g.Low), shortened(g.High), g.P, m.Idle[j] && m.Method != control})
		}
		e.Settings = append(e.Settings, s)
	}
	return e, nil
}

// confirms reports whether the stage tests what a screening stage selected: with other seeds,
// and enough of them.
func (r *Ranking) confirms(screen *Ranking) bool {
	return screen != nil && screen.Stage.Name != r.Stage.Name && r.Stage.tells()
}

// recommended is the setting that ranked first under a stressor in the screening stage, of
// those that this stage has; of equal ones the first in this stage's plan.
func (r *Ranking) recommended(screen *Ranking, stressor string) string {
	k := slices.Index(screen.Stressors, stressor)
	if k < 0 {
		return ""
	}
	first, highest := "", math.Inf(-1)
	for _, c := range screen.Methods {
		own := slices.ContainsFunc(r.Methods, func(m Standing) bool { return m.Method == c.Method })
		if own && c.Method != control && c.AUC[k] > highest {
			first, highest = c.Method, c.AUC[k]
		}
	}
	return first
}

// ratesOf lists the learning rates of rows.
func ratesOf(rows []Row) (rates []string) {
	for _, r := range rows {
		if !slices.Contains(rates, r.Rate) {
			rates = append(rates, r.Rate)
		}
	}
	return rates
}

// Line is a setting's changes as lines of a recipe.
func (s Setting) Line() string { return recipeLine(s.Recipe) }

// recipeLine writes changes as a recipe has them: "a.b=1" and "a.c=2" are "a: {b: 1, c: 2}".
func recipeLine(changes []string) string {
	var root branch
	for _, c := range changes {
		path, value, _ := strings.Cut(c, "=")
		at := &root
		for name := range strings.SplitSeq(path, ".") {
			at = at.child(name)
		}
		at.value = value
	}
	var lines []string
	for _, section := range root.children {
		lines = append(lines, section.name+": "+section.text())
	}
	return strings.Join(lines, "\n")
}

// branch is a field of a recipe, or a mapping of fields.
type branch struct {
	name, value string
	children    []*branch
}

func (b *branch) child(name string) *branch {
	for _, c := range b.children {
		if c.name == name {
			return c
		}
	}
	b.children = append(b.children, &branch{name: name})
	return b.children[len(b.children)-1]
}

func (b *branch) text() string {
	if len(b.children) == 0 {
		return b.value
	}
	var fields []string
	for _, c := range b.children {
		fields = append(fields, c.name+": "+c.text())
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// shortened keeps the file short: pass rates are of some hundred prompts.
func shortened(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// problems describe by its letter what a stressor does to a run; %s is its level.
var problems = map[string]string{
	"A": "low-precision rollout engine (%s), training on negative advantages only",
	"B": "stale rollouts (off-policy lag of %s updates), training on negative advantages only",
	"C": "stale rollouts (off-policy lag of %s updates)",
	"D": "low-precision MoE router in the rollout engine (%s)",
	"E": "%s updates per batch",
	"F": "truncated sampling (top-p %s)",
	"G": "no stressor (%s rollouts)",
}

// problem describes a stressor by its place.
func (r *Ranking) problem(stressor int) string {
	row := r.row(stressor)
	return problemText(row.Letter, row.Dose)
}

// problemText describes a stressor by its letter and level.
func problemText(letter, level string) string {
	if text, ok := problems[letter]; ok {
		return fmt.Sprintf(text, level)
	}
	return level
}
