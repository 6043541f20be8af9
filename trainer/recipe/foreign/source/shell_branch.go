package source

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// branch follows each body from the same state, and keeps every value that one of them
// leaves; nil is a body that does nothing. A body that ends the script leaves none.
func (s *shell) branch(bodies ...func() bool) bool {
	before := s.vars
	var after []map[string][]expand.Variable
	for _, body := range bodies {
		s.vars = maps.Clone(before)
		if !s.spend(len(before)) {
			return true
		}
		if body == nil || !body() {
			after = append(after, s.vars)
		}
	}
	s.vars = before
	if len(after) == 0 {
		return true
	}
	s.vars = after[0]
	for _, other := range after[1:] {
		for name := range s.vars { // each on its own, in any order
			if _, ok := other[name]; !ok {
				s.vars[name] = union(s.vars[name], []expand.Variable{{}})
			}
		}
		for name, values := range other {
			mine, ok := s.vars[name]
			if !ok {
				mine = []expand.Variable{{}}
			}
			s.vars[name] = union(mine, values)
		}
	}
	return false
}

// union adds values that are new.
func union(list, more []expand.Variable) []expand.Variable {
	for _, v := range more {
		if len(list) < maxValues && !slices.ContainsFunc(list, func(w expand.Variable) bool {
			return w.Kind == v.Kind && w.Set == v.Set && w.Str == v.Str && slices.Equal(w.List, v.List) && maps.Equal(w.Map, v.Map)
		}) {
			list = append(slices.Clip(list), v)
		}
	}
	return list
}

func (s *shell) forClause(x *syntax.ForClause) {
	items, ok := x.Loop.(*syntax.WordIter)
	if !ok {
		s.branch(func() bool { return s.list(x.Do) }, nil)
		return
	}
	fields := s.fields(items.Items)[0]
	if len(fields) > maxLoop {
		fields = fields[:maxLoop]
	}
	for _, f := range fields {
		s.vars[items.Name.Value] = []expand.Variable{{Set: true, Kind: expand.String, Str: f.text}}
		if s.list(x.Do) || s.err != nil {
			return
		}
	}
}
