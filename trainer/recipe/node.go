package recipe

import (
	"fmt"
	"iter"
	"reflect"

	"go.yaml.in/yaml/v4"
)

// Files about recipes, such as that of a sweep, are read as strictly as recipes are:
// Decode fills their structs, and a type that YAML can write in several ways reads
// itself from a Node.

// Decode reads a text as exactly one YAML document into a struct with yaml tags.
// what names the kind of document, in a word: sweep. The error is Faults, all of them.
func Decode(what, file string, text []byte, into any) error {
	doc, err := readTreeOf(what, file, text)
	if err != nil {
		return err
	}
	d := &decoder{doc: doc, other: true}
	d.structure(doc.root, "", reflect.ValueOf(into).Elem())
	return d.faults.orNil()
}

// nodeReader is a type that reads itself, in Decode.
type nodeReader interface {
	// ReadNode fills the value from the node, and tells it what is wrong with it.
	ReadNode(n Node)
}

// Node is a place in a text that is being decoded.
type Node struct {
	d    *decoder
	n    *yaml.Node
	path string
}

// Fault says what is wrong there.
func (n Node) Fault(format string, args ...any) { n.d.fault(n.n, n.path, format, args...) }

// Expected says that something else should stand there.
func (n Node) Expected(want string) { n.d.expected(n.n, n.path, want) }

// Into fills the variable that the pointer points to.
func (n Node) Into(pointer any) { n.d.value(n.n, n.path, reflect.ValueOf(pointer).Elem()) }

// Scalar reports whether it is a text, a number or a truth value.
func (n Node) Scalar() bool { return n.n.Kind == yaml.ScalarNode && n.n.ShortTag() != "!!null" }

// Mapping reports whether it has fields.
func (n Node) Mapping() bool { return n.n.Kind == yaml.MappingNode }

// Text is the node as one line.
func (n Node) Text() string {
	if n.Scalar() {
		return n.n.Value
	}
	return flow(n.n)
}

// Line is where it was written, as file:line.
func (n Node) Line() string {
	source, line := n.d.doc.origin(n.n)
	return fmt.Sprintf("%s:%d", source, line)
}

// Change is the change that gives a field of a recipe this value.
func (n Node) Change(field string) Change { return Change{n.Line(), field, n.n} }

// Changes are those that its fields make to a recipe's: each leaf is one, a list is
// one as a whole.
func (n Node) Changes() []Change {
	if !n.Mapping() {
		n.Expected("a mapping of a recipe's fields")
		return nil
	}
	if len(n.n.Content) == 0 {
		return nil
	}
	return n.d.changes(n.n, "")
}

// Items are the entries of a list; anything else is a list of one.
func (n Node) Items() []Node {
	if n.n.Kind != yaml.SequenceNode {
		return []Node{n}
	}
	items := make([]Node, len(n.n.Content))
	for i, c := range n.n.Content {
		items[i] = Node{n.d, c, fmt.Sprintf("%s[%d]", n.path, i)}
	}
	return items
}

// Field is one field of a mapping, of any name.
type Field struct {
	Name string
	Node
}

// Fields are the fields of a mapping, in order; none may come twice.
func (n Node) Fields() []Field {
	if !n.Mapping() {
		n.Expected("a mapping")
		return nil
	}
	var fields []Field
	for key, value := range n.d.entries(n.n, n.path) {
		fields = append(fields, Field{key.Value, value})
	}
	return fields
}

// entries are the keys and values of a mapping, in order, but for those at fault.
func (d *decoder) entries(n *yaml.Node, path string) iter.Seq2[*yaml.Node, Node] {
	return func(yield func(*yaml.Node, Node) bool) {
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			at := join(path, key.Value)
			switch {
			case key.Kind != yaml.ScalarNode:
				d.fault(key, path, "expected the name of a field, got %s", describe(key))
				continue
			case seen[key.Value]:
				d.fault(key, at, "given twice: remove one")
			case !yield(key, Node{d, n.Content[i+1], at}):
				return
			}
			seen[key.Value] = true
		}
	}
}
