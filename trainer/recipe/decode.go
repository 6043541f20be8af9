package recipe

import (
	"encoding"
	"fmt"
	"math"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"driftlab/engine"
	"driftlab/model"
	"driftlab/trainer/method"

	"go.yaml.in/yaml/v4"
)

// decoder fills Go values from a tree, strictly, and collects every fault.
type decoder struct {
	doc       *document
	faults    Faults
	published *yaml.Node // the name of the published correction, if the recipe gives one
	other     bool       // the text is not a recipe, and its fields are others
}

// reader is implemented by types of this package that read themselves.
type reader interface {
	read(d *decoder, n *yaml.Node, path string)
}

// starter is implemented by sections with starting values that tags cannot say.
type starter interface{ start() }

// newSection returns a pointer to a value of the type as it stands before anything
// is read into it: the defaults of its tags.
func newSection(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	method.SetDefaults(p.Interface())
	if s, ok := p.Interface().(starter); ok {
		s.start()
	}
	return p
}

func (d *decoder) fault(n *yaml.Node, path, format string, args ...any) {
	source, line := d.doc.origin(n)
	d.faults = append(d.faults, Fault{source, line, path, fmt.Sprintf(format, args...)})
}

func (d *decoder) expected(n *yaml.Node, path, want string) {
	d.fault(n, path, "expected %s, got %s", want, describe(n))
}

// describe says what a node is, in a person's words.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return n.Value
	case "!!bool":
		return "the truth value " + n.Value
	}
	return fmt.Sprintf("the text %q", n.Value)
}

func (d *decoder) value(n *yaml.Node, path string, v reflect.Value) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.fault(n, path, "anchors and aliases are not used in recipes: write the value out")
		return
	case n.Style&yaml.TaggedStyle != 0:
		d.fault(n, path, "type tags such as %s are not used in recipes: remove it", n.Tag)
		return
	}
	switch x := v.Addr().Interface().(type) {
	case reader:
		x.read(d, n, path)
	case nodeReader:
		x.ReadNode(Node{d, n, path})
	case *engine.Numerics:
		d.numerics(n, path, x)
	case *model.Config:
		d.modelConfig(n, path, x)
	case *model.LayerTypes:
		var list []string
		if n.Kind == yaml.ScalarNode { // one type for all layers
			n = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}, Line: n.Line}
		}
		d.list(n, path, reflect.ValueOf(&list).Elem())
		*x = model.NewLayerTypes(list...)
	case encoding.TextUnmarshaler:
		d.text(n, path, x)
	default:
		d.byKind(n, path, v)
	}
}

// text hands a scalar to a type that reads text.
func (d *decoder) text(n *yaml.Node, path string, u encoding.TextUnmarshaler) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		d.expected(n, path, "text")
		return
	}
	if err := u.UnmarshalText([]byte(n.Value)); err != nil {
		d.fault(n, path, "%s", withoutPackage(err, reflect.TypeOf(u)))
	}
}

// withoutPackage drops the "package: " that an error of the type's package may begin with.
func withoutPackage(err error, t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.TrimPrefix(err.Error(), path.Base(t.PkgPath())+": ")
}

// list fills a slice, or an array of exactly its length.
func (d *decoder) list(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.expected(n, path, "a list")
		return
	}
	if v.Kind() == reflect.Array && len(n.Content) != v.Len() {
		d.fault(n, path, "expected %d entries, got %d", v.Len(), len(n.Content))
		return
	}
	if v.Kind() == reflect.Slice {
		v.SetZero()
		if len(n.Content) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
		}
	}
	for i, item := range n.Content {
		v.Index(i).Set(newSection(v.Type().Elem()).Elem())
		d.value(item, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
	}
}

// byKind fills a number, a truth value or a text, or hands on what is made of several.
func (d *decoder) byKind(n *yaml.Node, path string, v reflect.Value) {
	tag := ""
	if n.Kind == yaml.ScalarNode {
		tag = n.ShortTag()
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, path, v)
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(newSection(v.Type().Elem()))
		}
		d.value(n, path, v.Elem())
	case reflect.Slice, reflect.Array:
		d.list(n, path, v)
	case reflect.Bool:
		if tag != "!!bool" || n.Value != "true" && n.Value != "false" {
			d.expected(n, path, "true or false")
			return
		}
		v.SetBool(n.Value == "true")
	case reflect.Int, reflect.Int32, reflect.Int64:
		x, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		if tag != "!!int" || err != nil {
			d.expected(n, path, "a whole number")
			return
		}
		v.SetInt(x)
	case reflect.Uint, reflect.Uint8, reflect.Uint32, reflect.Uint64:
		x, err := strconv.ParseUint(n.Value, 10, v.Type().Bits())
		if tag != "!!int" || err != nil {
			d.expected(n, path, fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64)>>(64-v.Type().Bits())))
			return
		}
		v.SetUint(x)
	case reflect.Float32, reflect.Float64:
		x, err := parseFloat(n.Value, v.Type().Bits())
		if tag != "!!int" && tag != "!!float" || err != nil || math.IsNaN(x) {
			d.expected(n, path, "a number")
			return
		}
		v.SetFloat(x)
	case reflect.String:
		if tag != "!!str" {
			want := "text"
			if tag != "" && n.Value != "" {
				want = fmt.Sprintf("text (in quotes: %q)", n.Value)
			}
			d.expected(n, path, want)
			return
		}
		v.SetString(n.Value)
	default:
		panic("recipe: no reader for " + v.Type().String() + " at " + path)
	}
}

// parseFloat reads a decimal number or YAML's spelling of infinity.
func parseFloat(s string, bits int) (float64, error) {
	switch s {
	case ".inf", "+.inf":
		return math.Inf(1), nil
	case "-.inf":
		return math.Inf(-1), nil
	}
	if strings.ContainsAny(s, "xX_") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, bits)
}

// structure fills a struct from a mapping. The caller has read the fields of the names done already.
func (d *decoder) structure(n *yaml.Node, path string, v reflect.Value, done ...string) {
	if n.Kind != yaml.MappingNode {
		d.expected(n, path, "a mapping")
		return
	}
	fields := fieldsOf(v)
	known := slices.Clone(done)
	for _, f := range fields {
		known = append(known, f.name)
	}
	for key, v := range d.entries(n, path) {
		at := slices.Index(known, key.Value)
		if at < 0 {
			d.fault(key, v.path, "unknown field; %s", d.suggestion(path, key.Value, known))
		} else if at >= len(done) {
			d.value(v.n, v.path, fields[at-len(done)].value)
		}
	}
}

// suggestion names the nearest known field of a section, the place of a field that lives
// elsewhere in the same part of the recipe, or all that there are.
func (d *decoder) suggestion(section, name string, known []string) string {
	if near := method.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	shortest := ""
	for _, p := range allPaths() {
		part, _, _ := strings.Cut(section, ".")
		if !d.other && (section == "" || strings.HasPrefix(p, part+".")) && p[strings.LastIndexByte(p, '.')+1:] == name && (shortest == "" || strings.Count(p, ".") < strings.Count(shortest, ".")) {
			shortest = p
		}
	}
	if shortest != "" {
		return fmt.Sprintf("did you mean %s?", shortest)
	}
	if len(known) == 0 {
		return "there are none here"
	}
	return "the fields here are " + strings.Join(known, ", ")
}

// field is one field of a struct as recipes name it.
type field struct {
	name  string
	value reflect.Value
	omit  bool // from canonical text while it is zero, which has no text or came later
}

// layouts are the fields of structs that recipes name, by type, read from their tags once.
var layouts sync.Map

type layout struct {
	name  string
	index []int
	omit  bool
}

// fieldsOf lists the fields of a struct that recipes name, in order; those of
// inlined structs stand in their place.
func fieldsOf(v reflect.Value) []field {
	known, ok := layouts.Load(v.Type())
	if !ok {
		var all []layout
		for _, f := range reflect.VisibleFields(v.Type()) {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name != "" && name != "-" {
				all = append(all, layout{name, f.Index, strings.Contains(f.Tag.Get("json"), ",omitzero")})
			}
		}
		known, _ = layouts.LoadOrStore(v.Type(), all)
	}
	fields := make([]field, len(known.([]layout)))
	for i, l := range known.([]layout) {
		fields[i] = field{l.name, v.FieldByIndex(l.index), l.omit}
	}
	return fields
}

// numerics reads a preset's name, or a mapping that says what differs from a
// preset: the one under base, or under name as canonical text has it, or fp32.
func (d *decoder) numerics(n *yaml.Node, path string, num *engine.Numerics) {
	if n.Kind != yaml.MappingNode {
		d.preset(n, path, num)
		return
	}
	*num, _ = engine.Preset("fp32")
	num.Name = ""
	// The start comes first wherever it stands: the other fields change it.
	base, name := find(n, "base"), find(n, "name")
	switch {
	case base != nil && name != nil:
		d.fault(name, join(path, "name"), "base says the same: give one of the two")
	case base != nil:
		d.preset(base, join(path, "base"), num)
	case name != nil && (name.Value != "" || name.ShortTag() != "!!str"):
		d.preset(name, join(path, "name"), num)
	}
	d.structure(n, path, reflect.ValueOf(num).Elem(), "base", "name")
}

func (d *decoder) preset(n *yaml.Node, path string, num *engine.Numerics) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		d.expected(n, path, "a preset's name, such as bf16, or a mapping")
		return
	}
	p, ok := engine.Preset(n.Value)
	if !ok {
		d.fault(n, path, "%v", method.UnknownName(n.Value, engine.PresetNames()))
		return
	}
	*num = p
}
