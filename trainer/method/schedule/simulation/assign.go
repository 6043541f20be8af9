package simulation

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"driftlab/trainer/method"
	"driftlab/trainer/method/schedule"
)

// Assign sets a parameter, given as key=value: one of the policy by its name, of the
// cluster as cluster.NAME, of the costs as costs.NAME.
func Assign(policy schedule.Policy, c *Cluster, assignment string) error {
	key, text, ok := strings.Cut(assignment, "=")
	if !ok {
		return fmt.Errorf("%q: give key=value", assignment)
	}
	target, name := any(policy), key
	if rest, ok := strings.CutPrefix(key, "cluster."); ok {
		target, name = c, rest
	} else if rest, ok := strings.CutPrefix(key, "costs."); ok {
		target, name = &c.Costs, rest
	}
	fields := Parameters(target)
	for _, f := range fields {
		if f.Name != name {
			continue
		}
		if err := set(f.value, text); err != nil {
			return fmt.Errorf("%s: %q: %w", key, text, err)
		}
		return nil
	}
	return unknownKey(key, policy, c)
}

// Parameter is one that can be assigned.
type Parameter struct {
	Name  string
	value reflect.Value
}

// String is the parameter as it would be assigned.
func (p Parameter) String() string { return fmt.Sprintf("%s=%v", p.Name, p.value) }

// Parameters are the fields of what a pointer points to, by their names in a recipe.
func Parameters(of any) []Parameter {
	v := reflect.ValueOf(of).Elem()
	var all []Parameter
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("yaml"); name != "" && name != "-" {
			all = append(all, Parameter{name, v.Field(i)})
		}
	}
	return all
}

// set reads a whole number, a truth value or a word.
func set(field reflect.Value, text string) error {
	if field.Kind() == reflect.String {
		field.SetString(text)
		return nil
	}
	if field.Kind() == reflect.Bool {
		yes, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("give true or false")
		}
		field.SetBool(yes)
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("give a whole number")
	}
	field.SetInt(int64(n))
	return nil
}

// unknownKey lists what there is.
func unknownKey(key string, policy schedule.Policy, c *Cluster) error {
	var known []string
	for _, group := range []struct {
		prefix string
		of     any
	}{{"", policy}, {"cluster.", c}, {"costs.", &c.Costs}} {
		for _, p := range Parameters(group.of) {
			known = append(known, group.prefix+p.Name)
		}
	}
	return method.UnknownName(key, known)
}
