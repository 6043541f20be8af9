package claim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"driftlab/results/record"
	"driftlab/results/stats"
)

// Observation is what one seed of a claim measured: named lists of numbers, in
// the order they were set. It is all that is kept of a seed; verdict, table and
// picture are computed from it.
type Observation struct {
	figures []namedValues
}

// namedValues are one figure of an observation.
type namedValues struct {
	Name   string        `json:"name"`
	Values record.Floats `json:"values"`
}

// Set records a figure. Setting a name twice is a programmer's fault.
func (o *Observation) Set(name string, values ...float64) {
	if o.Has(name) {
		panic("claim: observation " + name + " is set twice")
	}
	o.Append(name, values...)
}

// Append adds values to a figure, which keeps the place of its first values. Nine digits of each count: they tell any two float32 apart,
// and more would say how a sum was rounded.
func (o *Observation) Append(name string, values ...float64) {
	f := o.find(name)
	if f == nil {
		o.figures = append(o.figures, namedValues{name, record.Floats{}})
		f = &o.figures[len(o.figures)-1]
	}
	for _, v := range values {
		nine, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64) // of what was just written
		f.Values = append(f.Values, nine)
	}
}

// Has reports whether a figure was set.
func (o *Observation) Has(name string) bool { return o.find(name) != nil }

// Names are the names of the figures, in the order they were set.
func (o *Observation) Names() []string {
	return stats.Map(o.figures, func(f namedValues) string { return f.Name })
}

// Empty reports that no figure was set.
func (o *Observation) Empty() bool { return len(o.figures) == 0 }

// FigureError says what a claim's Judge misses in an observation. List panics with
// it: a measurement that does not set what is judged is a programmer's fault, a file that lost
// it is not.
type FigureError struct{ Figure, Problem string }

// Error is one line.
func (e *FigureError) Error() string { return fmt.Sprintf("figure %q %s", e.Figure, e.Problem) }

// List returns a figure's values.
func (o *Observation) List(name string) []float64 {
	f := o.find(name)
	if f == nil {
		panic(&FigureError{name, "is missing"})
	}
	return f.Values
}

// matching is a figure's values, or those of all figures whose names fit one with stars.
func (o *Observation) matching(name string) []float64 {
	if !strings.Contains(name, "*") || o.Has(name) {
		return o.List(name)
	}
	var all []float64
	for _, f := range o.figures {
		if fits(name, f.Name) {
			all = append(all, f.Values...)
		}
	}
	if all == nil {
		panic(&FigureError{name, "is missing"})
	}
	return all
}

// fits reports whether a name is a pattern, whose stars stand for any text.
func fits(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return name == pattern
	}
	name, begins := strings.CutPrefix(name, parts[0])
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, rest, found := strings.Cut(name, part)
		name, begins = rest, begins && found
	}
	return begins && strings.HasSuffix(name, parts[last])
}

func (o *Observation) find(name string) *namedValues {
	if i := slices.IndexFunc(o.figures, func(f namedValues) bool { return f.Name == name }); i >= 0 {
		return &o.figures[i]
	}
	return nil
}

// MarshalJSON writes the figures in order; a number is read back as it was kept.
func (o *Observation) MarshalJSON() ([]byte, error) { return json.Marshal(o.figures) }

// UnmarshalJSON reads what MarshalJSON writes.
func (o *Observation) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &o.figures) }
