package recipe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxText bounds the size of a recipe: the longest real one is a few kilobytes.
const maxText = 1 << 20

// document is the text of a recipe as a tree, with where each part was written.
type document struct {
	// source is the file's name, or another label.
	source string
	// root is the top mapping.
	root *yaml.Node
	// sets names the --set that a node came from, for nodes that did.
	sets map[*yaml.Node]string
}

func readTree(source string, text []byte) (*document, error) {
	return readTreeOf("recipe", source, text)
}

// readTreeOf parses the text as exactly one YAML document with a mapping on top.
func readTreeOf(what, source string, text []byte) (*document, error) {
	fail := func(line int, format string, args ...any) (*document, error) {
		return nil, Faults{{Source: source, Line: line, Problem: fmt.Sprintf(format, args...)}}
	}
	if len(text) > maxText {
		return fail(0, "too long for a %s: the limit is %d bytes", what, maxText)
	}
	lines := bytes.Split(text, []byte("\n"))
	if i := slices.IndexFunc(lines, func(line []byte) bool { return !utf8.Valid(line) }); i >= 0 {
		return fail(1+i, "not UTF-8 text")
	}
	if i := bytes.IndexFunc(text, forbidden); i >= 0 {
		r, _ := utf8.DecodeRune(text[i:])
		return fail(1+bytes.Count(text[:i], []byte("\n")), "%q is a control character, which YAML forbids: remove it", r)
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var top, second yaml.Node
	switch err := loader.Load(&top); {
	case err == io.EOF:
		return fail(0, "the %s is empty; `simulate methods` lists what it can name, and the shipped recipes are examples", what)
	case err != nil:
		line, problem := syntaxProblem(err, lines)
		return fail(line, "%s", problem)
	}
	if err := loader.Load(&second); err != io.EOF {
		if err != nil {
			line, problem := syntaxProblem(err, lines)
			return fail(line, "%s", problem)
		}
		return fail(second.Line, "a second YAML document: a %s is one; remove the line with ---", what)
	}
	if len(top.Content) != 1 || top.Content[0].Kind != yaml.MappingNode {
		return fail(1, "a %s is a mapping of fields, such as name: my-run", what)
	}
	return &document{source: source, root: top.Content[0], sets: map[*yaml.Node]string{}}, nil
}

// forbidden reports whether YAML takes no such character, not even in quotes.
func forbidden(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' && r != '\u0085'
}

// syntaxProblem turns an error of the YAML library into a line and a sentence.
func syntaxProblem(err error, lines [][]byte) (line int, problem string) {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return 0, "not YAML: " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	if at := load.Mark.Line; 0 < at && at <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[at-1], " "), []byte("\t")) {
		return at, "not YAML: a tab indents this line, and YAML takes spaces only"
	}
	return load.Mark.Line, "not YAML: " + strings.ReplaceAll(load.Message, "\n", " ")
}

func (d *document) origin(n *yaml.Node) (source string, line int) {
	if set, ok := d.sets[n]; ok {
		return set, 0
	}
	return d.source, n.Line
}

// position is the place of a field's name in a mapping, -1 if it is not there.
func position(n *yaml.Node, name string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return i
		}
	}
	return -1
}

// find returns the value of a field of a mapping, nil if it is not there.
func find(n *yaml.Node, name string) *yaml.Node {
	if i := position(n, name); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

// index maps the path of every node to where it was written, so that a fault
// found later, in the decoded value, can still name its line.
type index map[string]*yaml.Node

func indexOf(d *document) index {
	ix := index{}
	ix.add("", d.root)
	return ix
}

func (ix index) add(path string, n *yaml.Node) {
	ix[path] = n
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			ix.add(join(path, n.Content[i].Value), n.Content[i+1])
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			ix.add(fmt.Sprintf("%s[%d]", path, i), item)
		}
	}
}

// nearest is the node at the path, or that of the closest parent that was
// written; the root has no line of its own and counts as none.
func (ix index) nearest(path string) *yaml.Node {
	for path != "" {
		if n, ok := ix[path]; ok {
			return n
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return nil
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}
