package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"driftlab/results/record"
	"driftlab/results/stats"

	"go.yaml.in/yaml/v4"
)

// Index is a plan with every arm resolved: what a folder needs to be read, reported and
// put together with others. It is the folder's plan.yaml.
type Index struct {
	Name    string        `yaml:"name"`
	Title   string        `yaml:"title"`
	Version int           `yaml:"version"`
	Seeds   []uint64      `yaml:"seeds"`
	Confirm []uint64      `yaml:"confirm"`
	Fresh   []uint64      `yaml:"fresh"`
	Ladder  *Ladder       `yaml:"ladder"`
	Within  string        `yaml:"within"`
	Predict []string      `yaml:"predict"`
	Judge   []Declared    `yaml:"judge"`
	Factors []IndexFactor `yaml:"factors"`
	Arms    []Arm         `yaml:"arms"`
}

// IndexFactor is a factor: its values and the names of their labels.
type IndexFactor struct {
	Name   string   `yaml:"name" json:"name"`
	Labels []string `yaml:"labels" json:"labels,omitempty"`
	Values []string `yaml:"values" json:"values"`
}

// Arm is what is run with every seed: a point of the grid, or a training run of a claim.
type Arm struct {
	// Command runs it alone but for the seed.
	Command string `yaml:"command"`
	Name    string `yaml:"name"`
	// Values are its columns.
	Values map[string]string `yaml:"values"`
	Steps  int               `yaml:"steps"`
	// Keys are the keys of its cells, by seed.
	Keys []string `yaml:"keys"`
	// CannotAct are the notes of recipe.Recipe.Inert.
	CannotAct []string `yaml:"cannot act"`
}

// command runs a cell alone.
func (a *Arm) command(seed uint64) string { return fmt.Sprintf("%s --seed %d", a.Command, seed) }

// Index is the index of the grid.
func (g *Grid) Index() *Index {
	x := &Index{Name: g.Plan.Name, Title: g.Plan.Title, Seeds: g.Plan.Seeds, Confirm: g.Plan.Confirm, Fresh: g.Plan.Fresh, Ladder: g.Plan.Ladder, Within: g.Plan.Within, Predict: g.Plan.Predict, Judge: g.Plan.Judge, Factors: g.Plan.indexFactors()}
	for i := range g.Cells {
		c := &g.Cells[i]
		if c.Point == len(x.Arms) {
			x.Arms = append(x.Arms, Arm{Values: c.Values, Command: g.Commands[c.Point], Steps: c.Recipe.Steps, CannotAct: g.CannotAct[c.Point]})
		}
		a := &x.Arms[c.Point]
		a.Keys = append(a.Keys, c.Run)
	}
	return x
}

// Hash names the runs of a grid in a few letters, for a folder of their own.
func (g *Grid) Hash() string {
	h := sha256.New()
	for i := range g.Cells {
		fmt.Fprintln(h, g.Cells[i].Run)
	}
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// keep gives the arms that none of only names the keys that an older index has of them: a
// run's key depends on its model, and theirs may be missing.
func (x *Index) keep(old *Index, only []Condition) {
	if !slices.Equal(x.Seeds, old.Seeds) {
		return
	}
	keys := map[string][]string{}
	for _, a := range old.Arms {
		keys[a.Command] = a.Keys
	}
	for i := range x.Arms {
		if a := &x.Arms[i]; keys[a.Command] != nil && !meetsOne(only, a.Values) {
			a.Keys = keys[a.Command]
		}
	}
}

// Replaced reports whether another index lacks a cell of this one, whose row then stands in no table.
func (x *Index) Replaced(by *Index) bool {
	kept := map[string]bool{}
	for _, key := range by.keys() {
		kept[key] = true
	}
	return slices.ContainsFunc(x.keys(), func(key string) bool { return !kept[key] })
}

// columns are the names of the columns that the factors make: each factor's, and
// after it those of its labels.
func (x *Index) columns() []string {
	var names []string
	for _, f := range x.Factors {
		names = append(append(names, f.Name), f.Labels...)
	}
	return names
}

// heads are the cells of the plan by key, the first arm's where several share one, in order.
func (x *Index) heads() (list []record.Cell) {
	seen := map[string]bool{}
	for i := range x.Arms {
		a := &x.Arms[i]
		for k, key := range a.Keys {
			if !seen[key] {
				seen[key] = true
				list = append(list, record.Cell{Key: key, Arm: x.armName(a), Seed: x.Seeds[k]})
			}
		}
	}
	return list
}

// keys are those of heads.
func (x *Index) keys() []string {
	return stats.Map(x.heads(), func(c record.Cell) string { return c.Key })
}

// armName is an arm's name, or its values in the order of the factors.
func (x *Index) armName(a *Arm) string {
	if len(x.Factors) == 0 {
		return x.Name
	}
	return x.valuesBut("", a.Values)
}

// valuesBut are an arm's values in the order of the factors, without that of one.
func (x *Index) valuesBut(factor string, values map[string]string) string {
	others := slices.DeleteFunc(slices.Clone(x.Factors), func(f IndexFactor) bool { return f.Name == factor })
	return strings.Join(stats.Map(others, func(f IndexFactor) string { return values[f.Name] }), ", ")
}

// level names the values of the factors that vary but one.
func (x *Index) level(but string, values map[string]string) string {
	varied := slices.DeleteFunc(slices.Clone(x.Factors), func(f IndexFactor) bool { return f.Name == but || len(f.Values) < 2 })
	return strings.Join(stats.Map(varied, func(f IndexFactor) string { return f.Name + "=" + values[f.Name] }), ", ")
}

// Only is the index of the arms that meet one of the conditions, of all where there is none.
func (x *Index) Only(conditions []Condition) *Index {
	part := *x
	part.Arms = slices.DeleteFunc(slices.Clone(x.Arms), func(a Arm) bool { return len(conditions) > 0 && !meetsOne(conditions, a.Values) })
	return &part
}

// Runs counts those of the plan: equal recipes are one.
func (x *Index) Runs() int { return len(x.heads()) }

// Cells counts those of the plan.
func (x *Index) Cells() (n int) {
	for _, a := range x.Arms {
		n += len(a.Keys)
	}
	return n
}

// text is the file: YAML with a line for each field of an arm.
func (x *Index) text() []byte {
	var b bytes.Buffer
	writeFields(&b, "", "", reflect.ValueOf(*x), map[string]int{})
	return b.Bytes()
}

// writeFields writes the fields of a struct that are set, a line each; factors and arms are lists of such.
// A note of what cannot act is written once: other arms have an alias of it, by its number.
func writeFields(b *bytes.Buffer, first, indent string, v reflect.Value, notes map[string]int) {
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Tag.Get("yaml")
		switch {
		case f.IsZero():
		case name == "factors" || name == "arms":
			b.WriteString(name + ":\n")
			for k := range f.Len() {
				writeFields(b, "- ", "  ", f.Index(k), notes)
			}
		case name == "cannot act":
			list := slices.Clone(f.Interface().([]string))
			for k, note := range list {
				if list[k] = fmt.Sprintf("*note%d", notes[note]); notes[note] == 0 {
					notes[note] = len(notes) + 1
					list[k] = fmt.Sprintf("&note%d %q", notes[note], note)
				}
			}
			fmt.Fprintf(b, "%s%s: [%s]\n", first, name, strings.Join(list, ", "))
		default:
			fmt.Fprintf(b, "%s%s: ", first, name)
			e := json.NewEncoder(b) // JSON is YAML
			e.SetEscapeHTML(false)
			if err := e.Encode(f.Interface()); err != nil {
				panic("study: " + err.Error())
			}
			first = indent
		}
	}
}

// WriteIndex puts the plan into the folder, unless it is there.
func (s *Store) WriteIndex(x *Index) error {
	text := x.text()
	if old, err := s.Read(PlanFile); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return s.Write(PlanFile, text)
}

// Index reads the plan of the folder; nil if it has none.
func (s *Store) Index() (*Index, error) {
	text, err := s.Read(PlanFile)
	if text == nil || err != nil {
		return nil, err
	}
	x := new(Index)
	if err := yaml.Load(text, x, yaml.WithKnownFields()); err != nil {
		return nil, &record.FolderError{Path: s.Dir, Problem: PlanFile + ": " + err.Error(), Fix: s.Fix, Err: err}
	}
	for i := range x.Arms {
		if n := len(x.Arms[i].Keys); n > 0 && n != len(x.Seeds) {
			return nil, &record.FolderError{Path: s.Dir, Problem: fmt.Sprintf("%s: arm %d has %d keys for %d seeds", PlanFile, i+1, n, len(x.Seeds)), Fix: s.Fix}
		}
	}
	return x, nil
}
