package sources

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"driftlab/results/corrections"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

// correctedRecipe is what the lines of a setting are changes of.
const correctedRecipe = "headline"

// Corrections is the page of the effects: each setting with its lines for a recipe and for the
// frameworks, and with what explains it.
func (e *Effects) Corrections() (*corrections.Page, error) {
	p := &corrections.Page{Seeds: e.Seeds, Rates: e.Rates, Test: testName}
	for _, s := range e.Stressors {
		own := corrections.Problem{Name: s.Name, Text: s.Problem, Healthy: s.Healthy, Recipe: RecipeLine(s.Recipe), Uncorrected: s.Uncorrected,
			Recommended: slices.IndexFunc(e.Settings, func(m Setting) bool { return m.Name == s.Recommended })}
		if s.Healthy {
			own.Recommended = -1 // there is nothing to correct
		}
		p.Problems = append(p.Problems, own)
	}
	x, err := newExplainer()
	if err != nil {
		return nil, err
	}
	for _, s := range e.Settings {
		own := corrections.Setting{Name: s.Name, Group: s.Group, Line: RecipeLine(s.Recipe), SameAs: s.SameAs, Control: len(s.Recipe) == 0, Regret: s.Regret}
		for _, effect := range s.Effects {
			own.Effects = append(own.Effects, corrections.Effect{Estimate: effect.Estimate, Low: effect.Low, High: effect.High, P: float64(effect.P), Sign: effect.Significant(), Inactive: effect.Inactive})
		}
		if !own.Control {
			for _, name := range foreign.Writable() {
				text, notes, err := foreign.WriteChanged(name, correctedRecipe, s.Recipe)
				if err != nil {
					return nil, err
				}
				own.Frameworks = append(own.Frameworks, corrections.Lines{Framework: name, Text: strings.TrimSpace(text), Notes: notes})
			}
			if own.Explained, err = x.of(s.Recipe); err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
		}
		p.Settings = append(p.Settings, own)
	}
	p.Explanations = x.used
	return p, nil
}

// explainer finds what explains the changes of a recipe.
type explainer struct {
	methods map[string]recipe.Method // by field and name
	plain   map[string]bool          // those that the recipe without a change has
	used    []corrections.Explanation
}

func newExplainer() (*explainer, error) {
	x := &explainer{methods: map[string]recipe.Method{}}
	for _, m := range recipe.Methods() {
		x.methods[m.Field+" "+m.Name] = m
	}
	r, err := recipe.Load(correctedRecipe)
	x.plain = map[string]bool{}
	for _, key := range x.in(r) {
		x.plain[key] = true
	}
	return x, err
}

// in lists the methods that a recipe names, each by its field and name, in the order of its text.
func (x *explainer) in(r recipe.Recipe) (keys []string) {
	d := json.NewDecoder(strings.NewReader(string(r.JSON())))
	var path []string // the fields on the way; lists have none
	var walk func(field string)
	walk = func(field string) {
		token, err := d.Token()
		if err != nil {
			panic("sources: a recipe is written as JSON: " + err.Error())
		}
		switch token {
		case json.Delim('{'):
			for d.More() {
				name, _ := d.Token() // its error would be the value's, too
				path = append(path, name.(string))
				walk(strings.TrimSuffix(strings.Join(path, "."), ".name"))
				path = path[:len(path)-1]
			}
			_, _ = d.Token()
		case json.Delim('['):
			for d.More() {
				walk(field)
			}
			_, _ = d.Token()
		default:
			key := fmt.Sprint(field, " ", token)
			if _, ok := x.methods[key]; ok && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	walk("")
	return keys
}

// of are the IDs of what explains the changes: the methods that they bring into a recipe and,
// where they bring none, the fields that they set.
func (x *explainer) of(changes []string) (ids []string, err error) {
	r, err := recipe.Load(correctedRecipe, changes...)
	if err != nil {
		return nil, err
	}
	for _, key := range x.in(r) {
		if !x.plain[key] {
			ids = append(ids, x.explain(explainMethod(x.methods[key])))
		}
	}
	if len(ids) > 0 {
		return ids, nil
	}
	for _, c := range changes {
		path, _, _ := strings.Cut(c, "=")
		for _, f := range recipe.Reference() {
			if f.Path == path {
				ids = append(ids, x.explain(corrections.Explanation{ID: "field-" + strings.ReplaceAll(path, ".", "-"), Name: path, Kind: "field of a recipe", Does: strings.Join(strings.Fields(f.Doc), " ")}))
			}
		}
	}
	return ids, nil
}

// explain keeps an explanation once and returns its ID.
func (x *explainer) explain(e corrections.Explanation) string {
	if !slices.ContainsFunc(x.used, func(u corrections.Explanation) bool { return u.ID == e.ID }) {
		x.used = append(x.used, e)
	}
	return e.ID
}

// explainMethod is the method's page in short.
func explainMethod(m recipe.Method) corrections.Explanation {
	e := corrections.Explanation{ID: "method-" + strings.ReplaceAll(m.Field, ".", "-") + "-" + m.Name, Name: m.Name, Kind: m.Group + ", unit: " + string(m.Unit), Does: m.Does, When: m.When}
	for _, part := range []corrections.Part{{Heading: "Formula", Text: m.Formula}, {Heading: "Gradient", Text: m.Gradient}, {Heading: "Parameters, in a recipe under " + m.Field, Text: m.Defaults.YAML()},
		{Heading: "Worked example", Text: m.Example}, {Heading: "Reconstruction", Text: m.Reconstruction}, {Heading: "Source", Text: m.Source}} {
		if part.Text = strings.TrimSpace(part.Text); part.Text != "" {
			e.Parts = append(e.Parts, part)
		}
	}
	return e
}
