package recipe

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"math"
	"reflect"
	"strconv"

	"driftlab/model"

	"go.yaml.in/yaml/v4"
)

// writer is implemented by types of this package that write themselves.
type writer interface {
	node(sparse bool) *yaml.Node
}

// YAML is the recipe's canonical text: every field, in the order of the
// documentation, one per line. Parse reads it back to an equal recipe, and
// equal recipes have equal bytes.
func (r Recipe) YAML() []byte { return r.text(false) }

// Identity names what a resolved recipe computes: a hash of all that it says but its
// name and its fields of zero value. A new field whose zero value is what happened
// before there was one leaves the identities of older recipes as they were, and what
// was kept under them can be found.
func (r Recipe) Identity() string {
	r.Name = ""
	sum := sha256.Sum256(r.text(true))
	return hex.EncodeToString(sum[:8])
}

// text is the recipe in YAML, sparse without its fields of zero value.
func (r Recipe) text(sparse bool) []byte {
	text, err := yaml.Dump(nodeOf(reflect.ValueOf(r), sparse), yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		panic("recipe: its own tree does not print: " + err.Error())
	}
	return text
}

func nodeOf(v reflect.Value, sparse bool) *yaml.Node {
	switch x := v.Interface().(type) {
	case writer:
		return x.node(sparse)
	case model.Config:
		if x == (model.Config{}) {
			return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		}
	case model.LayerTypes:
		return nodeOf(reflect.ValueOf(x.List()), sparse)
	case encoding.TextMarshaler:
		text, err := x.MarshalText()
		if err != nil {
			panic("recipe: " + err.Error())
		}
		return scalar("!!str", string(text))
	}
	switch v.Kind() {
	case reflect.Pointer:
		return nodeOf(v.Elem(), sparse)
	case reflect.Struct:
		return mappingOf(v, sparse)
	case reflect.Slice, reflect.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			n.Content = append(n.Content, nodeOf(v.Index(i), sparse))
		}
		if len(n.Content) == 0 || n.Content[0].Kind == yaml.ScalarNode {
			n.Style = yaml.FlowStyle
		}
		return n
	case reflect.Bool:
		return scalar("!!bool", strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int32, reflect.Int64:
		return scalar("!!int", strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return scalar("!!int", strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		return scalar("!!float", formatFloat(v.Float(), v.Type().Bits()))
	case reflect.String:
		return scalar("!!str", v.String())
	}
	panic("recipe: no writer for " + v.Type().String())
}

// mappingOf writes the fields of a struct; a nil section is left out, and so is a field of
// zero value that is tagged so (texts from before it was there stay as they are), sparse
// every field of zero value and every empty list.
func mappingOf(v reflect.Value, sparse bool) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fieldsOf(v) {
		if f.value.Kind() == reflect.Pointer && f.value.IsNil() {
			continue
		}
		if f.omit && f.value.IsZero() {
			continue
		}
		if sparse && (f.value.IsZero() || f.value.Kind() == reflect.Slice && f.value.Len() == 0) {
			continue
		}
		n.Content = append(n.Content, scalar("!!str", f.name), nodeOf(f.value, sparse))
	}
	return n
}

// node implements writer: the name, then the parameters.
func (c Choice[T]) node(sparse bool) *yaml.Node {
	n := mappingOf(reflect.ValueOf(c.Params).Elem(), sparse)
	n.Content = append([]*yaml.Node{scalar("!!str", "name"), scalar("!!str", c.Name)}, n.Content...)
	return n
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// formatFloat is the shortest text that parses back, in YAML's spelling.
func formatFloat(x float64, bits int) string {
	switch {
	case math.IsInf(x, 1):
		return ".inf"
	case math.IsInf(x, -1):
		return "-.inf"
	}
	return strconv.FormatFloat(x, 'g', -1, bits)
}
