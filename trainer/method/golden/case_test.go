// Package golden compares the trainer with what other code bases compute.
//
// Under testdata/golden lie about 1,800 cases: inputs, parameters and outputs of functions of verl and its
// recipes, SkyRL, TRL, AReaL, prime-rl, slime, ROLL, ms-swift, NeMo-RL, open-instruct and of papers' own
// repositories. A matcher computes every output of a case with our code and compares it; a listing names a
// case, or an output, that our code does not match, with the reason. A case without either fails.
//
// A matcher reads parameters, never names, so that it also serves the second set of cases that the
// environment variable GOLDEN_DIR may point to. Files that only the second set has, and that no matcher
// covers, are skipped; go test -v names them.
package golden

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"driftlab/trainer/method/batch"
)

// Case is one call of a function of a reference implementation.
type Case struct {
	// File is the path below the golden folder, with slashes: "verl/agg_loss.json".
	File string
	// Set is "shipped", or "second" for the folder GOLDEN_DIR names.
	Set string
	// Name and Source are the case's own; matchers may read Source, not Name.
	Name, Source string
	// Params and Inputs are the arguments of the call.
	Params, Inputs Values
	// Outputs is what it returned, with the float64 recomputation of those
	// outputs that the reference's code rounds to float32.
	Outputs Values
}

// Folder returns the code base, the first part of File.
func (c *Case) Folder() string { return filepath.Dir(c.File) }

// Raised reports that the reference's call ended in an error.
func (c *Case) Raised() bool { _, ok := c.Outputs["error"]; return ok }

// String returns file and name.
func (c *Case) String() string { return c.File + ": " + c.Name }

// Load reads every case of the shipped set and, if the environment variable
// GOLDEN_DIR is set, of the folder it names, in the order of the file names.
func Load() ([]*Case, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	cases, err := loadSet(filepath.Join(root, "testdata", "golden"), "shipped")
	if err != nil {
		return nil, err
	}
	if dir := os.Getenv("GOLDEN_DIR"); dir != "" {
		second, err := loadSet(dir, "second")
		if err != nil {
			return nil, err
		}
		cases = append(cases, second...)
	}
	return cases, nil
}

// loadSet reads dir/<folder>/*.json; a set without a case is an error.
func loadSet(dir, set string) ([]*Case, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var cases []*Case
	for _, path := range paths {
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return nil, err
		}
		read, err := readFile(path)
		if err != nil {
			return nil, err
		}
		for _, c := range read {
			c.File, c.Set = filepath.ToSlash(name), set
		}
		cases = append(cases, read...)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("golden: no cases under %s", dir)
	}
	return cases, nil
}

// readFile reads an array of cases, bare or under the key "cases".
func readFile(path string) ([]*Case, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	type record struct {
		Name, Source            string
		Params, Inputs, Outputs Values
		OutputsF64              Values `json:"outputs_f64"`
	}
	var records []record
	if len(data) > 0 && data[0] == '{' {
		var wrapped struct{ Cases []record }
		err = json.Unmarshal(data, &wrapped)
		records = wrapped.Cases
	} else {
		err = json.Unmarshal(data, &records)
	}
	if err != nil {
		return nil, fmt.Errorf("golden: %s: %w", path, err)
	}
	cases := make([]*Case, len(records))
	for i, r := range records {
		outputs := maps.Clone(r.Outputs)
		overlay(outputs, r.OutputsF64)
		cases[i] = &Case{Name: r.Name, Source: r.Source, Params: r.Params, Inputs: r.Inputs, Outputs: outputs}
	}
	return cases, nil
}

// overlay replaces entries of base by those of top. Objects merge, because the
// recomputation lists only the metrics that differ.
func overlay(base, top map[string]any) {
	for key, value := range top {
		if inner, ok := value.(map[string]any); ok {
			if old, ok := base[key].(map[string]any); ok {
				merged := maps.Clone(old)
				overlay(merged, inner)
				base[key] = merged
				continue
			}
		}
		base[key] = value
	}
}

// moduleRoot finds the folder of go.mod above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("golden: no go.mod above the working directory")
		}
		dir = parent
	}
}

// Batch returns a batch with the offsets and the mask of a matrix, one row per
// response. Rows keep their masked tokens, wherever they lie.
func Batch(mask [][]float64) *batch.Batch {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: make([]int, 1, len(mask)+1)}}
	for _, row := range mask {
		for _, m := range row {
			b.Mask = append(b.Mask, m != 0)
		}
		b.Offsets = append(b.Offsets, len(b.Mask))
	}
	return b
}

// Groups numbers the distinct names of a list in the order of appearance.
func Groups(names []string) []int {
	number := map[string]int{}
	groups := make([]int, len(names))
	for i, name := range names {
		if _, ok := number[name]; !ok {
			number[name] = len(number)
		}
		groups[i] = number[name]
	}
	return groups
}

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
