package recipe

import (
	"bytes"
	"encoding/json"
	"reflect"

	"driftlab/trainer/method"
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/reward"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/task"

	"go.yaml.in/yaml/v4"
)

// Method is a registry entry as recipes see it.
type Method struct {
	method.Spec
	// Field is where recipes name it, such as correction.weights.
	Field string `json:"field"`
	// Defaults are the parameters with the values they have when not given.
	Defaults Defaults `json:"defaults"`
	// Params point to the same in their struct, whose tags say what they may be.
	Params any `json:"-"`
	// Bound is, of a system, the greatest lag of a trained sample that it promises with
	// its defaults, in versions, -1 for none; nil for other methods.
	Bound *int `json:"bound,omitempty"`
}

// Defaults are the parameters of a method, by the names recipes use.
type Defaults struct{ node *yaml.Node }

// YAML is the parameters as a recipe would give them, one per line; empty for
// a method without any.
func (d Defaults) YAML() string {
	if len(d.node.Content) == 0 {
		return ""
	}
	text, err := yaml.Dump(d.node, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		panic("recipe: " + err.Error())
	}
	return string(text)
}

// MarshalJSON is the parameters as one object, in their order. Infinity is the
// text ".inf", as in YAML.
func (d Defaults) MarshalJSON() ([]byte, error) { return appendNode(nil, d.node), nil }

func appendNode(b []byte, n *yaml.Node) []byte {
	text := func(s string) []byte {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		if err := e.Encode(s); err != nil {
			panic("recipe: " + err.Error())
		}
		return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	}
	switch n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, text(n.Content[i].Value)...), ':')
			b = appendNode(b, n.Content[i+1])
		}
		return append(b, '}')
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, item := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendNode(b, item)
		}
		return append(b, ']')
	}
	if n.Tag != "!!str" && json.Valid([]byte(n.Value)) {
		return append(b, n.Value...)
	}
	return append(b, text(n.Value)...)
}

// JSON is the recipe as one JSON object with the fields of its YAML, in order.
func (r Recipe) JSON() []byte { return appendNode(nil, nodeOf(reflect.ValueOf(r), false)) }

// Methods lists every method a recipe can name, group by group in the order a
// training step meets them.
func Methods() []Method {
	var all []Method
	all = appendMethods[task.Task](all, "task")
	all = appendMethods[schedule.Policy](all, "schedule")
	all = appendRoutings(all)
	all = appendMethods[reward.Shaper](all, "reward")
	all = appendMethods[advantage.Estimator](all, "advantage")
	all = appendMethods[correction.Weighting](all, "correction.weights")
	all = appendMethods[correction.Masking](all, "correction.masks")
	all = appendMethods[loss.Loss](all, "loss")
	all = appendMethods[loss.Term](all, "terms")
	all = appendMethods[loss.KL](all, "kl")
	return appendMethods[Guard](all, "guards")
}

func appendMethods[T any](all []Method, field string) []Method {
	for _, e := range table[T]() {
		c := mustChoose[T](e.Name)
		spec := e.Spec
		if spec.Aliases == nil {
			spec.Aliases = []string{}
		}
		m := Method{Spec: spec, Field: field, Defaults: Defaults{mappingOf(reflect.ValueOf(c.Params).Elem(), false)}, Params: c.Params}
		if p, ok := any(c.Params).(schedule.Policy); ok {
			bound := p.Traits().Bound
			m.Bound = &bound
		}
		all = append(all, m)
	}
	return all
}
