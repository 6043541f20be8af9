package diagnose

import (
	"slices"
	"strings"
)

// observation is what was measured of a dump whose cause is known.
type observation struct {
	From, Case, Task, Replay string
	Seed                     uint64
	Tokens                   int
	Shares                   map[string]float64
	Features                 *Features
	// Checks are the values of those that have something to say of it.
	Checks map[string]float64
}

// most is the share of Σk3 from which a cause is the one of a dump.
const most = 0.7

// cause is that which has most of the gap, empty if none has. A number format most of whose gap is in
// the routes that it changes is of two.
func (o *observation) cause() string {
	if o.From == "driftlab" && o.Shares[Routing] >= most && !strings.Contains(o.Case, "router") {
		return ""
	}
	for _, name := range []string{Precision, Routing, Staleness} {
		if o.Shares[name] >= most {
			return name
		}
	}
	return ""
}

// single reports whether it is of one cause by its making, as it turned out, and can be measured.
func (o *observation) single() bool {
	return o.cause() != "" && o.Features != nil && o.Features.T90 != nil && !strings.ContainsAny(o.Case, "+;")
}

// class is the kind of gap that it stands for.
func (o *observation) class() class {
	kind, routed := o.cause(), false
	switch {
	case o.From == "planted":
		kind = o.Case
	case kind == Precision && strings.Contains(o.Case, "router") && o.Replay == "r3":
		kind, routed = "router, replayed", true
	case kind == Precision && strings.Contains(o.Case, "router"):
		kind = "router"
	case kind == Precision && strings.Contains(o.Case, "16"):
		kind = "sixteen bits"
	case kind == Precision:
		kind = "eight bits and fewer"
	}
	return class{Name: o.From + ": " + kind, Cause: o.cause(), Routed: routed}
}

// fitObservations fits the classes of those of a single cause.
func fitObservations(list []observation) (classes, error) {
	var points [][]float64
	var labels []string
	classes := map[string]class{}
	for _, o := range list {
		if !o.single() {
			continue
		}
		c := o.class()
		classes[c.Name] = c
		points, labels = append(points, point(o.Features)), append(labels, c.Name)
	}
	return fitted(points, labels, classes)
}

// referenceOf fits everything to observations.
func referenceOf(list []observation) (r reference, err error) {
	if r.Classes, err = fitObservations(list); err != nil {
		return r, err
	}
	r.Signatures, r.Checks = signaturesOf(list), soundOf(list)
	r.Split, r.Accepted = splittersOf(list), calibrated(list)
	return r, nil
}

// accuracy judges the classes on observations of a single cause.
func (g classes) accuracy(test string, list []observation) Accuracy {
	a := Accuracy{Test: test}
	for _, o := range list {
		if !o.single() {
			continue
		}
		families := g.families(o.Features)
		word, _ := confidence(o.Features, families)
		right := families[0].cause == o.cause()
		a.N++
		a.Right += count1(right)
		a.Unlike += count1(word == Unknown)
		a.Named += count1(word == Confident)
		a.NamedRight += count1(word == Confident && right)
	}
	return a
}

// leftOut are the parts of the reference set that are left out of a fit in turn, to be judged by it.
var leftOut = []struct {
	test string
	out  func(o observation) bool
}{
	{"odd seeds", func(o observation) bool { return o.Seed%2 == 1 }},
	{"the runs of this program", func(o observation) bool { return o.From == "driftlab" }},
	{"the planted worlds", func(o observation) bool { return o.From == "planted" }},
	{"task chain", func(o observation) bool { return o.Task == "chain" }},
	{"task addition", func(o observation) bool { return o.Task == "addition" }},
	{"task lookup", func(o observation) bool { return o.Task == "lookup" }},
	{"task search", func(o observation) bool { return o.Task == "search" }},
	{"a dense model", func(o observation) bool { return o.Task == "dense" }},
}

// accuracies leaves out each part in turn.
func accuracies(list []observation) ([]Accuracy, error) {
	var results []Accuracy
	for _, l := range leftOut {
		g, err := fitObservations(slices.DeleteFunc(slices.Clone(list), l.out))
		if err != nil {
			return nil, err
		}
		results = append(results, g.accuracy(l.test, slices.DeleteFunc(slices.Clone(list), func(o observation) bool { return !l.out(o) })))
	}
	return results, nil
}
