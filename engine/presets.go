package engine

import (
	_ "embed"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"driftlab/engine/kernel"
	"driftlab/precision"
)

// presetsText has a line for each preset, and comments.
//
//go:embed presets.txt
var presetsText string

// uniform is numerics with one format everywhere and fp32 accumulation, the
// way hardware multiplies matrices of that format.
func uniform(name string, f precision.Format) Numerics {
	plain := precision.Quantizer{Format: f}
	return Numerics{
		Name: name, Weights: plain, Inputs: plain, Activations: f,
		Accumulator: precision.FP32, Scores: precision.FP32, Probabilities: f,
		KVCache: plain, Router: f, Head: f, Gradients: f,
		Attention: kernel.TwoPass,
	}
}

// Presets returns the named numerics in the order they are listed: from the
// finest to the coarsest. presets.txt says what the names mean.
func Presets() []Numerics { return slices.Clone(presets()) }

// presets makes them once: recipes ask for one by one.
var presets = sync.OnceValue(func() (list []Numerics) {
	for line := range strings.Lines(presetsText) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		format, err := precision.ParseFormat(words[0])
		n := uniform("", format)
		if at := slices.IndexFunc(list, func(n Numerics) bool { return n.Name == words[1] }); at >= 0 {
			n, err = list[at], nil
		}
		n.Name = words[0]
		for _, word := range words[2:] {
			if field, text, _ := strings.Cut(word, "="); err == nil {
				err = n.set(field, text)
			}
		}
		if err != nil {
			panic(fmt.Sprintf("engine: preset %s: %v", words[0], err))
		}
		list = append(list, n)
	}
	return list
})

// set reads the text of a field, by the name that recipes have for it.
func (n *Numerics) set(field, text string) error {
	v := reflect.ValueOf(n).Elem()
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); name != field {
			continue
		}
		if x, ok := v.Field(i).Addr().Interface().(encoding.TextUnmarshaler); ok {
			return x.UnmarshalText([]byte(text))
		}
		_, err := fmt.Sscan(text, v.Field(i).Addr().Interface())
		return err
	}
	return fmt.Errorf("no field %s", field)
}

// Preset returns the numerics of that name.
func Preset(name string) (Numerics, bool) {
	if i := slices.IndexFunc(presets(), func(n Numerics) bool { return n.Name == name }); i >= 0 {
		return presets()[i], true
	}
	return Numerics{}, false
}

// PresetNames lists the names Preset knows.
func PresetNames() []string {
	var names []string
	for _, n := range presets() {
		names = append(names, n.Name)
	}
	return names
}
