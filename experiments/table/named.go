package table

import (
	"embed"
	"path"
	"slices"
	"strings"

	"driftlab/experiments/study"
)

// Named is a setting or a stressor of the shipped sweeps.
type Named struct {
	Name string `json:"name"`
	// Kind is setting or stressor.
	Kind string `json:"kind"`
	// Sweeps are those that have it.
	Sweeps []string `json:"sweeps"`
	// Group is the kind of method of a setting, Level the strength of a stressor.
	Group string `json:"group,omitempty"`
	Level string `json:"level,omitempty"`
	// Recipe are the changes to a recipe, as --set takes them.
	Recipe []string `json:"recipe"`
}

// Line is Recipe as lines of a recipe.
func (n Named) Line() string { return recipeLine(n.Recipe) }

// The columns of the shipped sweeps that are read here.
const (
	methodColumn   = "method"
	groupColumn    = "group"
	stressorColumn = "stressor"
	doseColumn     = "dose"
)

// control is the method that every other one is compared with: none.
const control = "none"

// kinds are what the factors of the shipped sweeps have.
var kinds = map[string]string{methodColumn: "setting", stressorColumn: "stressor"}

// AllNamed lists the settings and stressors of the shipped sweeps, each once.
func AllNamed() ([]Named, error) {
	var list []Named
	for _, file := range Names() {
		text, _ := Text(file)
		plan, err := study.Parse(file+".yaml", text)
		if err != nil {
			return nil, err
		}
		for _, f := range plan.Factors {
			kind, ok := kinds[f.Name]
			if !ok {
				continue
			}
			for _, v := range f.Values {
				i := slices.IndexFunc(list, func(n Named) bool { return n.Name == v.Name && n.Kind == kind })
				if i < 0 {
					i = len(list)
					list = append(list, named(kind, v))
				}
				list[i].Sweeps = append(list[i].Sweeps, file)
			}
		}
	}
	return list, nil
}

// named is a value of a factor.
func named(kind string, v study.Value) Named {
	n := Named{Name: v.Name, Kind: kind, Recipe: []string{}}
	for _, l := range v.Labels {
		switch l.Name {
		case groupColumn:
			n.Group = l.Text
		case doseColumn:
			n.Level = l.Text
		}
	}
	for _, c := range v.Set {
		n.Recipe = append(n.Recipe, c.String())
	}
	return n
}

// sweeps are the files of the stages, for `simulate sweep NAME`.
//
//go:embed sweeps/*.yaml
var sweeps embed.FS

// Names lists them without their folder and suffix, in alphabetical order.
func Names() []string {
	entries, err := sweeps.ReadDir("sweeps")
	if err != nil {
		panic("table: " + err.Error())
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Text is the file of that name; ok is false if there is none.
func Text(name string) (text []byte, ok bool) {
	if strings.ContainsAny(name, `/\`) {
		return nil, false
	}
	text, err := sweeps.ReadFile(path.Join("sweeps", name+".yaml"))
	return text, err == nil
}
