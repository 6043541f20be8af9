package recipe

import (
	_ "embed"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"driftlab/engine"

	"go.yaml.in/yaml/v4"
)

// FieldReference is one field of a recipe.
type FieldReference struct {
	// Path is where it stands, such as rollout.kv_scales.every.
	Path string `json:"path"`
	// Default is its value when it is not given, as YAML; empty for a section.
	Default string `json:"default"`
	// Doc describes the field.
	Doc string `json:"doc"`
}

// meanings says what each field means: a line with its path, then its text, indented by a tab. The fields of a section
// that stands in several places, such as numerics, are listed once.
//
//go:embed fields.txt
var meanings string

// Reference lists every field of a recipe in the order of its text, those of
// numerics once, under rollout. Parameters of methods are not among them: see
// Methods.
func Reference() (list []FieldReference) {
	root := reflect.ValueOf(Default())
	for line := range strings.Lines(meanings) {
		if text, ok := strings.CutPrefix(line, "\t"); ok || line == "\n" {
			list[len(list)-1].Doc += text
		} else {
			path := strings.TrimSpace(line)
			list = append(list, FieldReference{Path: path, Default: defaultAt(root, path)})
		}
	}
	for i := range list {
		list[i].Doc = strings.TrimSpace(list[i].Doc)
	}
	return list
}

// defaultAt is the default at a path: of a section its name, where it has one.
func defaultAt(section reflect.Value, path string) string {
	value := section
	for part := range strings.SplitSeq(path, ".") {
		name, _, entry := strings.Cut(part, "[")
		fields := fieldsOf(section)
		value = fields[slices.IndexFunc(fields, func(f field) bool { return f.name == name })].value
		if section = value; value.Kind() == reflect.Pointer || entry {
			section = newSection(value.Type().Elem()).Elem()
		}
	}
	_, writes := section.Interface().(writer)
	_, text := section.Interface().(encoding.TextMarshaler)
	if numerics, ok := section.Interface().(engine.Numerics); ok {
		return numerics.Name
	}
	if section.Kind() == reflect.Struct && !writes && !text {
		return ""
	}
	return defaultText(value)
}

// defaultText is a value on one line: of a method the name.
func defaultText(v reflect.Value) string {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return "" // as the field's own words have it
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok && v.IsZero() {
		if _, err := m.MarshalText(); err != nil {
			return "" // so has an optional format
		}
	}
	n := nodeOf(v, false)
	if n.Kind == yaml.MappingNode {
		if name := find(n, "name"); name != nil {
			return name.Value
		}
	}
	if n.Kind == yaml.ScalarNode {
		if n.Value == "" && n.Tag == "!!str" {
			return `""`
		}
		return n.Value
	}
	return strings.TrimSpace(string(appendNode(nil, n)))
}

// LookUp returns the fields at a path and below it: all for "recipe".
func LookUp(path string) []FieldReference {
	if path == "recipe" {
		return Reference()
	}
	var found []FieldReference
	for _, f := range Reference() {
		if f.Path == path || strings.HasPrefix(f.Path, path+".") || strings.HasPrefix(f.Path, path+"[") {
			found = append(found, f)
		}
	}
	return found
}

// String is the field with its default and its description, over several lines.
func (f FieldReference) String() string {
	head := f.Path
	if f.Default != "" {
		head += ": " + f.Default
	}
	return fmt.Sprintf("%s\n    %s", head, strings.ReplaceAll(f.Doc, "\n", "\n    "))
}
