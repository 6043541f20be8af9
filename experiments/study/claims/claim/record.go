package claim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"driftlab/model"
	"driftlab/results/record"
	"driftlab/results/stats"

	"go.yaml.in/yaml/v4"
)

// recorded is a figure of every arm, with $arm and $rate in its name for those of a run. Runs that give a figure one name add
// their values to its list, which comes after the figures of single runs.
type recorded struct {
	Figure string
	// Of is a quantity and what has it: "mean of COLUMN", or "ANSWER of QUESTION".
	Of string
	// Only and Not name arms, with stars for any text.
	Only, Not string
	// Blocks, by size, is the number of values in a row whose means are recorded.
	Blocks []int
	// Times is a factor; 0 is 1.
	Times float64
	// Length, by size, is that to which zeros fill up the values of a run that ended early.
	Length []int
}

// asked is a question of the library about trained weights, with a name for its answers.
type asked struct {
	Name, Question string
	Params         yaml.Node
	question       Question
}

// Question is asked of trained weights; its answers have names. Its fields are its parameters.
type Question interface {
	Ask(e *Env, p *model.Params) map[string]float64
}

// columnQuantities are what can be recorded of a column; early are its first ten values, late is its last three.
var columnQuantities = map[string]func(x []float64) []float64{
	"values":            func(x []float64) []float64 { return x },
	"mean":              func(x []float64) []float64 { return []float64{stats.Average(x)} },
	"early mean":        func(x []float64) []float64 { return []float64{stats.Average(x[:min(10, len(x))])} },
	"late mean":         func(x []float64) []float64 { return []float64{stats.Average(x[len(x)-3:])} },
	"largest":           func(x []float64) []float64 { return []float64{stats.Max(x)} },
	"final":             func(x []float64) []float64 { _, end, _ := record.PeakAndEnd(x); return []float64{end} },
	"number":            func(x []float64) []float64 { return []float64{float64(len(x))} },
	"mean times number": func(x []float64) []float64 { return []float64{stats.Average(x) * float64(len(x))} },
	"sum":               func(x []float64) []float64 { return []float64{sumOf(x)} },
}

// figure is the name of a figure in a run of an arm; ok is false where it is not recorded.
func (f *recorded) figure(arm *Arm, rate string) (name string, ok bool) {
	return strings.NewReplacer("$arm", arm.Name, "$rate", rate).Replace(f.Figure), (f.Only == "" || fits(f.Only, arm.Name)) && (f.Not == "" || !fits(f.Not, arm.Name))
}

// record makes the runs, asks their weights, and records the figures.
func (t *Training) record(e *Env, o *Observation) {
	var names, shared []string
	lists := map[string][]float64{}
	t.Runs(e, func(r ArmRun) {
		columns, answers := t.outcome(e, r)
		for _, f := range t.Record {
			name, ok := f.figure(r.Arm, r.Rate)
			if !ok {
				continue
			}
			x, err := f.values(e, columns, answers)
			if err != nil {
				StopOn(fmt.Errorf("arm %q: %w", r.Arm.Name, err))
			}
			if at := slices.Index(names, name); at >= 0 {
				names, shared = slices.Delete(names, at, at+1), append(shared, name)
			} else if !slices.Contains(shared, name) {
				names = append(names, name)
			}
			lists[name] = append(lists[name], x...)
		}
	})
	for _, name := range append(names, shared...) {
		o.Set(name, lists[name]...)
	}
}

// outcome makes a run: its columns, and the answers of its weights by question. An untrained arm has no columns.
func (t *Training) outcome(e *Env, r ArmRun) (columns map[string][]float64, answers map[string]map[string]float64) {
	var lists [][]float64
	var weights *model.Params
	switch {
	case r.Arm.Untrained:
		for _, change := range r.Set { // the last one counts
			if dir, ok := strings.CutPrefix(change, "checkpoint="); ok {
				weights = Loaded(dir, 0)
			}
		}
	case len(t.Ask) > 0:
		lists, weights = e.Trained(r.Columns, r.Steps, r.Set...)
	default:
		lists = e.Train(r.Columns, r.Steps, r.Set...)
	}
	columns, answers = map[string][]float64{}, map[string]map[string]float64{}
	for i, x := range lists {
		columns[r.Columns[i]] = x
	}
	for _, a := range t.Ask {
		answers[a.Name] = a.question.Ask(e, weights)
	}
	return columns, answers
}

// values are the values of a figure in one run. A column that a run does not keep counts nothing.
func (f *recorded) values(e *Env, columns map[string][]float64, answers map[string]map[string]float64) ([]float64, error) {
	quantity, of := f.Of, ""
	if at := strings.LastIndex(f.Of, " of "); at >= 0 {
		quantity, of = f.Of[:at], f.Of[at+len(" of "):]
	}
	var x []float64
	if known, ok := answers[of]; ok {
		v, ok := known[quantity]
		if !ok {
			return nil, fmt.Errorf("%q has no answer %q: there are %s", of, quantity, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		x = []float64{v}
	} else if take := columnQuantities[quantity]; take == nil {
		return nil, fmt.Errorf("no quantity %q of a column: there are %s", quantity, strings.Join(slices.Sorted(maps.Keys(columnQuantities)), ", "))
	} else if column := columns[of]; len(column) > 0 || quantity == "values" {
		x = slices.Clone(take(column))
	} else {
		x = []float64{0}
	}
	if f.Times != 0 {
		for i := range x {
			x[i] *= f.Times
		}
	}
	if f.Blocks != nil {
		x = Blocks(x, f.Blocks[e.Size])
	}
	if f.Length != nil {
		for len(x) < f.Length[e.Size] {
			x = append(x, 0)
		}
	}
	return x, nil
}
