package source

import (
	"maps"
	"slices"
	"strconv"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// unknownValue stands for what the script does not decide.
func unknownValue(name string) expand.Variable {
	return expand.Variable{Set: true, Kind: expand.String, Str: "${" + name + "}"}
}

// assign gives a variable its value, or its values.
func (s *shell) assign(a *syntax.Assign) {
	if a.Name == nil || a.Naked {
		return
	}
	name := a.Name.Value
	var made []expand.Variable
	switch {
	case a.Array != nil:
		var words []*syntax.Word
		keyed := map[string]string{}
		for _, e := range a.Array.Elems {
			if e.Index != nil && e.Value != nil {
				if w, ok := e.Index.(*syntax.Word); ok {
					keyed[s.literal(w)] = s.literal(e.Value)
				}
			} else if e.Value != nil {
				words = append(words, e.Value)
			}
		}
		if len(keyed) > 0 {
			made = []expand.Variable{{Set: true, Kind: expand.Associative, Map: keyed}}
			break
		}
		for _, reading := range s.fields(words) {
			made = union(made, []expand.Variable{{Set: true, Kind: expand.Indexed, List: texts(reading)}})
		}
	case a.Value == nil:
		made = []expand.Variable{{Set: true, Kind: expand.String}}
	default:
		for _, text := range s.literals(a.Value) {
			made = union(made, []expand.Variable{{Set: true, Kind: expand.String, Str: text}})
		}
	}
	if a.Index != nil {
		s.assignAt(name, a.Index, made[0].Str)
		return
	}
	if a.Append {
		made = s.appended(s.vars[name], made)
	}
	s.vars[name] = made
}

// assignAt sets one entry of an array.
func (s *shell) assignAt(name string, index syntax.ArithmExpr, text string) {
	w, ok := index.(*syntax.Word)
	if !ok {
		return
	}
	key := s.literal(w)
	var v expand.Variable
	if old := s.vars[name]; len(old) > 0 {
		v = old[0]
	}
	if i, err := strconv.Atoi(key); err == nil && v.Kind != expand.Associative && i >= 0 && i <= len(v.List) {
		v.Kind, v.Set, v.List = expand.Indexed, true, append(slices.Clone(v.List), text)
		if i < len(v.List)-1 {
			v.List[i], v.List = text, v.List[:len(v.List)-1]
		}
	} else {
		v.Kind, v.Set, v.Map = expand.Associative, true, maps.Clone(v.Map)
		if v.Map == nil {
			v.Map = map[string]string{}
		}
		v.Map[key] = text
	}
	s.spend(len(v.List) + len(v.Map))
	s.vars[name] = []expand.Variable{v}
}

// appended is += of every old value and every new one.
func (s *shell) appended(old, more []expand.Variable) (list []expand.Variable) {
	if len(old) == 0 {
		return more
	}
	for _, a := range old {
		for _, b := range more {
			v := a
			v.Set = true
			if a.Kind == expand.Indexed || b.Kind == expand.Indexed {
				v.Kind = expand.Indexed
				v.List = slices.Concat(a.List, b.List)
				if a.Kind == expand.String && a.Set {
					v.List = slices.Concat([]string{a.Str}, b.List)
				}
				s.spend(len(v.List))
			} else {
				v.Kind, v.Str = expand.String, a.Str+b.Str
				s.size(len(v.Str))
			}
			list = union(list, []expand.Variable{v})
		}
	}
	return list
}
