package source

import (
	"strconv"
	"strings"
)

// interpolate replaces the references of OmegaConf that the text itself decides:
// ${a.b}, ${.sibling}, ${oc.select:a.b,default}, ${oc.env:NAME,default} and the ${mul:a,b} of NeMo-RL.
// What it does not decide is left as it stands.
func interpolate(list []Setting) []Setting {
	r := references{list: list, at: map[string]int{}}
	for i, s := range list {
		r.at[s.Path] = i
	}
	for i, s := range list {
		if !strings.Contains(s.Text, "${") {
			continue
		}
		if text, null, ok := r.resolve(s.Text, s.Path, 0); ok {
			list[i].Text, list[i].Null = text, null
		}
	}
	return list
}

type references struct {
	list []Setting
	at   map[string]int
}

// maxHops bounds how far a reference refers to another, and maxReference what it may be.
const (
	maxHops      = 8
	maxReference = 4096
)

// resolve is a text that is one whole reference; any other is undecided.
func (r *references) resolve(text, from string, hops int) (value string, null, ok bool) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "${") {
		return text, text == "null" || text == "None", true
	}
	inner, whole := strings.CutPrefix(text, "${")
	if !whole || !strings.HasSuffix(inner, "}") || hops > maxHops || len(text) > maxReference {
		return "", false, false
	}
	inner = inner[:len(inner)-1]
	resolver, rest, isCall := strings.Cut(inner, ":")
	if !isCall {
		return r.target(inner, from, hops)
	}
	args := topLevel(rest)
	switch strings.TrimSpace(resolver) {
	case "oc.select":
		if value, null, ok := r.target(strings.TrimSpace(args[0]), from, hops); ok || len(args) < 2 {
			return value, null, ok
		}
		return r.resolve(args[1], from, hops+1)
	case "oc.env":
		if len(args) == 2 {
			return r.resolve(args[1], from, hops+1)
		}
	case "mul":
		product := 1.0
		for _, a := range args {
			text, _, ok := r.resolve(a, from, hops+1)
			x, err := strconv.ParseFloat(text, 64)
			if !ok || err != nil {
				return "", false, false
			}
			product *= x
		}
		return strconv.FormatFloat(product, 'g', -1, 64), false, true
	}
	return "", false, false
}

// target is the value at a path, which is relative where it begins with a point.
func (r *references) target(to, from string, hops int) (value string, null, ok bool) {
	if rest, relative := strings.CutPrefix(to, "."); relative {
		parent := from
		for {
			i := strings.LastIndexByte(parent, '.')
			parent = parent[:max(i, 0)]
			next, more := strings.CutPrefix(rest, ".")
			if !more || i < 0 {
				break
			}
			rest = next
		}
		to = join(parent, rest)
	}
	i, found := r.at[to]
	if !found {
		return "", false, false
	}
	s := r.list[i]
	if s.Null {
		return s.Text, true, true
	}
	return r.resolve(s.Text, s.Path, hops+1)
}

// topLevel cuts at the commas outside braces.
func topLevel(text string) (list []string) {
	depth, start := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				list, start = append(list, text[start:i]), i+1
			}
		}
	}
	return append(list, text[start:])
}
