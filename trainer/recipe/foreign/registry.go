package foreign

import (
	_ "embed" // the registries
	"slices"
	"strings"
	"sync"
)

// registryText has a line for every name in a framework's registries; its head says how it is written.
//
//go:embed registry.txt
var registryText string

// Counterpart is a name of a framework and its equivalent here, or why it is left out.
type Counterpart struct {
	// Kind is loss, advantage, kl, aggregation, correction, reward, schedule or metric.
	Kind   string `json:"kind"`
	Theirs string `json:"theirs"`
	// Field is where the name here belongs: a field of a recipe that names a method, aggregation, preset, metric, or
	// field for a field of a recipe itself. Both are empty where it is left out.
	Field string `json:"field,omitempty"`
	Ours  string `json:"ours,omitempty"`
	// Note is what differs or, where it is left out, why.
	Note string `json:"note,omitempty"`
	// Source is a repository with a commit, and a file.
	Source string `json:"source"`
}

// Relation is have, alias of or left out because.
func (c Counterpart) Relation() string {
	plain := strings.NewReplacer("-", "", "_", "", "+", "plus").Replace
	switch {
	case c.Ours == "":
		return "left out because"
	case plain(c.Theirs) == plain(c.Ours):
		return "have"
	}
	return "alias of"
}

// Registry is what a framework has, in the order of its sources, and what could not be had of it.
type Registry struct {
	Framework string
	Has       []Counterpart
	Missing   []string
}

// Registries are the registries of all frameworks whose code was read; more of them than have configurations that are read.
func Registries() []Registry { return slices.Clone(registries()) }

// registries reads the text on first use: few commands need it. One that is wrong is a programming fault.
var registries = sync.OnceValue(func() (list []Registry) {
	source := ""
	for line := range strings.Lines(registryText) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "== "); ok {
			name, other, inherits := strings.Cut(name, " : ")
			r := Registry{Framework: name}
			if inherits {
				from := list[slices.IndexFunc(list, func(x Registry) bool { return x.Framework == other })]
				r.Has, r.Missing = slices.Clone(from.Has), slices.Clone(from.Missing)
			}
			list, source = append(list, r), ""
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		r := &list[len(list)-1]
		if rest, ok := strings.CutPrefix(line, "@ "); ok {
			source = rest
		} else if rest, ok := strings.CutPrefix(line, "? "); ok {
			r.Missing = append(r.Missing, rest)
		} else {
			r.Has = append(r.Has, counterparts(line, source)...)
		}
	}
	return list
})

// counterparts reads a line of names.
func counterparts(line, source string) []Counterpart {
	c := Counterpart{Source: source}
	left, right, has := strings.Cut(line, " = ")
	if has {
		right, c.Note, _ = strings.Cut(right, " ; ")
		c.Field, c.Ours, has = strings.Cut(right, ":")
	} else {
		left, c.Note, has = strings.Cut(line, " : ")
	}
	names := strings.Fields(left)
	if !has || source == "" || len(names) < 2 || c.Field+c.Note == "" {
		panic("foreign: registry line " + line)
	}
	c.Kind = names[0]
	var list []Counterpart
	for _, name := range names[1:] {
		one := c
		one.Theirs = name
		if c.Field != "" && c.Ours == "" {
			one.Ours = name
		}
		list = append(list, one)
	}
	return list
}
