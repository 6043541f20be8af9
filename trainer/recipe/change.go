package recipe

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Change is one field with a new value, as --set has it. Changes come from
// ParseChange, or from the fields of a file (Node.Changes).
type Change struct {
	source string // where it was written: "--set lr=1", "sweep.yaml:7"
	path   string
	value  *yaml.Node
}

// ParseChange reads "path.to.field=value", whose value is YAML; flag is the one it
// was given with, such as --set. Only its form is checked: whether there is such a
// field, and what it takes, is known when it is applied.
func ParseChange(flag, text string) (Change, error) {
	c := Change{source: flag + " " + text}
	fail := func(problem string) (Change, error) {
		return c, Faults{{Source: c.source, Problem: problem}}
	}
	path, value, ok := strings.Cut(text, "=")
	if !ok {
		return fail("expected path=value, such as learner.optimizer.lr=1e-3")
	}
	c.path = strings.TrimSpace(path)
	if _, err := splitPath(c.path); err != nil {
		return fail(err.Error())
	}
	var problem string
	if c.value, problem = readValue(value); problem != "" {
		return fail(problem)
	}
	return c, nil
}

// parseChanges reads several.
func parseChanges(flag string, texts []string) ([]Change, error) {
	changes := make([]Change, len(texts))
	for i, text := range texts {
		var err error
		if changes[i], err = ParseChange(flag, text); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// Source is where it was written: a flag with its text, or file:line.
func (c Change) Source() string { return c.source }

// String is the change as --set takes it.
func (c Change) String() string { return c.path + "=" + flow(c.value) }

// seedMark stands in a change for the seed of the run: checkpoint=models/{seed} is a
// model of its own for every seed.
const seedMark = "{seed}"

// ForSeed is the change with the seed where its texts have seedMark; marked is false
// where none has.
func (c Change) ForSeed(seed uint64) (own Change, marked bool) {
	own, number := c, strconv.FormatUint(seed, 10)
	own.value = copyTree(c.value)
	walk(own.value, func(n *yaml.Node) {
		if strings.Contains(n.Value, seedMark) {
			n.Value, marked = strings.ReplaceAll(n.Value, seedMark, number), true
		}
	})
	return own, marked
}

// LoadChanged is Load with changes of any origin, which are applied in order.
func LoadChanged(nameOrPath string, changes ...Change) (Recipe, error) {
	doc, _, err := changed(nameOrPath, changes)
	if err != nil {
		return Recipe{}, err
	}
	return doc.recipe()
}

// changed is the tree of a recipe's text with the changes made, and the file it is from.
func changed(nameOrPath string, changes []Change) (doc *document, file string, err error) {
	base, changes, err := withArm(nameOrPath, changes)
	if err != nil {
		return nil, nameOrPath, err
	}
	file, text, err := findText(base)
	if err != nil {
		return nil, nameOrPath, err
	}
	if doc, err = readTree(file, text); err == nil {
		err = doc.apply(changes)
	}
	return doc, file, err
}

// apply applies changes to the tree, in order. The decoder judges names and values, and labels faults with the change.
func (doc *document) apply(changes []Change) error {
	for _, c := range changes {
		if err := doc.change(c); err != nil {
			return err
		}
	}
	return nil
}

// change applies a change to the tree. Its value is copied: later changes write
// into the tree, and the change may be applied to others.
func (doc *document) change(c Change) error {
	steps, err := splitPath(c.path)
	if err == nil {
		value := copyTree(c.value)
		doc.mark(value, c.source)
		err = doc.put(steps, value, c.source)
	}
	if err != nil {
		return Faults{{Source: c.source, Problem: err.Error()}}
	}
	return nil
}

// changes lists the leaves of a mapping of fields as changes. A name goes before
// the parameters it brings.
func (d *decoder) changes(n *yaml.Node, path string) []Change {
	source, line := d.doc.origin(n)
	source = cmp.Or(strings.TrimSuffix(fmt.Sprintf("%s:%d", source, line), ":0"), "a change")
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return []Change{{source, path, n}}
	}
	var first, rest []Change
	for key, value := range d.entries(n, path) {
		leaves := d.changes(value.n, value.path)
		if key.Value == "name" {
			first = leaves
		} else {
			rest = append(rest, leaves...)
		}
	}
	return append(first, rest...)
}

func copyTree(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for _, child := range n.Content {
		c.Content = append(c.Content, copyTree(child))
	}
	return &c
}

// walk calls visit for a node and everything in it.
func walk(n *yaml.Node, visit func(*yaml.Node)) {
	visit(n)
	for _, child := range n.Content {
		walk(child, visit)
	}
}

// flow is a tree as one line of text.
func flow(n *yaml.Node) string {
	n = copyTree(n)
	walk(n, func(x *yaml.Node) {
		x.HeadComment, x.LineComment, x.FootComment = "", "", ""
		if x.Kind != yaml.ScalarNode {
			x.Style = yaml.FlowStyle
		}
	})
	text, err := yaml.Dump(n, yaml.WithLineWidth(-1))
	if err != nil {
		panic("recipe: a tree that was read does not print: " + err.Error())
	}
	return strings.TrimSuffix(string(text), "\n")
}

func readValue(text string) (n *yaml.Node, problem string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return scalar("!!str", ""), ""
	}
	if strings.ContainsAny(text, "\n\r") {
		return nil, "the value has more than one line: write a mapping as {a: 1, b: 2}"
	}
	doc, err := readTree("", []byte("value: "+text))
	if err != nil {
		return nil, err.(Faults)[0].Problem
	}
	if len(doc.root.Content) != 2 {
		return nil, "not one YAML value"
	}
	return doc.root.Content[1], ""
}

// mark remembers that a node and everything in it came from an assignment.
func (doc *document) mark(n *yaml.Node, source string) {
	walk(n, func(n *yaml.Node) { doc.sets[n] = source })
}

// step is one part of a path: a field's name, or an index of a list.
type step struct {
	name  string
	index int // -1 for a name
}

// splitPath reads a path such as correction.masks[0].low.
func splitPath(path string) ([]step, error) {
	var steps []step
	for part := range strings.SplitSeq(path, ".") {
		name, rest, indexed := strings.Cut(part, "[")
		if name == "" {
			return nil, fmt.Errorf("the path %q has an empty part", path)
		}
		steps = append(steps, step{name, -1})
		for indexed {
			var digits string
			digits, rest, indexed = strings.Cut(rest, "]")
			i, err := strconv.Atoi(digits)
			if !indexed || err != nil || i < 0 || rest != "" && rest[0] != '[' {
				return nil, fmt.Errorf("the path %q has an index that is not of the form [0]", path)
			}
			steps = append(steps, step{index: i})
			_, rest, indexed = strings.Cut(rest, "[")
		}
	}
	return steps, nil
}

// put replaces the value at the path, and makes the mappings on the way there.
func (doc *document) put(steps []step, value *yaml.Node, source string) error {
	n, parent := doc.root, ""
	for i, s := range steps {
		last := i == len(steps)-1
		if s.index >= 0 {
			if n.Kind != yaml.SequenceNode {
				return fmt.Errorf("%s is not a list", parent)
			}
			switch {
			case s.index > len(n.Content):
				return fmt.Errorf("%s has %d entries: the next index is [%d]", parent, len(n.Content), len(n.Content))
			case s.index == len(n.Content):
				n.Content = append(n.Content, doc.mapping(source))
			}
			if last {
				n.Content[s.index] = value
			}
			n, parent = n.Content[s.index], fmt.Sprintf("%s[%d]", parent, s.index)
			continue
		}
		doc.spellOut(n, steps[max(0, i-1)].name, source)
		if n.Kind != yaml.MappingNode {
			return fmt.Errorf("%s has no fields", parent)
		}
		if last {
			doc.replace(n, s.name, value, source)
			return nil
		}
		next := find(n, s.name)
		if next == nil {
			if next = doc.mapping(source); steps[i+1].index >= 0 {
				next.Kind = yaml.SequenceNode
			}
			doc.replace(n, s.name, next, source)
		}
		n, parent = next, join(parent, s.name)
	}
	return nil
}

// mapping returns an empty mapping that came from an assignment.
func (doc *document) mapping(source string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	doc.sets[n] = source
	return n
}

// spellOut turns the short form of a method, of numerics or of a correction into
// a mapping, so that one of its fields can be changed.
func (doc *document) spellOut(n *yaml.Node, field, source string) {
	if n.Kind != yaml.ScalarNode {
		return
	}
	key := "name"
	switch field {
	case "numerics":
		key = "base"
	case "correction":
		key = "preset"
	}
	value := *n
	if set, ok := doc.sets[n]; ok {
		doc.sets[&value] = set
	}
	*n = yaml.Node{Kind: yaml.MappingNode, Line: value.Line}
	doc.replace(n, key, &value, source)
}

// replace sets a field of a mapping. Another name chooses another method, to
// which the parameters of the last one mean nothing: they go.
func (doc *document) replace(n *yaml.Node, name string, value *yaml.Node, source string) {
	key := scalar("!!str", name)
	doc.sets[key] = source
	at := position(n, name)
	switch {
	case at < 0:
		n.Content = append(n.Content, key, value)
	case name == "name" && n != doc.root && n.Content[at+1].Value != value.Value:
		n.Content = []*yaml.Node{key, value}
	default:
		n.Content[at], n.Content[at+1] = key, value
	}
}
