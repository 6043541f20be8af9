package foreign

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/trainer/method"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign/source"
)

// values are the settings that belong to a framework, by its own keys.
type values struct {
	source    string
	framework *framework
	by        map[string]source.Setting
	// all are the settings in their order.
	all []source.Setting
	// used are the keys that were read, chose those by which a row of the table was taken, left those that were not taken over and why.
	used, chose map[string]bool
	left        map[string]string
	// block says that the text is the inside of a section and nothing else, so that
	// what is not in it may well be elsewhere.
	block  bool
	faults recipe.Faults
	// other are settings of the objective that have no counterpart.
	other []string
	// strange are the paths of keys in the correction's section that the framework does not have.
	strange []string
}

func (v *values) fault(s source.Setting, format string, args ...any) {
	v.faults = append(v.faults, recipe.Fault{Source: v.source, Line: s.Line, Path: s.Path, Problem: fmt.Sprintf(format, args...)})
}

// leave says that a key is not taken over, and why.
func (v *values) leave(key, why string) {
	if _, given := v.by[key]; given && v.left[key] == "" {
		v.left[key] = why
	}
}

func (v *values) leaveUnread(why string, keys ...string) {
	for _, key := range keys {
		if !v.used[key] {
			v.leave(key, why)
		}
	}
}

// has reports whether a key has a value.
func (v *values) has(key string) bool {
	s, ok := v.by[key]
	return ok && !s.Null && s.Why == ""
}

// any reports whether one of the keys has a value.
func (v *values) any(keys ...string) bool { return slices.ContainsFunc(keys, v.has) }

// nulled reports whether a key is there and says that it has none.
func (v *values) nulled(key string) bool { v.used[key] = true; return v.by[key].Null }

// given reports whether a section stands in the text.
func (v *values) given(section string) bool {
	return slices.ContainsFunc(v.all, func(s source.Setting) bool { return slices.Contains(strings.Split(s.Path, "."), section) })
}

// first is the first of the keys that has a value, or the first.
func (v *values) first(keys ...string) string {
	for _, k := range keys {
		if v.has(k) {
			return k
		}
	}
	return keys[0]
}

func (v *values) text(key, otherwise string) string {
	v.used[key] = true
	if !v.has(key) {
		return otherwise
	}
	return v.by[key].Text
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
	x, err := strconv.ParseFloat(strings.Replace(s.Text, ".inf", "inf", 1), 64)
	if err != nil || math.IsNaN(x) {
		v.wrong(key, "expected a number, got the text %q", s.Text)
		return otherwise
	}
	return x
}

func (v *values) truth(key string, otherwise bool) bool {
	v.used[key] = true
	if !v.has(key) {
		return otherwise
	}
	switch s := v.by[key]; strings.ToLower(s.Text) {
	case "true", "1", "", "yes", "on":
		return true
	case "false", "0", "no", "off":
		return false
	default:
		v.wrong(key, "expected true or false, got the text %q", s.Text)
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
