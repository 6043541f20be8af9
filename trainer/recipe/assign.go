package recipe

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// assign applies assignments of --set to the tree, in order. It checks their form
// only: the decoder judges names and values, and labels faults with the
// assignment.
func (doc *document) assign(assignments []string) error {
	for _, a := range assignments {
		c, err := ParseChange("--set", a)
		if err == nil {
			err = doc.change(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readValue parses the YAML of one value.
func readValue(text string) (n *yaml.Node, problem string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str"}, ""
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
	doc.sets[n] = source
	for _, c := range n.Content {
		doc.mark(c, source)
	}
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
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
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
