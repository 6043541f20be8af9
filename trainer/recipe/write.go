package recipe

import (
	"encoding"
	"math"
	"reflect"
	"strconv"

	"driftlab/model"

	"go.yaml.in/yaml/v4"
)

// writer is implemented by types of this package that write themselves.
type writer interface {
	node() *yaml.Node
}

// YAML is the recipe's canonical text: every field, in the order of the
// documentation, one per line. Parse reads it back to an equal recipe, and
// equal recipes have equal bytes.
func (r Recipe) YAML() []byte {
	text, err := yaml.Dump(nodeOf(reflect.ValueOf(r)), yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		panic("recipe: its own tree does not print: " + err.Error())
	}
	return text
}

// nodeOf turns a value into a tree.
func nodeOf(v reflect.Value) *yaml.Node {
	switch x := v.Interface().(type) {
	case writer:
		return x.node()
	case model.Config:
		if x == (model.Config{}) {
			return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		}
	case encoding.TextMarshaler:
		text, err := x.MarshalText()
		if err != nil {
			panic("recipe: " + err.Error())
		}
		return scalar("!!str", string(text))
	}
	switch v.Kind() {
	case reflect.Pointer:
		return nodeOf(v.Elem())
	case reflect.Struct:
		return mappingOf(v)
	case reflect.Slice, reflect.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			n.Content = append(n.Content, nodeOf(v.Index(i)))
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

// mappingOf writes the fields of a struct; a nil section is left out.
func mappingOf(v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fieldsOf(v) {
		if f.value.Kind() == reflect.Pointer && f.value.IsNil() {
			continue
		}
		n.Content = append(n.Content, scalar("!!str", f.name), nodeOf(f.value))
	}
	return n
}

// node implements writer: the name, then the parameters.
func (c Choice[T]) node() *yaml.Node {
	n := mappingOf(reflect.ValueOf(c.Params).Elem())
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
