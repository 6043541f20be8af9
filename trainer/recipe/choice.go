package recipe

import (
	"encoding"
	"fmt"
	"reflect"

	"driftlab/trainer/method"
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/guard"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/reward"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/task"

	"go.yaml.in/yaml/v4"
)

// Choice is a method chosen from a registry, with its parameters. In YAML it
// is {name: ppo_clip, eps_low: 0.2}; parameters that are not given take the
// method's defaults, and the name alone is short for all of them. Parameters alone
// belong to the method that the recipe has by default, if it takes them.
type Choice[T any] struct {
	// Name is the registry's own name for the method, never an alias.
	Name string
	// Params is the method with its parameters, as the recipe has them. It is
	// part of a value that may be copied: run what New returns, not this.
	Params T
}

// Choose returns the method of that name or alias with its default parameters.
func Choose[T any](name string) (Choice[T], error) {
	e, err := table[T]().Lookup(name)
	if err != nil {
		return Choice[T]{}, err
	}
	m := e.New()
	canonical(reflect.ValueOf(m).Elem())
	return Choice[T]{e.Name, m}, nil
}

// UnmarshalText implements encoding.TextUnmarshaler, for the tag of a default: the
// method of that name.
func (c *Choice[T]) UnmarshalText(name []byte) (err error) {
	*c, err = Choose[T](string(name))
	return err
}

// canonical gives parameters with several spellings of one value, such as the
// empty aggregation, the one that their text reads back to, so that equal
// recipes compare equal.
func canonical(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for _, f := range fieldsOf(v) {
		marshaler, ok := f.value.Interface().(encoding.TextMarshaler)
		if !ok {
			canonical(f.value)
			continue
		}
		text, err := marshaler.MarshalText()
		if err == nil {
			err = f.value.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text)
		}
		if err != nil {
			panic(fmt.Sprintf("recipe: the default of %s does not read back: %v", f.name, err))
		}
	}
}

func mustChoose[T any](name string) Choice[T] {
	c, err := Choose[T](name)
	if err != nil {
		panic(err)
	}
	return c
}

// New returns a fresh method with the recipe's parameters and no memory of
// earlier use.
func (c Choice[T]) New() T {
	m := c.entry().New()
	from := fieldsOf(reflect.ValueOf(c.Params).Elem())
	for i, f := range fieldsOf(reflect.ValueOf(m).Elem()) {
		f.value.Set(clone(from[i].value))
	}
	return m
}

// Spec describes the method; what an option of it reads counts only where the recipe has the option.
func (c Choice[T]) Spec() method.Spec {
	s := c.entry().Spec
	s.May = s.May.Under(c.Params)
	return s
}

func (c Choice[T]) entry() method.Entry[T] {
	e, err := table[T]().Lookup(c.Name)
	if err != nil {
		panic(fmt.Sprintf("recipe: %s chosen by code: %v", c.Name, err))
	}
	return e
}

// table is the registry of the methods of that kind.
func table[T any]() method.Table[T] {
	for _, t := range []any{task.Table, schedule.Systems, reward.Registry, advantage.Registry, correction.Weightings, correction.Masks,
		loss.Registry, loss.TermRegistry, loss.KLRegistry, guard.Registry} {
		if own, ok := t.(method.Table[T]); ok {
			return own
		}
	}
	panic("recipe: no registry of " + reflect.TypeFor[T]().String())
}

// read implements reader: a name, or a mapping with a name and parameters.
func (c *Choice[T]) read(d *decoder, n *yaml.Node, path string) {
	name, namePath := n, path
	if n.Kind == yaml.MappingNode {
		name, namePath = find(n, "name"), join(path, "name")
	}
	if name == nil && len(n.Content) > 0 && c.Name != "" && hasAll(parametersOf(c.Params), keysOf(n)) {
		name = scalar("!!str", c.Name) // parameters of the default
	}
	if name == nil {
		c.unnamed(d, n, path)
		return
	}
	if name.Kind != yaml.ScalarNode || name.ShortTag() != "!!str" {
		d.expected(name, namePath, "a method's name, or a mapping with one")
		return
	}
	chosen, err := Choose[T](name.Value)
	if err != nil {
		d.fault(name, namePath, "%v", err)
		return
	}
	*c = chosen
	if n.Kind == yaml.MappingNode && !c.elsewhere(d, n, path) {
		d.structure(n, path, reflect.ValueOf(c.Params).Elem(), "name")
	}
}

// clone copies a value with the slices and pointers inside it.
func clone(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(clone(v.Index(i)))
		}
		return c
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		c := reflect.New(v.Type().Elem())
		c.Elem().Set(clone(v.Elem()))
		return c
	}
	return v
}

// Guard is a rule that watches the optimiser and steps in. Values that are not
// finite always stop a run; further guards are named under guards.
type Guard = guard.Guard

// Reward is the parts a reward is the sum of, in order. In YAML it is a list
// of methods; one method alone is short for a list of one.
type Reward []Choice[reward.Shaper]

// New returns a fresh scorer of these parts.
func (r Reward) New() *reward.Scorer {
	parts := make([]reward.Shaper, len(r))
	for i, part := range r {
		parts[i] = part.New()
	}
	return reward.NewScorer(parts...)
}

func (r Reward) path(i int) string { return fmt.Sprintf("reward[%d]", i) }

func (r *Reward) read(d *decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.SequenceNode {
		d.list(n, path, reflect.ValueOf(r).Elem())
		return
	}
	*r = make(Reward, 1)
	(*r)[0].read(d, n, path)
}
