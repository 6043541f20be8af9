package source

import (
	"slices"
	"strings"
)

// parsePython lists the keyword arguments of the calls of a Python text, such as
// GRPOConfig(loss_type="dapo", ...): a document for each outermost call with
// arguments, whose nested calls and dictionaries are paths.
func parsePython(text []byte) []Document {
	p := pythonReader{text: string(text), line: 1, names: map[string]string{}}
	for p.at < len(p.text) {
		p.statement()
	}
	return p.calls
}

type pythonReader struct {
	text     string
	at, line int
	names    map[string]string // constants: NAME = literal
	calls    []Document
}

// opened is a bracket and the path of what is inside.
type opened struct {
	at   string
	open bool // whether names before = are arguments
}

// statement reads to the end of a line outside brackets.
func (p *pythonReader) statement() {
	var stack []opened
	var doc *Document
	key, name, value := "", "", &strings.Builder{}
	simple, target := true, ""
	flush := func() {
		text := strings.TrimSpace(value.String())
		value.Reset()
		if key == "" || len(stack) == 0 || doc == nil {
			key = ""
			return
		}
		if constant, ok := p.names[text]; ok {
			text = constant
		}
		quoted := len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0]
		if quoted {
			text = text[1 : len(text)-1]
		}
		if simple && text != "" {
			s := Setting{Path: join(stack[len(stack)-1].at, key), Line: p.line}
			if !quoted && !literal(text) {
				s.Why = "the value is the Python expression " + text
			}
			doc.Settings = append(doc.Settings, valued(s, text)...)
		}
		key, simple = "", true
	}
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == '#':
			p.comment()
			continue
		case c == '"' || c == '\'':
			value.WriteString(p.quoted(c))
			name = ""
			continue
		case c == '(' || c == '[' || c == '{':
			path := ""
			if len(stack) > 0 {
				path = join(stack[len(stack)-1].at, key)
			}
			isCall := c == '(' && name != ""
			if isCall && doc == nil {
				p.calls = append(p.calls, Document{Name: name, Line: p.line})
				doc = &p.calls[len(p.calls)-1]
				path = ""
			}
			if isCall || c == '{' {
				simple = true
				key = ""
				value.Reset()
			} else {
				value.WriteByte(c)
			}
			if len(stack) >= maxBrackets {
				p.at = len(p.text)
				return
			}
			stack = append(stack, opened{at: path, open: isCall || c == '{'})
			name = ""
		case c == ')' || c == ']' || c == '}':
			if len(stack) == 0 {
				break
			}
			if stack[len(stack)-1].open {
				flush()
				value.Reset()
			} else {
				value.WriteByte(c)
			}
			stack = stack[:len(stack)-1]
			if len(stack) == 0 {
				doc = nil
			}
		case len(stack) > 0 && stack[len(stack)-1].open && c == ',':
			flush()
			name = ""
		case len(stack) > 0 && stack[len(stack)-1].open && key == "" && (c == '=' && !strings.HasPrefix(p.text[p.at:], "==") || c == ':'):
			key = strings.Trim(strings.TrimSpace(value.String()), `"'`)
			value.Reset()
			if strings.ContainsAny(key, " \t\n([{") {
				key = ""
			}
			name = ""
		case len(stack) == 0 && c == '=':
			target = strings.TrimSpace(value.String())
			value.Reset()
			name = ""
		case len(stack) == 0 && (c == '\n' || c == ';'):
			if text := strings.TrimSpace(value.String()); target != "" && text != "" && len(text) < 256 {
				p.names[target] = text
			}
			p.newline(c)
			return
		default:
			value.WriteByte(c)
			if c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
				name += string(c)
			} else {
				name = ""
			}
			if len(name) > 256 {
				name = ""
			}
			if c == '\n' {
				p.line++
			}
		}
		p.at++
	}
}

func (p *pythonReader) newline(c byte) {
	p.at++
	if c == '\n' {
		p.line++
	}
}

func (p *pythonReader) comment() {
	for p.at < len(p.text) && p.text[p.at] != '\n' {
		p.at++
	}
}

// quoted is a string with its quotes, those of three lines as one of one.
func (p *pythonReader) quoted(quote byte) string {
	long := strings.Repeat(string(quote), 3)
	mark := string(quote)
	if strings.HasPrefix(p.text[p.at:], long) {
		mark = long
	}
	start := p.at + len(mark)
	for p.at = start; p.at < len(p.text); p.at++ {
		switch {
		case p.text[p.at] == '\\':
			p.at++
		case strings.HasPrefix(p.text[p.at:], mark):
			inner := p.text[start:p.at]
			p.line += strings.Count(inner, "\n")
			p.at += len(mark)
			return string(quote) + inner + string(quote)
		case len(mark) == 1 && p.text[p.at] == '\n':
			return string(quote) + p.text[start:p.at] + string(quote)
		}
	}
	p.at = len(p.text)
	return string(quote) + string(quote)
}

// literal reports whether a Python value is a number, a truth or none.
func literal(text string) bool {
	return slices.Contains([]string{"True", "False", "None"}, text) || strings.HasPrefix(text, "[") || text != "" && strings.Trim(text, "0123456789.eE+-_") == ""
}
