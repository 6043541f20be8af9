package claim

import (
	"encoding/json"
	"fmt"

	"driftlab/results/record"
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
	o.figures = append(o.figures, namedValues{name, append(record.Floats{}, values...)})
}

// Has reports whether a figure was set.
func (o *Observation) Has(name string) bool { return o.find(name) != nil }

// Empty reports that no figure was set.
func (o *Observation) Empty() bool { return len(o.figures) == 0 }

// FigureError says what a claim's Judge misses in an observation. List and Number panic with
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

// Number returns a figure of one value.
func (o *Observation) Number(name string) float64 {
	v := o.List(name)
	if len(v) != 1 {
		panic(&FigureError{name, fmt.Sprintf("has %d values, not one", len(v))})
	}
	return v[0]
}

func (o *Observation) find(name string) *namedValues {
	for i := range o.figures {
		if o.figures[i].Name == name {
			return &o.figures[i]
		}
	}
	return nil
}

// MarshalJSON writes the figures in order; a number is read back bit for bit.
func (o *Observation) MarshalJSON() ([]byte, error) { return json.Marshal(o.figures) }

// UnmarshalJSON reads what MarshalJSON writes.
func (o *Observation) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &o.figures) }
