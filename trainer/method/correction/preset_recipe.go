package correction

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"driftlab/trainer/method"
)

// Recipe writes the pipeline as the correction section of a recipe, in one line
// of YAML: every field and every parameter, so that it does not depend on
// defaults.
//
//	correction: {mode: decoupled, weights: {name: token_tis, cap: 2, floor: 0, from_turn: 0}, ...}
func (p *Pipeline) Recipe() string {
	fields := []string{"mode: " + string(orDefault(p.Mode, Decoupled))}
	if p.Weights != nil {
		fields = append(fields, "weights: "+flow(weightingName(p.Weights), p.Weights), fmt.Sprintf("batch_normalize: %v", p.BatchNormalize))
	}
	if len(p.Masks) > 0 {
		masks := make([]string, len(p.Masks))
		for i, m := range p.Masks {
			masks[i] = flow(maskName(m), m)
		}
		fields = append(fields, "masks: ["+strings.Join(masks, ", ")+"]")
	}
	if p.Clamp != 0 {
		fields = append(fields, "clamp: "+scalar(p.Clamp))
	}
	fields = append(fields, "order: "+string(orDefault(p.Order, Independent)), fmt.Sprintf("weights_after: %d", p.WeightsAfter),
		"denominator: "+string(orDefault(p.Denominator, Post)), "names: "+orDefault(p.Names, "verl"))
	return "correction: {" + strings.Join(fields, ", ") + "}"
}

// orDefault is the value, or the default where it is empty.
func orDefault[T ~string](value, def T) T {
	if value == "" {
		return def
	}
	return value
}

// flow writes a method with its parameters as a YAML flow mapping.
func flow(name string, m any) string {
	text := "{name: " + name
	for _, p := range parametersOf(m) {
		text += ", " + p.Name + ": " + p.Value
	}
	return text + "}"
}

// Parameter is one of a method, as YAML writes it.
type Parameter struct{ Name, Value string }

func parametersOf(m any) (list []Parameter) {
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		if tag := v.Type().Field(i).Tag.Get("yaml"); tag != "" {
			list = append(list, Parameter{tag, scalar(v.Field(i).Interface())})
		}
	}
	return list
}

// Rule is a method of a pipeline under its registered name.
type Rule struct {
	Name       string
	Unit       method.Unit
	Parameters []Parameter
}

// Rules are the weighting of the pipeline, nil without one, and its masks.
func (p *Pipeline) Rules() (weights *Rule, masks []Rule) {
	for _, e := range Weightings {
		if p.Weights != nil && reflect.TypeOf(e.New()) == reflect.TypeOf(p.Weights) && e.Name != "none" {
			weights = &Rule{e.Name, e.Unit, parametersOf(p.Weights)}
		}
	}
	for _, m := range p.Masks {
		name := maskName(m)
		for _, e := range Masks {
			if e.Name == name {
				masks = append(masks, Rule{name, e.Unit, parametersOf(m)})
			}
		}
	}
	return weights, masks
}

// scalar writes a value as YAML does.
func scalar(x any) string {
	switch f, _ := x.(float64); {
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	return fmt.Sprint(x)
}

// weightingName is the registered name of a weighting.
func weightingName(w Weighting) string {
	for _, e := range Weightings {
		if reflect.TypeOf(e.New()) == reflect.TypeOf(w) {
			return e.Name
		}
	}
	return "none"
}

// maskName is the registered name of a rule; the eleven modes share two types.
func maskName(m Masking) string {
	if d, ok := m.(measured); ok {
		return d.modeName()
	}
	for _, e := range Masks {
		if reflect.TypeOf(e.New()) == reflect.TypeOf(m) {
			return e.Name
		}
	}
	return "mask"
}

// weightName is the weighting's in the registry.
func weightName(w Weighting) string {
	for _, e := range Weightings {
		if reflect.TypeOf(e.New()) == reflect.TypeOf(w) {
			return e.Name
		}
	}
	return "weight"
}
