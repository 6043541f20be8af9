package recipe

import (
	"reflect"

	"driftlab/engine"
	"driftlab/trainer/method"

	"go.yaml.in/yaml/v4"
)

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
	ignore := func(*yaml.Node, string) {}
	d.structure(n, path, reflect.ValueOf(num).Elem(), extra{"base", ignore}, extra{"name", ignore})
}

// preset reads the name of a preset.
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
