package source

import (
	"regexp"
	"strings"
)

var (
	pythonImport = regexp.MustCompile(`(?m)^\s*(?:from|import)\s+([\w.]+)`)
	pythonScript = regexp.MustCompile(`train_script\s*=\s*["\']([^"\']+)`)
	pythonName   = regexp.MustCompile(`^\s*([A-Za-z_]\w*)\s*=[^=]`)
	placeholder  = regexp.MustCompile(`\{([^{}]*)\}`)
)

// parsePythonFlags lists the flags that stand in the strings of a launcher, such as miles': plain strings, f-strings, and strings that Python joins.
// A flag under a condition or in a loop, and a value that is computed, are undecided.
func parsePythonFlags(text []byte) (Document, bool) {
	var words []word
	why := map[int]string{} // of a line
	constants := map[string]string{}
	condition := -1 // the indentation of the innermost condition
	p := pythonReader{text: string(text), line: 1}
	inner := regexp.MustCompile(`^\s*(if|elif|else|for|while|try|except)\b`)
	depth, lineStart := 0, true
	line := ""
	for p.at < len(p.text) {
		if lineStart {
			end := strings.IndexByte(p.text[p.at:], '\n')
			if end < 0 {
				end = len(p.text) - p.at
			}
			line, lineStart = p.text[p.at:p.at+end], false
			if indent := len(line) - len(strings.TrimLeft(line, " \t")); depth == 0 && strings.TrimSpace(line) != "" {
				if indent <= condition {
					condition = -1
				}
				if condition < 0 && inner.MatchString(line) && !strings.Contains(line, "__main__") {
					condition = indent
				}
			}
		}
		switch c := p.text[p.at]; {
		case c == '#':
			p.comment()
		case c == '"' || c == '\'':
			formatted := p.at > 0 && (p.text[p.at-1] == 'f' || p.text[p.at-1] == 'F')
			at := p.line
			quoted := p.quoted(c)
			content := strings.Trim(quoted, string(c))
			if name := pythonName.FindStringSubmatch(line); name != nil && depth == 0 && strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), name[1])) == "= "+quoted {
				constants[name[1]] = content
			}
			if !strings.Contains(content, "--") || strings.Contains(line, "add_argument") {
				continue
			}
			if formatted {
				content = placeholder.ReplaceAllStringFunc(content, func(s string) string {
					if value, ok := constants[strings.Trim(s, "{}")]; ok {
						return value
					}
					return "$" + s
				})
			}
			for _, field := range strings.Fields(strings.ReplaceAll(content, "\\", " ")) {
				words = append(words, word{strings.Trim(field, `"\'`), at})
			}
			if condition >= 0 {
				why[at] = "the flag stands under a condition of the Python text"
			}
			continue
		case c == '(' || c == '[' || c == '{':
			depth++
			p.at++
		case c == ')' || c == ']' || c == '}':
			depth--
			p.at++
		case c == '\n':
			p.newline(c)
			lineStart = true
		default:
			p.at++
		}
	}
	d := Document{Line: 1, Settings: lastWins(fromWords(words))}
	for i, s := range d.Settings {
		switch {
		case why[s.Line] != "":
			d.Settings[i].Why = why[s.Line]
		case strings.Contains(s.Text, "${"):
			d.Settings[i].Why = "the value is the Python expression " + strings.Trim(s.Text, "${}")
		}
	}
	for _, m := range pythonImport.FindAllStringSubmatch(p.text, 32) {
		d.Name += m[1] + " "
	}
	if m := pythonScript.FindStringSubmatch(p.text); m != nil {
		d.Name += m[1]
	}
	return d, len(d.Settings) > 0
}
