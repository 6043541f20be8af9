package source

import (
	"io"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// size bounds the bytes that a script expands to.
func (s *shell) size(n int) bool {
	s.expanded += n
	if (n > maxValue || s.expanded > maxExpanded) && s.err == nil {
		s.err = errTooLarge
	}
	return s.err == nil
}

// reference is a variable that a word reads.
type reference struct {
	name string
	// bare says that nothing stands for it where it is unset, arithmetic that it is part of a sum.
	bare, arithmetic bool
}

// references are the variables that a node reads, and a bound on what it expands to.
func (s *shell) references(node syntax.Node) (list []reference, bound int) {
	bound = int(node.End().Offset()-node.Pos().Offset()) + 1
	repeated := 1
	inside := 0
	var nodes []syntax.Node
	syntax.Walk(node, func(n syntax.Node) bool {
		if n == nil {
			if _, ok := nodes[len(nodes)-1].(*syntax.ArithmExp); ok {
				inside--
			}
			nodes = nodes[:len(nodes)-1]
			return true
		}
		nodes = append(nodes, n)
		switch x := n.(type) {
		case *syntax.ArithmExp:
			inside++
		case *syntax.CmdSubst:
			nodes = nodes[:len(nodes)-1]
			return false
		case *syntax.Lit:
			if inside > 0 && syntax.ValidName(x.Value) {
				list = append(list, reference{x.Value, true, true})
			}
		case *syntax.ParamExp:
			if x.Param == nil {
				return true
			}
			bare := !x.Length && !x.Excl && x.Names == 0
			if x.Exp != nil {
				switch x.Exp.Op {
				case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
					bare = false
				}
			}
			if x.Repl != nil && x.Repl.With != nil {
				repeated += int(x.Repl.With.End().Offset() - x.Repl.With.Pos().Offset())
			}
			list = append(list, reference{x.Param.Value, bare, inside > 0})
			longest := 0
			for _, v := range s.vars[x.Param.Value] {
				n := len(v.Str)
				for _, e := range v.List {
					n += len(e) + 1
				}
				for _, e := range v.Map { // a sum, in any order
					n += len(e) + 1
				}
				longest = max(longest, n)
			}
			if x.Excl {
				longest = maxValue
			}
			bound += longest
		}
		return true
	})
	return list, bound * repeated
}

// environment is what a word sees: one value for each variable.
type environment struct {
	s *shell
	// pick is the value of a variable with several.
	pick map[string]int
	// bare are the variables that the word reads with nothing to stand for them.
	bare map[string]bool
}

// Get is a variable, or a mark where the script does not set what is read.
func (e *environment) Get(name string) expand.Variable {
	list := func(params []string) expand.Variable {
		return expand.Variable{Set: true, Kind: expand.Indexed, List: params}
	}
	switch name {
	case "@", "*":
		return list(e.s.params)
	case "#":
		return expand.Variable{Set: true, Kind: expand.String, Str: strconv.Itoa(len(e.s.params))}
	case "IFS":
		return expand.Variable{Set: true, Kind: expand.String, Str: " \t\n"}
	}
	if i, err := strconv.Atoi(name); err == nil && i > 0 && i <= len(e.s.params) {
		return expand.Variable{Set: true, Kind: expand.String, Str: e.s.params[i-1]}
	}
	if values := e.s.vars[name]; len(values) > 0 {
		if v := values[e.pick[name]%len(values)]; v.Set {
			if v.Kind == expand.Indexed && v.List == nil {
				v.List = []string{} // "${A[@]}" of an empty array is no word, and not an empty one
			}
			return v
		}
	}
	if e.bare[name] {
		return unknownValue(name)
	}
	return expand.Variable{}
}

// Each has nothing to export.
func (e *environment) Each(func(string, expand.Variable) bool) {}

// Set is of ${NAME:=value} and of arithmetic.
func (e *environment) Set(name string, v expand.Variable) error {
	if e.s.size(len(v.Str)) {
		e.s.vars[name] = []expand.Variable{v}
	}
	return nil
}

// config expands words in an environment. What programs print is not known, except of echo.
func (s *shell) config(e *environment) *expand.Config {
	return &expand.Config{Env: e, CmdSubst: func(w io.Writer, c *syntax.CmdSubst) error {
		if len(c.Stmts) == 1 {
			if call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr); ok && len(call.Args) > 1 && call.Args[0].Lit() == "echo" && len(c.Stmts[0].Redirs) == 0 {
				for i, text := range texts(s.fields(call.Args[1:])[0]) {
					if i > 0 {
						text = " " + text
					}
					if _, err := io.WriteString(w, text); err != nil {
						return err
					}
				}
				return nil
			}
		}
		_, err := io.WriteString(w, "$(...)")
		return err
	}, ProcSubst: func(*syntax.ProcSubst) (string, error) { return "$(...)", nil }}
}

// worlds are the environments of a word: the first value of everything, and one more for
// each further value of a variable that it reads.
func (s *shell) worlds(refs []reference) []*environment {
	bare, open := map[string]bool{}, []reference{}
	for _, r := range refs {
		if r.bare {
			bare[r.name] = true
		}
		if len(s.vars[r.name]) > 1 {
			open = append(open, r)
		}
	}
	list := []*environment{{s: s, bare: bare}}
	for _, r := range open {
		for i := 1; i < len(s.vars[r.name]); i++ {
			if len(list) < 4*maxValues {
				list = append(list, &environment{s: s, bare: bare, pick: map[string]int{r.name: i}})
			}
		}
	}
	return list
}

// unset reports whether arithmetic reads what the script does not set.
func (s *shell) unset(refs []reference) bool {
	for _, r := range refs {
		if !r.arithmetic || !r.bare {
			continue
		}
		if len(s.vars[r.name]) == 0 {
			return true
		}
		for _, v := range s.vars[r.name] {
			if !v.Set || strings.Contains(v.Str, "$") {
				return true
			}
		}
	}
	return false
}

// braces is how many words a word's braces make.
func braces(w *syntax.Word) int {
	split := *w
	if !syntax.SplitBraces(&split) {
		return 1
	}
	n := 1
	for _, part := range split.Parts {
		b, ok := part.(*syntax.BraceExp)
		if !ok {
			continue
		}
		count := 0
		for _, e := range b.Elems {
			count += braces(e)
		}
		if b.Sequence && len(b.Elems) >= 2 {
			from, err := strconv.Atoi(b.Elems[0].Lit())
			to, other := strconv.Atoi(b.Elems[1].Lit())
			if err == nil && other == nil {
				count = max(to-from, from-to) + 1
			} else {
				count = 64
			}
		}
		if n *= count; n > maxValue || n < 0 {
			return maxValue + 1
		}
	}
	return n
}

// fields expands the words of a command, once for each world.
func (s *shell) fields(words []*syntax.Word) [][]word {
	var all []reference
	own := make([][]reference, len(words))
	total := 0
	for i, w := range words {
		refs, bound := s.references(w)
		own[i], all, total = refs, append(all, refs...), total+bound*braces(w)
		if !s.spend(len(refs)+1) || !s.size(min(bound, maxValue+1)*min(braces(w), maxValue)) {
			return [][]word{nil}
		}
	}
	var readings [][]word
	for _, world := range s.worlds(all) {
		var list []word
		for i, w := range words {
			line := int(w.Pos().Line())
			if s.unset(own[i]) {
				list = append(list, word{s.source1(w), line})
				continue
			}
			one := *w
			made, err := expand.Fields(s.config(world), &one)
			if err != nil {
				made = []string{s.source1(w)}
			}
			for _, text := range made {
				list = append(list, word{text, line})
				if !s.size(len(text)) {
					return [][]word{nil}
				}
			}
		}
		readings = append(readings, list)
	}
	return readings
}

// literals are the values of one word, without splitting.
func (s *shell) literals(w *syntax.Word) (list []string) {
	refs, bound := s.references(w)
	if !s.spend(len(refs)+1) || !s.size(bound) {
		return []string{""}
	}
	if s.unset(refs) {
		return []string{s.source1(w)}
	}
	for _, world := range s.worlds(refs) {
		text, err := expand.Literal(s.config(world), w)
		if err != nil {
			text = s.source1(w)
		}
		if !s.size(len(text)) {
			return []string{""}
		}
		list = append(list, text)
	}
	return list
}

// literal is the first of them.
func (s *shell) literal(w *syntax.Word) string { return s.literals(w)[0] }

// source1 is a word as it is written, with a mark that it is not decided.
func (s *shell) source1(w *syntax.Word) string {
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, w); err != nil || !strings.Contains(b.String(), "$") {
		return "$(...)"
	}
	return strings.Trim(b.String(), `"`)
}

// arithmetic runs (( )), whose assignments matter.
func (s *shell) arithmetic(x syntax.ArithmExpr) (value int, ok bool) {
	refs, bound := s.references(x)
	for i := range refs {
		refs[i].arithmetic, refs[i].bare = true, true
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if l, isLit := n.(*syntax.Lit); isLit && syntax.ValidName(l.Value) {
			refs = append(refs, reference{l.Value, true, true})
		}
		return true
	})
	if s.unset(refs) || !s.size(bound) {
		return 0, false
	}
	value, err := expand.Arithm(s.config(&environment{s: s}), x)
	return value, err == nil
}
