package foreign

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"driftlab/precision"
	"driftlab/trainer/method"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign/source"
)

// Config is what a configuration says of the correction and of all else that a recipe has.
type Config struct {
	// Framework is whose configuration it is, Source the name it was read under.
	Framework, Source string
	// Pipeline is the correction; one without weights and masks corrects nothing.
	Pipeline *correction.Pipeline
	// Loss and Routing are a recipe's loss and routing in a line of YAML, empty where
	// the configuration says nothing of them.
	Loss, Routing string
	// More are assignments to other fields of a recipe, as --set takes them.
	More []string
	// Off says why the framework would not apply what is configured, empty if it would.
	Off string
	// Other are settings of the loss or the advantage without a counterpart: a recipe of the rest has another objective.
	Other []string
	// Unknown says why it cannot be known whether and how the run is corrected, empty if it can.
	Unknown string
	// Notes name what a recipe cannot say, and what means something else here.
	Notes []string
	// Settings say of every key of the text what became of it.
	Settings []Setting

	extra []extra
	// open says that a parent of the file was not found: what it states is not known.
	open bool
}

// extra is a part of a recipe and the keys that it is from.
type extra struct {
	assignment string
	keys       []string
}

func (c *Config) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// take sets a field of a recipe from keys.
func (c *Config) take(field, value string, keys ...string) {
	c.extra = append(c.extra, extra{field + "=" + value, keys})
}

// Configured reports whether anything is to be corrected, by weights, by masks or
// by the loss itself.
func (c *Config) Configured() bool {
	return c.Off != "" || c.Pipeline.Weights != nil || len(c.Pipeline.Masks) > 0 || c.Framework == "prime-rl"
}

// Assignments are the fields of a recipe, as --set takes them.
func (c *Config) Assignments() []string { return append(c.correction(), c.More...) }

// correction are the assignments of the correction and of what goes with it.
func (c *Config) correction() []string {
	list := []string{strings.Replace(c.Pipeline.Recipe(), ": ", "=", 1)}
	switch {
	case strings.HasPrefix(c.Loss, "{"):
		list = append(list, "loss="+c.Loss)
	case c.Loss != "":
		list = append(list, "loss.name="+c.Loss) // and its parameters stay, if it is that one already
	}
	if c.Routing != "" {
		list = append(list, "routing="+c.Routing)
	}
	return list
}

// Recipe is the default recipe with what the configuration states.
func (c *Config) Recipe() (recipe.Recipe, error) { return recipe.Load("default", c.Assignments()...) }

// Changes are the assignments, to be applied to a recipe.
func (c *Config) Changes() ([]recipe.Change, error) {
	var list []recipe.Change
	for _, a := range c.Assignments() {
		change, err := recipe.ParseChange("--config "+c.Source+" ("+c.Framework+"):", a)
		if err != nil {
			return nil, err
		}
		list = append(list, change)
	}
	return list, nil
}

// framework is a trainer whose configuration is known, as load has it from its file.
type framework struct {
	name, program, root, mark, syntax string
	sections                          []section
	loose, own, blocks                []string
	table                             *table
	unset, removed, upper             []string
	pipeline                          correction.Pipeline
	batch                             batches
	also, why, notes, same            []pair
	under, null                       map[string]string
	implied                           []implied
	inFile                            *regexp.Regexp
	hooks                             hooks
}

// batches are the keys of the prompts of a batch, the responses of a prompt, if a minibatch counts those, and the size of a minibatch; steps
// is the number of updates itself. Defaults are the framework's.
type batches struct {
	whole, group, part []string
	defaults           [3]float64
	steps              string
}

// read sets the updates of a batch.
func (b batches) read(v *values, c *Config) {
	if b.steps != "" && v.has(b.steps) {
		c.takeMinibatches(v, v.number(b.steps, 1), 1, b.steps)
		v.leave(v.first(b.part...), last(b.steps)+" says how many updates a batch has")
		v.leave(v.first(b.whole...), reasons["batch"].why)
		return
	}
	if b.part == nil {
		return
	}
	whole, part := v.first(b.whole...), v.first(b.part...)
	number := func(key string, i int) float64 { return v.number(key, b.defaults[i]) }
	stated := func(key string, i int) bool { return v.has(key) || b.defaults[i] > 0 }
	n, group := 1.0, ""
	if b.group != nil {
		group = v.first(b.group...)
		n = number(group, 1)
	}
	if v.any(whole, part) && stated(whole, 0) && stated(part, 2) && (group == "" || stated(group, 1)) {
		c.takeMinibatches(v, number(whole, 0)*n, number(part, 2), part, whole)
		return
	}
	v.leave(part, "the prompts of a batch, the responses of a prompt and the size of a minibatch together say how many updates a batch has")
	v.leave(whole, reasons["batch"].why)
}

func last(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// path is where a key is written.
func (f *framework) path(key string) string {
	for _, in := range f.sections {
		if in.has(key) {
			return in.at + key
		}
	}
	return f.under[key] + key
}

// section is a part of a configuration, by the name of the field that holds it, the path where it is written, with a point, and its keys.
type section struct {
	name, at string
	keys     []string
}

// complete gives the keys of the groups lines in the table.
func (f *framework) complete() {
	own := f.correctionKeys()
	for _, g := range f.table.groups {
		part := g.part
		switch part {
		case "weights", "mask", "mode", "note":
			part = "correction"
		case "aggregation":
			part = "loss"
		}
		for _, key := range g.keys {
			if !slices.Contains(own, key) && f.table.keys[key] == nil && !slices.ContainsFunc(f.sections, func(s section) bool { return s.has(key) }) {
				f.table.set(&entry{key: key, field: part})
			}
		}
	}
}

// settingOf is a setting that the text does not have.
func settingOf(text string) source.Setting { return source.Setting{Text: text} }

// ReadAs makes what it can of the configuration of a framework, whatever its keys look
// like; an empty name leaves that to the keys. The error is recipe.Faults, all of them.
func ReadAs(name, file string, text []byte) (*Config, error) { return ReadWith(name, file, text, nil) }

// ReadWith reads the configuration of a framework, and the files that it names as its parents, whose text parent
// returns by their path relative to the file; nil finds none.
func ReadWith(name, file string, text []byte, parent func(path string) ([]byte, error)) (*Config, error) {
	documents, err := source.Parse(file, text)
	if err != nil {
		return nil, err
	}
	inherited := parents{open: parent}
	for i := range documents {
		documents[i].Settings = inherited.add(documents[i].Settings, "", 0)
	}
	f, d, err := recognise(name, file, documents)
	if err != nil {
		return nil, err
	}
	v := f.collect(file, d.Settings)
	if d.Name != "" {
		v.by["program"] = source.Setting{Text: d.Name}
	}
	c := &Config{Framework: f.name, Source: file, Pipeline: &correction.Pipeline{}, Notes: inherited.notes, open: inherited.missing}
	*c.Pipeline = f.pipeline
	f.read(v, c)
	if len(v.faults) == 0 {
		if err := c.Pipeline.Validate(); err != nil {
			v.faults = recipe.Faults{{Source: file, Problem: f.name + ": " + err.Error()}}
		}
	}
	if len(v.faults) > 0 {
		slices.SortStableFunc(v.faults, func(a, b recipe.Fault) int { return cmp.Compare(a.Line, b.Line) })
		return nil, v.faults
	}
	f.unsure(v, c)
	c.Other = v.other
	f.fillUnset(v, c)
	c.settle(v)
	f.report(v, c)
	for _, other := range documents {
		if other.Name != d.Name {
			c.note("%s (line %d) is given other settings, which are not read", other.Name, other.Line)
		}
	}
	return c, nil
}

// settle keeps of the other fields what a recipe accepts together with the correction: all, or one after the other what it does not refuse.
func (c *Config) settle(v *values) {
	base := c.correction()
	refused := func(more ...string) error {
		if slices.ContainsFunc(more, func(x string) bool { return strings.HasPrefix(x, "lora=") }) {
			more = append(more, "checkpoint=") // the default model's sizes, which are the shipped checkpoints', bound the rank
		}
		_, err := recipe.Load("default", slices.Concat(base, c.More, more)...)
		return err
	}
	var all []string
	for _, e := range c.extra {
		if !slices.Contains(c.More, e.assignment) && !slices.Contains(all, e.assignment) {
			all = append(all, e.assignment)
		}
	}
	if refused(slices.Clone(all)...) == nil {
		c.More = append(c.More, all...)
		return
	}
	if refused() != nil {
		base = nil // said where the recipe is made
	}
	for _, e := range c.extra {
		if slices.Contains(c.More, e.assignment) {
			continue
		}
		if err := refused(e.assignment); err != nil {
			for _, key := range e.keys {
				v.leave(key, "a recipe refuses "+e.assignment+": "+problem(err))
			}
			continue
		}
		c.More = append(c.More, e.assignment)
	}
}

// problem is the first fault of an error, without its place.
func problem(err error) string {
	if faults, ok := err.(recipe.Faults); ok && len(faults) > 0 {
		return faults[0].Problem
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// isBlock reports whether the settings are the inside of one of its sections: one of
// them is a key of it, none stands in a section by name, and none is another key.
func (f *framework) isBlock(settings []source.Setting) bool {
	inside := false
	for _, s := range settings {
		for _, in := range f.sections {
			if slices.Contains(strings.Split(s.Path, "."), in.name) {
				return false
			}
			inside = inside || in.has(s.Path)
		}
		if _, whose := f.place(s, false); whose == known {
			return false
		}
	}
	return inside
}

// owner says whose a setting is.
type owner int

const (
	others  owner = iota
	known         // a key of the framework
	unknown       // in its section, or like one of its keys, and none
)

// place is the key that a setting has in the framework.
func (f *framework) place(s source.Setting, block bool) (key string, whose owner) {
	parts := strings.Split(s.Path, ".")
	for _, in := range f.sections {
		from := slices.Index(parts, in.name) + 1
		if block {
			from = 0
		} else if from == 0 {
			continue
		}
		key := strings.Join(parts[from:], ".")
		switch {
		case in.has(key):
			return key, known
		case key == "":
			return in.name, known // the section as a whole, such as null
		case !block && f.table.key(s.Path) == "":
			return key, unknown
		}
	}
	for _, key := range f.loose {
		if rest, ok := s.Below(key); ok {
			return key + rest, known
		}
	}
	if key := f.table.key(s.Path); key != "" {
		return key, known
	}
	for _, prefix := range f.own {
		if strings.HasPrefix(s.Leaf(), prefix) {
			return s.Leaf(), unknown
		}
	}
	return "", others
}

// has reports whether a key is one of the section's; * stands for any entry of a list.
func (s section) has(key string) bool {
	parts := strings.Split(key, ".")
	for i := 1; i < len(parts); i++ {
		if source.IsNumber(parts[i]) {
			parts[i] = "*"
		}
	}
	return slices.Contains(s.keys, strings.Join(parts, "."))
}

func (f *framework) correctionKeys() []string {
	keys := slices.Clone(f.loose)
	for _, in := range f.sections {
		keys = append(keys, in.keys...)
	}
	return keys
}

// collect takes the framework's settings, and faults those that are misspelt.
func (f *framework) collect(name string, settings []source.Setting) *values {
	v := &values{source: name, by: map[string]source.Setting{}, block: f.isBlock(settings), all: settings, used: map[string]bool{}, chose: map[string]bool{}, left: map[string]string{}, framework: f}
	if name != "" {
		v.by["file"] = source.Setting{Text: name} // as a key, for the conditions of rows
	}
	keys := f.correctionKeys()
	for _, s := range settings {
		key, whose := f.place(s, v.block)
		if f.misspeltSection(s) || v.block && whose == others {
			key, whose = s.Path, unknown
		}
		if whose == unknown {
			if near := method.Nearest(key, keys); f.misspeltSection(s) || near != "" && close(key, near) {
				if near == "" {
					v.fault(s, "unknown to %s; the keys of its correction are %s", f.name, strings.Join(keys, ", "))
				} else {
					v.fault(s, "unknown to %s; did you mean %q?", f.name, near)
				}
			}
			v.strange = append(v.strange, s.Path)
			continue
		}
		if whose == others {
			continue
		}
		if s.Why == "" && strings.Contains(s.Text, "$") && !strings.Contains(s.Text, "://") {
			s.Why = s.Text + " refers to something that is not in the text: write the value out"
		}
		earlier, twice := v.by[key]
		if twice && earlier.Text != s.Text && earlier.Path != s.Path {
			v.fault(s, "given twice, as %q and as %q: remove one", earlier.Text, s.Text)
			continue
		}
		v.by[key] = s
	}
	return v
}

// close reports whether a key is another but for a letter or two.
func close(key, other string) bool {
	d := precision.EditDistance(key, other)
	return d > 0 && d <= 2 && len(other) >= 6
}

// misspeltSection reports whether a part of a path is a section but for a letter or two.
func (f *framework) misspeltSection(s source.Setting) bool {
	for part := range strings.SplitSeq(s.Path, ".") {
		if slices.ContainsFunc(f.sections, func(in section) bool { return len(in.name) >= 8 && close(part, in.name) }) {
			return true
		}
	}
	return false
}
