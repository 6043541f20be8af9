// Package method describes the methods a recipe can name: policy losses, KL
// terms, corrections, advantage estimators, reward shapers, schedules, guards.
//
// Each group of methods keeps one Table, a literal slice in one file, and
// each entry has a documented parameter struct. The tables are what
// `simulate methods` lists and what recipes name.
//
//	e, err := loss.Registry.Lookup("ppo_clip")   // Registry is a Table[loss.Loss]; aliases count
//	e.Spec.Formula                               // what a person reads
//	l := e.New()                                 // the parameters with their defaults
//	p := method.New[loss.PPOClip]()              // the same, in code
//
// A method of one's own is one more entry, appended before a recipe is read: an
// example of package trainer does that.
//
// What it is not: it knows no method itself, and has no global state
// but the tables.
package method

import (
	"cmp"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"driftlab/precision"
	"driftlab/trainer/method/batch"
)

// Unit is the unit at which a method decides: what shares one weight, one
// mask bit or one clip.
type Unit string

// The units of correction.
const (
	Token     Unit = "token"
	Prefix    Unit = "prefix"
	Turn      Unit = "turn"
	Sequence  Unit = "sequence"
	Group     Unit = "group"
	Batch     Unit = "batch"
	Optimiser Unit = "optimiser"
	System    Unit = "system"
)

// Spec is what a person can read about a method without running it.
type Spec struct {
	// Name is the field's name for it, the one recipes use.
	Name string `json:"name"`
	// Aliases are other names in use; recipes accept them.
	Aliases []string `json:"aliases"`
	// Group is the group of methods it belongs to: loss, kl, correction, advantage, ...
	Group string `json:"group"`
	// Unit is the unit of correction.
	Unit Unit `json:"unit"`
	// Does says in one sentence what the method does, and When in another when to use it.
	Does string `json:"does"`
	When string `json:"when"`
	// Source is the paper (arXiv id) and the code that was read.
	Source string `json:"source"`
	// Formula is the objective or weight, one or a few lines of Unicode.
	Formula string `json:"formula"`
	// Gradient is d loss/d logp, or the reason there is none.
	Gradient string `json:"gradient"`
	// Needs lists the columns of batch.Batch it reads beyond Mask.
	Needs batch.Columns `json:"needs"`
	// May lists those that it reads under some parameters only.
	May Conditions `json:"may,omitempty"`
	// Shows lists those that it reads for a figure only.
	Shows batch.Columns `json:"shows,omitempty"`
	// Example is a three-line worked example with numbers.
	Example string `json:"example"`
	// Reconstruction says, where no formula was published, which reading was
	// chosen and which others are selectable; empty for published formulas.
	Reconstruction string `json:"reconstruction,omitempty"`
}

// Condition is a column that a method reads under some of its parameters.
type Condition struct {
	Column batch.Column
	// When says which, by their names in a recipe.
	When string
}

// Conditions are the columns of that kind.
type Conditions []Condition

// Columns are those under any parameters.
func (c Conditions) Columns() batch.Columns {
	columns := make(batch.Columns, len(c))
	for i, x := range c {
		columns[i] = x.Column
	}
	return columns
}

// Under leaves out the conditions that are a section which the parameters, given by pointer, do not have.
func (c Conditions) Under(params any) Conditions {
	v := reflect.ValueOf(params)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return c
	}
	return slices.DeleteFunc(slices.Clone(c), func(x Condition) bool {
		for f, value := range v.Elem().Fields() {
			if f.Tag.Get("yaml") == x.When && value.Kind() == reflect.Pointer {
				return value.IsNil()
			}
		}
		return false
	})
}

// String lists the columns with their conditions, in brackets.
func (c Conditions) String() string {
	text := make([]string, len(c))
	for i, x := range c {
		text[i] = fmt.Sprintf("%s (%s)", x.Column, x.When)
	}
	return strings.Join(text, ", ")
}

// MarshalText is what String gives.
func (c Condition) MarshalText() ([]byte, error) { return []byte(Conditions{c}.String()), nil }

// Reads reports whether a method reads a column for its result under any of its
// parameters.
func (s Spec) Reads(column batch.Column) bool {
	return slices.Contains(s.Needs, column) || slices.Contains(s.May.Columns(), column)
}

// Entry joins a Spec with a constructor. New returns a pointer to the
// parameter struct, filled with the defaults; its yaml tags are the recipe's
// field names.
type Entry[T any] struct {
	Spec
	New func() T
}

// Of is the entry of the parameter struct P, which is by pointer a method of type T, under a name; set changes its defaults.
func Of[T, P any](name string, set ...func(*P)) Entry[T] {
	return Entry[T]{Spec: Spec{Name: name}, New: func() T {
		params := New[P]()
		for _, f := range set {
			f(params)
		}
		return any(params).(T)
	}}
}

// Table is the registry of one group of methods.
type Table[T any] []Entry[T]

// Filled returns the table with what examples.txt and methods.txt say of its methods: an example of each, and
// what Spec has. Both have a paragraph for every method, its name first, and either may be missing. What
// remains unsaid, all says of each.
func (t Table[T]) Filled(all Spec, texts fs.FS) Table[T] {
	example, said := paragraphs(texts, "examples.txt"), paragraphs(texts, "methods.txt")
	for i := range t {
		s := &t[i].Spec
		for line := range strings.Lines(said[s.Name]) {
			s.read(strings.TrimSuffix(line, "\n"))
		}
		s.Group, s.Unit, s.Gradient = cmp.Or(s.Group, all.Group), cmp.Or(s.Unit, all.Unit), cmp.Or(s.Gradient, all.Gradient)
		s.Example = cmp.Or(s.Example, example[s.Name])
	}
	return t
}

// read takes a line of a method's paragraph: the name of a field, and its text. A formula
// may have several lines.
func (s *Spec) read(line string) {
	key, text, _ := strings.Cut(line, ": ")
	texts := map[string]*string{"does": &s.Does, "when": &s.When, "source": &s.Source, "gradient": &s.Gradient,
		"reconstruction": &s.Reconstruction, "unit": (*string)(&s.Unit)}
	columns := map[string]*batch.Columns{"needs": &s.Needs, "shows": &s.Shows}
	switch {
	case texts[key] != nil:
		*texts[key] = text
	case key == "formula":
		s.Formula = strings.TrimPrefix(s.Formula+"\n"+text, "\n")
	case key == "aliases":
		s.Aliases = strings.Split(text, ", ")
	case columns[key] != nil:
		for name := range strings.SplitSeq(text, ", ") {
			*columns[key] = append(*columns[key], batch.ColumnNamed(name))
		}
	case key == "may": // Column (condition), Column (condition)
		for part := range strings.SplitSeq(strings.TrimSuffix(text, ")"), "), ") {
			name, when, _ := strings.Cut(part, " (")
			s.May = append(s.May, Condition{batch.ColumnNamed(name), when})
		}
	default:
		panic(fmt.Sprintf("method: the text of %s has the line %q, which names no field of a Spec", s.Name, line))
	}
}

// paragraphs returns the paragraphs of a text, by their first lines.
func paragraphs(texts fs.FS, file string) map[string]string {
	all := map[string]string{}
	text, _ := fs.ReadFile(texts, file) // compiled in, if there is one
	for paragraph := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		name, rest, _ := strings.Cut(paragraph, "\n")
		all[name] = rest
	}
	return all
}

// Names returns the names in the order of the table, without aliases.
func (t Table[T]) Names() []string {
	names := make([]string, len(t))
	for i, e := range t {
		names[i] = e.Name
	}
	return names
}

// Lookup finds a method by name or alias. The error names the nearest known names.
func (t Table[T]) Lookup(name string) (Entry[T], error) {
	for _, e := range t {
		if e.Name == name || slices.Contains(e.Aliases, name) {
			return e, nil
		}
	}
	return Entry[T]{}, UnknownName(name, t.Names())
}

// fewNames is how many names an error lists in full.
const fewNames = 10

// UnknownName is the error for a name that is not in the list: it suggests the
// nearest one and shows the others, or of many names the nearest three.
func UnknownName(name string, known []string) error {
	msg := fmt.Sprintf("unknown name %q", name)
	if near := Nearest(name, known); near != "" {
		msg += fmt.Sprintf(": did you mean %q?", near)
	}
	if len(known) > fewNames {
		near := nearestThree(name, known)
		return fmt.Errorf("%s (known: %s and %d more)", msg, strings.Join(near, ", "), len(known)-len(near))
	}
	return fmt.Errorf("%s (known: %s)", msg, strings.Join(known, ", "))
}

// nearestThree are the names that contain the given one, in their order, then the nearest;
// three of them.
func nearestThree(name string, known []string) []string {
	near := precision.NearestNames(name, known)
	if name != "" {
		lacks := func(k string) bool { return !strings.Contains(strings.ToLower(k), strings.ToLower(name)) }
		containing := slices.DeleteFunc(slices.Clone(known), lacks)
		near = append(containing, slices.DeleteFunc(near, func(k string) bool { return !lacks(k) })...)
	}
	return near[:3]
}

// Nearest is precision.Nearest.
func Nearest(name string, known []string) string { return precision.Nearest(name, known) }
