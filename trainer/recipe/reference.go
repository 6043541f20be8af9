package recipe

import (
	"embed"
	"encoding"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"sync"

	"driftlab/engine"
	"driftlab/model"
	"driftlab/trainer/method/schedule"

	"go.yaml.in/yaml/v4"
)

// FieldReference is one field of a recipe.
type FieldReference struct {
	// Path is where it stands, such as rollout.kv_scales.every.
	Path string `json:"path"`
	// Default is its value when it is not given, as YAML; empty for a section.
	Default string `json:"default"`
	// Doc says what it is.
	Doc string `json:"doc"`
}

// sources are the files that declare the sections. What a field means is said
// once, in its comment, and read from there.
//
//go:embed recipe.go rollout.go routing.go cluster.go fleet.go fusion.go pool.go prefix_values.go distillation.go critic.go weightsync.go lora.go correction.go optimizer.go
var sources embed.FS

// Reference lists every field of a recipe in the order of its text, those of
// numerics once, under rollout. Parameters of methods are not among them: see
// Methods.
//
// It is no variable with its value, which every program would carry, read or not: the
// parser, the sources and all.
func Reference() []FieldReference {
	referenceOnce.Do(func() { referenceFields = readReference() })
	return referenceFields
}

var (
	referenceOnce   sync.Once
	referenceFields []FieldReference
)

func readReference() []FieldReference {
	r := &reference{docs: map[string]string{}, seen: map[reflect.Type]bool{}}
	files, err := sources.ReadDir(".")
	if err != nil {
		panic("recipe: " + err.Error())
	}
	for _, f := range files {
		text, err := sources.ReadFile(f.Name())
		if err != nil {
			panic("recipe: " + err.Error())
		}
		r.read(string(text))
	}
	r.read(engine.NumericsSource())
	r.read(model.ConfigSource())
	r.read(schedule.CostsSource())
	r.read(schedule.ReplaySource())
	r.list("", reflect.ValueOf(Default()))
	return r.fields
}

// reference collects the fields.
type reference struct {
	docs   map[string]string // by type and Go field
	seen   map[reflect.Type]bool
	fields []FieldReference
}

// read takes the comments of all struct fields of a file.
func (r *reference) read(text string) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments)
	if err != nil {
		panic("recipe: " + err.Error())
	}
	for _, d := range file.Decls {
		declaration, ok := d.(*ast.GenDecl)
		if !ok || declaration.Tok != token.TYPE {
			continue
		}
		for _, s := range declaration.Specs {
			spec := s.(*ast.TypeSpec)
			fields, ok := spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			r.docs[spec.Name.Name] = strings.TrimSpace(declaration.Doc.Text())
			for _, f := range fields.Fields.List {
				for _, name := range f.Names {
					r.docs[spec.Name.Name+"."+name.Name] = strings.TrimSpace(f.Doc.Text())
				}
			}
		}
	}
}

func (r *reference) list(path string, v reflect.Value) {
	t := v.Type()
	r.seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		at, value := join(path, name), v.Field(i)
		doc := r.docs[t.Name()+"."+f.Name]
		if rest, ok := strings.CutPrefix(doc, f.Name+" "); ok {
			doc = name + " " + rest
		}
		section := value
		if value.Kind() == reflect.Pointer {
			section = newSection(value.Type().Elem()).Elem()
		}
		if value.Type() == reflect.TypeFor[[]FleetMember]() {
			section, at = newSection(value.Type().Elem()).Elem(), at+"[0]"
		}
		if _, ok := section.Interface().(writer); ok || section.Kind() != reflect.Struct || isText(section) {
			r.fields = append(r.fields, FieldReference{at, defaultText(value), doc})
			continue
		}
		shown := ""
		if n, ok := section.Interface().(engine.Numerics); ok {
			shown = n.Name
		}
		if more := r.docs[section.Type().Name()]; !r.seen[section.Type()] {
			if rest, ok := strings.CutPrefix(more, section.Type().Name()+" "); ok {
				more = name + " " + rest
			}
			doc = strings.TrimSpace(doc + "\n" + more)
		}
		r.fields = append(r.fields, FieldReference{at, shown, doc})
		if !r.seen[section.Type()] {
			r.list(at, section)
		}
	}
}

func isText(v reflect.Value) bool {
	_, ok := v.Interface().(interface{ MarshalText() ([]byte, error) })
	return ok
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
			return "none"
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

// String is the field with its default and what it is, over several lines.
func (f FieldReference) String() string {
	head := f.Path
	if f.Default != "" {
		head += ": " + f.Default
	}
	return fmt.Sprintf("%s\n    %s", head, strings.ReplaceAll(f.Doc, "\n", "\n    "))
}
