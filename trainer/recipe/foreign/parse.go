package foreign

import (
	"bytes"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"driftlab/trainer/recipe"

	"go.yaml.in/yaml/v4"
)

// maxText bounds the size of a configuration.
const maxText = 4 << 20

// parse takes a text apart into settings, whatever it is written in.
func parse(source string, text []byte) ([]setting, error) {
	fail := func(problem string) ([]setting, error) { return nil, recipe.Faults{{Source: source, Problem: problem}} }
	switch {
	case len(text) > maxText:
		return fail(fmt.Sprintf("too long for a configuration: the limit is %d bytes", maxText))
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return fail("not a text")
	}
	var top yaml.Node
	if err := yaml.Unmarshal(text, &top); err == nil && len(top.Content) == 1 && top.Content[0].Kind == yaml.MappingNode {
		var list []setting
		flatten(&list, "", top.Content[0], 0)
		return list, nil
	}
	return words(text), nil
}

// deepest bounds how far aliases and nesting are followed.
const deepest = 32

// flatten lists the leaves of a tree.
func flatten(list *[]setting, path string, n *yaml.Node, depth int) {
	for n.Kind == yaml.AliasNode && depth < deepest {
		n, depth = n.Alias, depth+1
	}
	if depth >= deepest || len(*list) > maxText/8 {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			flatten(list, join(path, n.Content[i].Value), n.Content[i+1], depth+1)
		}
		if len(n.Content) > 0 {
			return
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			flatten(list, join(path, strconv.Itoa(i)), c, depth+1)
		}
		if len(n.Content) > 0 {
			return
		}
	}
	null := n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || n.Value == "None"
	*list = append(*list, setting{path: path, text: n.Value, null: null, line: n.Line})
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

var (
	tomlTable  = regexp.MustCompile(`^\s*\[+\s*([\w.-]+)\s*\]+\s*$`)
	yamlLine   = regexp.MustCompile(`^\s*([A-Za-z_][\w.]*):\s+(\S.*)$`)
	assignment = regexp.MustCompile(`^\+*([A-Za-z_][\w.]*)=(.*)$`)
	spaced     = regexp.MustCompile(`\s*=\s*`)
	variable   = regexp.MustCompile(`^([A-Za-z_]\w*)=("[^"]*"|'[^']*'|[^\s()]+)\s*$`)
)

// words reads what is not YAML: flags and overrides of a command line, TOML, a Python
// call. A shell's own NAME=value lines fill its $NAME.
func words(text []byte) []setting {
	var list []setting
	shell := map[string]string{}
	table, at := "", 0
	flag := -1 // the setting that the next words belong to
	for line := range strings.Lines(string(text)) {
		at++
		line = strings.TrimSuffix(strings.TrimSpace(uncommented(line)), `\`)
		if m := tomlTable.FindStringSubmatch(line); m != nil {
			table, flag = m[1], -1
			continue
		}
		if m := yamlLine.FindStringSubmatch(line); m != nil {
			list, flag = append(list, valued(setting{path: m[1], line: at}, unquoted(strings.TrimSpace(m[2])))), -1
			continue
		}
		if m := variable.FindStringSubmatch(line); m != nil {
			shell[m[1]] = unquoted(m[2])
		}
		for _, word := range split(line) {
			word = expand(word, shell)
			name, isFlag := strings.CutPrefix(word, "--")
			switch m := assignment.FindStringSubmatch(lastCall(word)); {
			case isFlag && name != "":
				name, value, given := strings.Cut(name, "=")
				s := setting{path: strings.ReplaceAll(name, "-", "_"), line: at}
				if given {
					s = valued(s, unquoted(value))
				}
				list, flag = append(list, s), len(list)
			case m != nil && !isFlag:
				list = append(list, bracketed(setting{path: join(table, m[1]), line: at}, m[2])...)
				flag = -1
			case flag >= 0:
				list = further(list, &flag, unquoted(word), at)
			}
		}
	}
	return list
}

// further gives a flag one more word: the first is its value, more make a list.
func further(list []setting, flag *int, word string, line int) []setting {
	s := &list[*flag]
	if s.text == "" && !s.null && !strings.HasSuffix(s.path, ".0") {
		*s = valued(*s, word)
		return list
	}
	base, number, isList := strings.Cut(s.path, ".")
	n, err := strconv.Atoi(number)
	if !isList || err != nil {
		base, n = s.path, 0
		s.path += ".0"
	}
	*flag = len(list)
	return append(list, valued(setting{path: join(base, strconv.Itoa(n+1)), line: line}, word))
}

// bracketed is an assignment, several of one to a list.
func bracketed(s setting, value string) []setting {
	inner, ok := strings.CutPrefix(value, "[")
	if !ok {
		return []setting{valued(s, unquoted(value))}
	}
	var list []setting
	for i, item := range strings.Split(strings.TrimSuffix(inner, "]"), ",") {
		list = append(list, valued(setting{path: join(s.path, strconv.Itoa(i)), line: s.line}, unquoted(strings.TrimSpace(item))))
	}
	return list
}

// valued gives a setting its text.
func valued(s setting, text string) setting {
	s.text, s.null = text, slices.Contains([]string{"null", "None", "~"}, text)
	return s
}

// lastCall drops the name of a function before its first argument.
func lastCall(word string) string {
	if i := strings.IndexByte(word, '('); i >= 0 && i < strings.IndexByte(word, '=') {
		return word[i+1:]
	}
	return word
}

// reference is $NAME or ${NAME}.
var reference = regexp.MustCompile(`\$\{?([A-Za-z_]\w*)\}?`)

// expand replaces $NAME and ${NAME} by what a line of the script gave it.
func expand(word string, shell map[string]string) string {
	if !strings.Contains(word, "$") {
		return word
	}
	return reference.ReplaceAllStringFunc(word, func(ref string) string {
		if value, ok := shell[strings.Trim(ref, "${}")]; ok {
			return value
		}
		return ref
	})
}

// outside yields what of a line stands outside quotes.
func outside(line string) iter.Seq2[int, rune] {
	return func(yield func(int, rune) bool) {
		quote := rune(0)
		for i, r := range line {
			switch {
			case quote != 0:
				if r == quote {
					quote = 0
				}
			case r == '"' || r == '\'':
				quote = r
			case !yield(i, r):
				return
			}
		}
	}
}

// uncommented drops what is behind a # that starts a word outside quotes.
func uncommented(line string) string {
	for i, r := range outside(line) {
		if r == '#' && (i == 0 || unicode.IsSpace(rune(line[i-1]))) {
			return line[:i]
		}
	}
	return line
}

// split cuts a line at blanks and commas outside quotes and brackets.
func split(line string) []string {
	line = spaced.ReplaceAllString(line, "=")
	var list []string
	depth, start := 0, 0
	cut := func(end int) {
		if word := strings.Trim(line[start:end], " \t\r,;()"); word != "" {
			list = append(list, word)
		}
		start = end
	}
	for i, r := range outside(line) {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth <= 0 && (r == ',' || unicode.IsSpace(r)):
			cut(i)
		}
	}
	cut(len(line))
	return list
}

func unquoted(s string) string { return strings.Trim(s, `"'`) }
