package study

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/trainer/method"
	"driftlab/trainer/recipe"
)

// Plan is a sweep as somebody wrote it.
type Plan struct {
	// Name labels folders; Title heads the page, which is named after the factors without one.
	Name  string `yaml:"name"`
	Title string `yaml:"title"`
	// Declared is what was written down before the runs.
	Declared string `yaml:"declared"`
	// Bases are the recipes to start from, by shipped name or file. Several are the
	// values of a factor named recipe, the outermost.
	Bases bases `yaml:"base"`
	// Set is what is changed in all of them.
	Set changes `yaml:"set"`
	// Models are the base models that the study makes first, one for each seed.
	Models []Models `yaml:"models"`
	// Seeds are the seeds of every point. With a ladder the first ones locate its limits, Confirm, after them, judge what was located, and
	// Fresh, the last ones, are run once at the end: whether what was judged holds on other models.
	Seeds   seeds `yaml:"seeds"`
	Confirm seeds `yaml:"confirm"`
	Fresh   seeds `yaml:"fresh"`
	// Ladder chooses the learning rates by the outcomes; nil where the factors name all.
	Ladder *Ladder
	// Within is the factor whose values each have equal engines of their own, such as the task: no ratio or difference to equal engines goes
	// across them. Predict are arms whose limits a law of the other arms predicts (law.go).
	Within  string   `yaml:"within"`
	Predict []string `yaml:"predict"`
	// Judge are the checks that were declared before the runs; Quick is a preview of the plan, nil for none.
	Judge []Declared `yaml:"judge"`
	Quick *Quick     `yaml:"quick"`
	// Factors span the grid; the first varies slowest.
	Factors []Factor `yaml:"factors"`
	// Only, unless it is empty, lists the points there are: those that meet one of
	// the conditions. Those that meet one of Except are left out.
	Only   conditions `yaml:"only"`
	Except conditions `yaml:"except"`
}

// Factor is what is varied.
type Factor struct {
	// Name is its column in tables.
	Name string
	// Values are its settings, each with a name of its own.
	Values []Value
	field  string // of the recipe, that the values are of; empty where they have names
}

// Value is one setting of a factor.
type Value struct {
	Name string
	// Set is what it changes; nothing, for a control.
	Set []recipe.Change
	// Labels are further columns.
	Labels []Label
	base   string // of a value of the factor recipe
}

// Label is a column that goes with a value, such as the group of a method.
type Label struct{ Name, Text string }

// Condition names, for some factors, the values that meet it.
type Condition []demand

// demand is the values of a factor that meet a condition.
type demand struct {
	Factor string
	Values []string
}

// names reports whether the condition is about a factor.
func (c Condition) names(factor string) bool {
	return slices.ContainsFunc(c, func(d demand) bool { return d.Factor == factor })
}

// meets reports whether a point, by its columns, meets the condition.
func (c Condition) meets(values map[string]string) bool {
	return !slices.ContainsFunc(c, func(d demand) bool { return !slices.Contains(d.Values, values[d.Factor]) })
}

// recipeFactor is the factor that several bases make, ArmFactor that of arms, rateField the field of rates.
const (
	recipeFactor = "recipe"
	ArmFactor    = "arm"
	rateField    = "learner.optimizer.lr"
)

// factors are the factors of the grid, with the factor of the bases.
func (p *Plan) factors() []Factor {
	if len(p.Bases) == 1 {
		return p.Factors
	}
	f := Factor{Name: recipeFactor}
	for _, b := range p.Bases {
		f.Values = append(f.Values, Value{Name: b, base: b})
	}
	return append([]Factor{f}, p.Factors...)
}

// indexFactors are the factors of the grid as an index has them.
func (p *Plan) indexFactors() (list []IndexFactor) {
	for _, f := range p.factors() {
		one := IndexFactor{Name: f.Name, Labels: f.labels()}
		for _, v := range f.Values {
			one.Values = append(one.Values, v.Name)
		}
		list = append(list, one)
	}
	return list
}

// labels are the names of the labels that values have, in order.
func (f Factor) labels() []string {
	var names []string
	for _, v := range f.Values {
		for _, l := range v.Labels {
			if !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
		}
	}
	return names
}

// AddLosses puts policy losses, by name, among the values of the factor method, with
// the rollout engine's log-probs as anchor: their ratio then sees the gap between the
// engines.
func (p *Plan) AddLosses(names []string) error {
	at := slices.IndexFunc(p.Factors, func(f Factor) bool { return f.Name == "method" })
	if at < 0 {
		return fmt.Errorf("%s has no factor method to add a loss to", p.Name)
	}
	f := &p.Factors[at]
	f.Values = slices.Clone(f.Values)
	for _, name := range names {
		if slices.ContainsFunc(f.Values, func(v Value) bool { return v.Name == name }) {
			return fmt.Errorf("the method %s is there already", name)
		}
		v := Value{Name: name, Labels: []Label{{"group", "loss"}, {"setting", "anchor rollout"}}}
		for _, text := range []string{"anchor=rollout", "loss=" + name} {
			change, err := recipe.ParseChange("--loss "+name+":", text)
			if err != nil {
				return err
			}
			v.Set = append(v.Set, change)
		}
		f.Values = append(f.Values, v)
	}
	return nil
}

// Check returns an error for a condition that no point can meet, because there is
// no such factor, label or value.
func (p *Plan) Check(c Condition) error {
	values := map[string][]string{}
	for _, f := range p.factors() {
		for _, v := range f.Values {
			values[f.Name] = append(values[f.Name], v.Name)
			for _, l := range v.Labels {
				values[l.Name] = append(values[l.Name], l.Text)
			}
		}
	}
	columns := (&Index{Factors: p.indexFactors()}).columns()
	for _, want := range c {
		if !slices.Contains(columns, want.Factor) {
			return fmt.Errorf("no such factor: %w", method.UnknownName(want.Factor, columns))
		}
		for _, v := range want.Values {
			if known := values[want.Factor]; !slices.Contains(known, v) {
				return fmt.Errorf("%s has no such value: %w", want.Factor, method.UnknownName(v, known))
			}
		}
	}
	return nil
}

// ParseCondition reads "factor=value+value,factor=value".
func ParseCondition(text string) (Condition, error) {
	var c Condition
	for _, part := range split(text) {
		factor, values, ok := strings.Cut(part, "=")
		if !ok || factor == "" || values == "" {
			return nil, fmt.Errorf("%q: give factor=value, or factor=value+value,factor=value", text)
		}
		c = append(c, demand{strings.TrimSpace(factor), strings.Split(values, "+")})
	}
	return c, nil
}

// parseFactor reads a factor as --sweep has it: "path=value,value". Commas within
// brackets, braces and quotes belong to a value.
func parseFactor(text string) (Factor, error) {
	path, values, ok := strings.Cut(text, "=")
	f := Factor{field: strings.TrimSpace(path)}
	f.Name = columnOf(f.field)
	if !ok || f.field == "" || strings.TrimSpace(values) == "" {
		return f, recipe.Faults{{Source: "--sweep " + text, Problem: "expected path=value,value, such as learner.optimizer.lr=3e-4,1e-3"}}
	}
	for _, v := range split(values) {
		v = strings.TrimSpace(v)
		c, err := recipe.ParseChange("--sweep", f.field+"="+v)
		if err != nil {
			return f, err
		}
		if slices.ContainsFunc(f.Values, func(o Value) bool { return o.Name == v }) {
			return f, recipe.Faults{{Source: "--sweep " + text, Path: f.field, Problem: fmt.Sprintf("%s is given twice", v)}}
		}
		f.Values = append(f.Values, Value{Name: v, Set: []recipe.Change{c}})
	}
	return f, nil
}

// split cuts a text at the commas that stand outside brackets, braces and quotes.
func split(text string) []string {
	var parts []string
	depth, from := 0, 0
	var quote rune
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case strings.ContainsRune("[{", r):
			depth++
		case strings.ContainsRune("]}", r):
			depth--
		case r == ',' && depth == 0:
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	return append(parts, text[from:])
}
