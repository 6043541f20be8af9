package golden

import (
	"fmt"
	"math"
	"strconv"
)

// Values is one JSON object of a case: parameters, inputs or outputs. Its
// methods panic when a key is missing or has another type; Run turns the panic
// into a failure that names the case.
type Values map[string]any

// Has reports whether key is present and not null.
func (v Values) Has(key string) bool { return v[key] != nil }

// Float returns the number under key; the strings nan, inf and -inf count.
func (v Values) Float(key string) float64 {
	x, ok := number(v[key])
	if !ok {
		panic(fmt.Sprintf("golden: %q is %T, want a number", key, v[key]))
	}
	return x
}

// FloatOr is Float, or def where key is missing or null.
func (v Values) FloatOr(key string, def float64) float64 {
	if !v.Has(key) {
		return def
	}
	return v.Float(key)
}

// Int returns the whole number under key.
func (v Values) Int(key string) int {
	x := v.Float(key)
	if x != math.Trunc(x) {
		panic(fmt.Sprintf("golden: %q is %v, want a whole number", key, x))
	}
	return int(x)
}

// IntOr is Int, or def where key is missing or null.
func (v Values) IntOr(key string, def int) int {
	if !v.Has(key) {
		return def
	}
	return v.Int(key)
}

// Bool returns the truth value under key; missing and null are false.
func (v Values) Bool(key string) bool {
	switch x := v[key].(type) {
	case bool:
		return x
	case nil:
		return false
	case float64:
		return x != 0
	}
	panic(fmt.Sprintf("golden: %q is %T, want true or false", key, v[key]))
}

// String returns the string under key; missing and null are "".
func (v Values) String(key string) string {
	switch x := v[key].(type) {
	case string:
		return x
	case nil:
		return ""
	}
	panic(fmt.Sprintf("golden: %q is %T, want a string", key, v[key]))
}

// Sub returns the object under key; missing and null are an empty one.
func (v Values) Sub(key string) Values {
	switch x := v[key].(type) {
	case map[string]any:
		return x
	case Values:
		return x
	case nil:
		return Values{}
	}
	panic(fmt.Sprintf("golden: %q is %T, want an object", key, v[key]))
}

// Flat returns the numbers under key in row-major order, whatever the nesting:
// a scalar, a list, or lists of lists.
func (v Values) Flat(key string) []float64 {
	flat, ok := appendFlat(nil, v[key])
	if !ok {
		panic(fmt.Sprintf("golden: %q is %T, want nested lists of numbers", key, v[key]))
	}
	return flat
}

// FlatOr is Flat, or nil where key is missing or null.
func (v Values) FlatOr(key string) []float64 {
	if !v.Has(key) {
		return nil
	}
	return v.Flat(key)
}

// Matrix returns the list of lists under key; rows may be ragged.
func (v Values) Matrix(key string) [][]float64 {
	rows, ok := v[key].([]any)
	if !ok {
		panic(fmt.Sprintf("golden: %q is %T, want a list of lists", key, v[key]))
	}
	m := make([][]float64, len(rows))
	for i, row := range rows {
		if m[i], ok = appendFlat([]float64{}, row); !ok {
			panic(fmt.Sprintf("golden: row %d of %q is not a list of numbers", i, key))
		}
	}
	return m
}

// Strings returns the list of strings or numbers under key, as text: group
// names come in both forms.
func (v Values) Strings(key string) []string {
	list, ok := v[key].([]any)
	if !ok {
		panic(fmt.Sprintf("golden: %q is %T, want a list", key, v[key]))
	}
	text := make([]string, len(list))
	for i, x := range list {
		text[i] = fmt.Sprint(x)
	}
	return text
}

// appendFlat appends the numbers of a nested list.
func appendFlat(flat []float64, x any) ([]float64, bool) {
	if list, ok := x.([]any); ok {
		for _, e := range list {
			if flat, ok = appendFlat(flat, e); !ok {
				return nil, false
			}
		}
		return flat, true
	}
	n, ok := number(x)
	return append(flat, n), ok
}

// number reads a JSON number, a truth value as 0 or 1, or a non-finite number
// written as a string.
func number(x any) (float64, bool) {
	switch x := x.(type) {
	case float64:
		return x, true
	case bool:
		if x {
			return 1, true
		}
		return 0, true
	case string:
		if f, err := strconv.ParseFloat(x, 64); err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return f, true
		}
	}
	return 0, false
}
