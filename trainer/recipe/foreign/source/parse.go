package source

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"driftlab/trainer/recipe"

	"go.yaml.in/yaml/v4"
)

// Bounds on a configuration, so that no text takes more than a few seconds and 100 MB.
const (
	maxText     = 4 << 20  // bytes of a text
	maxPaths    = 16 << 20 // bytes of all paths that a tree or its aliases expand to
	maxBrackets = 256      // brackets open at one place
	deepest     = 32       // levels of a tree, aliases included
)

var errTooLarge = errors.New("expands to more than a configuration can be: write the values out")

// Document is one reading of a text: the settings of a file, or of one program that a script starts.
type Document struct {
	Settings []Setting
	// Name is the program that is given the settings, empty where the text itself has them.
	Name string
	Line int
}

// Parse reads the settings of a text, whatever it is written in.
func Parse(name string, text []byte) ([]Document, error) {
	fail := func(format string, args ...any) ([]Document, error) {
		return nil, recipe.Faults{{Source: name, Problem: fmt.Sprintf(format, args...)}}
	}
	switch {
	case len(text) > maxText:
		return fail("too long for a configuration: the limit is %d bytes", maxText)
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return fail("not a text")
	case tooDeep(text):
		return fail("more than %d brackets are open at one place: no configuration is nested that deep", maxBrackets)
	}
	var top yaml.Node
	kind := path.Ext(name)
	failed := yaml.Unmarshal(text, &top)
	if failed == nil && isConfiguration(&top) && kind != ".py" && kind != ".sh" && kind != ".toml" {
		f := flattener{}
		if f.add("", top.Content[0], 0); f.err != nil {
			return fail("%v", f.err)
		}
		return []Document{{Settings: interpolate(f.list)}}, nil
	}
	if failed != nil && slices.Contains([]string{".yaml", ".yml", ".json"}, kind) {
		return fail("no YAML: %s", firstLine(failed))
	}
	if kind != ".sh" && kind != ".py" {
		list, err := parseTOML(text)
		switch {
		case errors.Is(err, errTooLarge) || err != nil && kind == ".toml":
			return fail("%s", firstLine(err))
		case err == nil && len(list) > 0:
			return []Document{{Settings: list}}, nil
		}
	}
	var list []Document
	var err error
	if kind != ".py" {
		list, err = parseShell(text)
	}
	if kind == ".py" || err != nil && !errors.Is(err, errTooLarge) {
		calls := parsePython(text)
		if flags, ok := parsePythonFlags(text); ok {
			calls = append(calls, flags)
		}
		if len(calls) > 0 {
			return calls, nil
		}
	}
	if err != nil && kind != ".sh" && !errors.Is(err, errTooLarge) {
		return fail("not a configuration that is read here (YAML, TOML, a Python call, a shell script)")
	}
	if err != nil {
		return fail("%s", firstLine(err))
	}
	return list, nil
}

// isConfiguration reports whether a text of YAML is a mapping; code that happens to be one has brackets in its keys.
func isConfiguration(top *yaml.Node) bool {
	if len(top.Content) != 1 || top.Content[0].Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(top.Content[0].Content); i += 2 {
		if strings.ContainsAny(top.Content[0].Content[i].Value, "( \n") {
			return false
		}
	}
	return true
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}

// tooDeep bounds the brackets open at one place, which bounds the recursion of every parser here.
func tooDeep(text []byte) bool {
	depth := 0
	for _, c := range text {
		switch c {
		case '(', '[', '{':
			if depth++; depth > maxBrackets {
				return true
			}
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
	}
	return false
}

// flattener lists the leaves of a tree.
type flattener struct {
	list  []Setting
	bytes int
	err   error
}

func (f *flattener) add(at string, n *yaml.Node, depth int) {
	for n.Kind == yaml.AliasNode && depth < deepest {
		n, depth = n.Alias, depth+1
	}
	f.bytes += len(at) + 64 // before the paths below it are made
	if depth >= deepest || f.bytes > maxPaths {
		f.err = errTooLarge
	}
	if f.err != nil {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content) && f.err == nil; i += 2 {
			if n.Content[i].ShortTag() == "!!merge" {
				f.add(at, n.Content[i+1], depth+1)
				continue
			}
			f.add(join(at, n.Content[i].Value), n.Content[i+1], depth+1)
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			if f.err != nil {
				return
			}
			f.add(join(at, strconv.Itoa(i)), c, depth+1)
		}
	}
	if len(n.Content) > 0 {
		return
	}
	null := n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || n.Value == "None"
	f.list = append(f.list, Setting{Path: at, Text: n.Value, Null: null, Line: n.Line})
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// valued gives a Setting its text; lists and mappings in brackets become several settings.
func valued(s Setting, text string) []Setting {
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
		var top yaml.Node
		if err := yaml.Unmarshal([]byte(text), &top); err == nil && len(top.Content) == 1 && len(top.Content[0].Content) > 0 {
			f := flattener{}
			if f.add(s.Path, top.Content[0], 0); f.err == nil {
				for i := range f.list {
					f.list[i].Line, f.list[i].Why = s.Line, s.Why
				}
				return f.list
			}
		}
	}
	s.Text, s.Null = text, slices.Contains([]string{"null", "None", "~"}, text)
	return []Setting{s}
}
