package foreign

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/trainer/method"
	"driftlab/trainer/recipe"
)

// setting is a leaf of a configuration: where it stands and what it says.
type setting struct {
	path string // with dots, an entry of a list by its number
	text string
	null bool
	flag bool   // --name of a command
	bare bool   // and without a value
	why  string // why its value is not known, empty if it is
	line int
}

// leaf is the last part of its path.
func (s setting) leaf() string { return s.path[strings.LastIndexByte(s.path, '.')+1:] }

// key is its path for people: a flag as it is given.
func (s setting) key() string {
	if s.flag {
		return "--" + strings.ReplaceAll(s.path, "_", "-")
	}
	return s.path
}

// shown is its value for people.
func (s setting) shown() string {
	switch {
	case s.bare:
		return "on"
	case s.text == "" && s.null:
		return "null"
	case len(s.text) > 60:
		return s.text[:57] + "..."
	}
	return s.text
}

// values are the settings that belong to a framework, by its own keys.
type values struct {
	source    string
	framework *framework
	by        map[string]setting
	// all are the settings in their order.
	all []setting
	// used are the keys that were read, left those that were not taken over and why.
	used map[string]bool
	left map[string]string
	// block says that the text is the inside of a section and nothing else, so that
	// what is not in it may well be elsewhere.
	block  bool
	faults recipe.Faults
}

func (v *values) fault(s setting, format string, args ...any) {
	v.faults = append(v.faults, recipe.Fault{Source: v.source, Line: s.line, Path: s.path, Problem: fmt.Sprintf(format, args...)})
}

// leave says that a key is not taken over, and why.
func (v *values) leave(key, why string) {
	if _, given := v.by[key]; given && v.left[key] == "" {
		v.left[key] = why
	}
}

// has reports whether a key has a value.
func (v *values) has(key string) bool {
	s, ok := v.by[key]
	return ok && !s.null && s.why == ""
}

// any reports whether one of the keys has a value.
func (v *values) any(keys ...string) bool { return slices.ContainsFunc(keys, v.has) }

// nulled reports whether a key is there and says that it has none.
func (v *values) nulled(key string) bool { v.used[key] = true; return v.by[key].null }

// first is the first of the keys that has a value, or the first.
func (v *values) first(keys ...string) string {
	for _, k := range keys {
		if v.has(k) {
			return k
		}
	}
	return keys[0]
}

// text is a key's value, or the framework's default.
func (v *values) text(key, otherwise string) string {
	v.used[key] = true
	if !v.has(key) {
		return otherwise
	}
	return v.by[key].text
}

// wrong says that a value cannot be read: a fault where it is the correction's.
func (v *values) wrong(key, format string, args ...any) {
	if v.framework.table.find(key) == nil {
		v.fault(v.by[key], format, args...)
		return
	}
	v.leave(key, fmt.Sprintf(format, args...))
}

// number is a key's value, or the default; infinities are spelt as Python and YAML do.
func (v *values) number(key string, otherwise float64) float64 {
	v.used[key] = true
	if !v.has(key) {
		return otherwise
	}
	s := v.by[key]
	x, err := strconv.ParseFloat(strings.Replace(s.text, ".inf", "inf", 1), 64)
	if err != nil || math.IsNaN(x) {
		v.wrong(key, "expected a number, got the text %q", s.text)
		return otherwise
	}
	return x
}

// truth is a key's value, or the default.
func (v *values) truth(key string, otherwise bool) bool {
	v.used[key] = true
	if !v.has(key) {
		return otherwise
	}
	switch s := v.by[key]; strings.ToLower(s.text) {
	case "true", "1", "", "yes", "on":
		return true
	case "false", "0", "no", "off":
		return false
	default:
		v.wrong(key, "expected true or false, got the text %q", s.text)
	}
	return otherwise
}

// choice is a key's value, which must be one of those known.
func (v *values) choice(key, otherwise string, known ...string) string {
	text := v.text(key, otherwise)
	if v.has(key) && !slices.Contains(known, text) {
		v.wrong(key, "%v", method.UnknownName(text, known))
		return otherwise
	}
	return text
}

// translated is a key's value by a table of names; ok is false where it has none, or one that is not known.
func (v *values) translated(key, otherwise string, names map[string]string) (name string, ok bool) {
	text := v.text(key, otherwise)
	name, ok = names[strings.ToLower(text)]
	if !ok && v.has(key) {
		v.leave(key, fmt.Sprintf("%q has no counterpart here", text))
	}
	return name, ok
}

// entries is how many a list has.
func (v *values) entries(list string) int {
	n := 0
	for key := range v.by { // a maximum, in any order
		if rest, ok := strings.CutPrefix(key, list+"."); ok {
			number, _, _ := strings.Cut(rest, ".")
			if i, err := strconv.Atoi(number); err == nil {
				n = max(n, i+1)
			}
		}
	}
	return n
}
