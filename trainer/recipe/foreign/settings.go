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
	line int
}

// leaf is the last part of its path.
func (s setting) leaf() string { return s.path[strings.LastIndexByte(s.path, '.')+1:] }

// values are the settings that belong to a framework, by its own keys.
type values struct {
	source string
	by     map[string]setting
	// block says that the text is the inside of a section and nothing else, so that
	// what is not in it may well be elsewhere.
	block  bool
	faults recipe.Faults
}

func (v *values) fault(s setting, format string, args ...any) {
	v.faults = append(v.faults, recipe.Fault{Source: v.source, Line: s.line, Path: s.path, Problem: fmt.Sprintf(format, args...)})
}

// has reports whether a key has a value.
func (v *values) has(key string) bool { s, ok := v.by[key]; return ok && !s.null }

// nulled reports whether a key is there and says that it has none.
func (v *values) nulled(key string) bool { return v.by[key].null }

// text is a key's value, or the framework's default.
func (v *values) text(key, otherwise string) string {
	if !v.has(key) {
		return otherwise
	}
	return v.by[key].text
}

// number is a key's value, or the default; infinities are spelt as Python and YAML do.
func (v *values) number(key string, otherwise float64) float64 {
	if !v.has(key) {
		return otherwise
	}
	s := v.by[key]
	x, err := strconv.ParseFloat(strings.Replace(s.text, ".inf", "inf", 1), 64)
	if err != nil || math.IsNaN(x) {
		v.fault(s, "expected a number, got the text %q", s.text)
		return otherwise
	}
	return x
}

// truth is a key's value, or the default.
func (v *values) truth(key string, otherwise bool) bool {
	if !v.has(key) {
		return otherwise
	}
	switch s := v.by[key]; strings.ToLower(s.text) {
	case "true", "1", "":
		return true
	case "false", "0":
		return false
	default:
		v.fault(s, "expected true or false, got the text %q", s.text)
	}
	return otherwise
}

// choice is a key's value, which must be one of those known.
func (v *values) choice(key, otherwise string, known ...string) string {
	text := v.text(key, otherwise)
	if v.has(key) && !slices.Contains(known, text) {
		v.fault(v.by[key], "%v", method.UnknownName(text, known))
		return otherwise
	}
	return text
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
