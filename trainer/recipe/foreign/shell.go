package foreign

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Bounds on a script.
const (
	maxScript   = 256 << 10 // bytes of it
	maxWork     = 2 << 20   // statements run, variables copied and words expanded
	maxValue    = 64 << 10  // bytes of a variable
	maxExpanded = 8 << 20   // bytes of all that is expanded
	maxLoop     = 32        // rounds of a loop that are followed
	maxCalls    = 16        // calls inside each other
	maxValues   = 8         // values of a variable that branches leave open
)

// parseShell follows a script as the shell would with nothing set in its environment. It
// runs no program: what a program prints is unknown. A branch is taken where its condition
// is decided by the script itself; else both are followed, and what they leave different is
// undecided. The result is a document for each program that is started.
func parseShell(text []byte) ([]document, error) {
	if len(text) > maxScript {
		return nil, fmt.Errorf("too long for a script: the limit is %d bytes", maxScript)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(text), "")
	if err != nil {
		return nil, fmt.Errorf("no script: %w", err)
	}
	s := &shell{vars: map[string][]expand.Variable{}, functions: map[string]*syntax.Stmt{}, called: map[string]bool{}}
	s.list(file.Stmts)
	if len(s.commands) == 0 {
		for _, name := range slices.Sorted(maps.Keys(s.functions)) {
			if !s.called[name] {
				s.stmt(s.functions[name])
			}
		}
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.documents(), nil
}

// shell is the state of a script.
type shell struct {
	// vars are its variables: more than one value where branches left it open.
	vars      map[string][]expand.Variable
	functions map[string]*syntax.Stmt
	called    map[string]bool
	params    []string
	commands  []command
	// sourced says that another file was read, which may set anything.
	sourced        bool
	work, expanded int
	calls          int
	err            error
}

// command is what a script starts: its words, once for each value of what is undecided.
type command struct {
	readings [][]word
	heredoc  string
	line     int
}

// spend bounds what a script costs.
func (s *shell) spend(n int) bool {
	if s.work += n; s.work > maxWork && s.err == nil {
		s.err = errTooLarge
	}
	return s.err == nil
}

// documents groups the commands by the program they start.
func (s *shell) documents() (list []document) {
	at := map[string]int{}
	var readings [][][]setting
	for _, c := range s.commands {
		if c.heredoc != "" {
			if inner, err := parse("heredoc.yaml", []byte(c.heredoc)); err == nil {
				for _, d := range inner {
					list = append(list, document{settings: d.settings, name: fmt.Sprintf("the text at line %d", c.line), line: c.line})
					readings = append(readings, nil)
				}
			}
			continue
		}
		var of [][]setting
		name := ""
		for _, words := range c.readings {
			n, rest, ok := program(words)
			if settings := fromWords(rest); ok && len(settings) > 0 {
				name, of = n, append(of, settings)
			}
		}
		if len(of) == 0 {
			continue
		}
		i, known := at[name]
		if !known {
			i = len(list)
			at[name] = i
			list, readings = append(list, document{name: name, line: c.line}), append(readings, nil)
		}
		if name == "" { // lines of flags belong together
			if len(readings[i]) == 0 {
				readings[i] = [][]setting{nil}
			}
			readings[i][0] = append(readings[i][0], variants(of)...)
			continue
		}
		readings[i] = append(readings[i], of...)
	}
	for i := range list {
		if readings[i] != nil {
			list[i].settings = variants(readings[i])
		}
	}
	if len(list) == 0 {
		list = s.arrays()
	}
	return list
}

// arrays are the settings of a fragment that fills arrays and starts nothing.
func (s *shell) arrays() []document {
	var all []setting
	for _, name := range slices.Sorted(maps.Keys(s.vars)) {
		var readings [][]setting
		for _, v := range s.vars[name] {
			var words []word
			for _, text := range v.List {
				words = append(words, word{text, 1})
			}
			readings = append(readings, fromWords(words))
		}
		all = append(all, variants(readings)...)
	}
	if len(all) == 0 {
		return nil
	}
	return []document{{settings: all}}
}

// list runs statements, and reports whether the script has ended.
func (s *shell) list(list []*syntax.Stmt) bool {
	for _, stmt := range list {
		if s.stmt(stmt) {
			return true
		}
	}
	return false
}

// stmt runs one.
func (s *shell) stmt(stmt *syntax.Stmt) (ended bool) {
	if stmt == nil || !s.spend(1) {
		return true
	}
	for _, r := range stmt.Redirs {
		if r.Hdoc != nil {
			s.commands = append(s.commands, command{heredoc: s.literal(r.Hdoc), line: int(r.Pos().Line())})
		}
	}
	switch x := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return s.call(x)
	case *syntax.DeclClause:
		for _, a := range x.Args {
			s.assign(a)
		}
	case *syntax.Block:
		return s.list(x.Stmts)
	case *syntax.Subshell:
		before := maps.Clone(s.vars)
		s.spend(len(before))
		s.list(x.Stmts)
		s.vars = before
	case *syntax.TimeClause:
		return s.stmt(x.Stmt)
	case *syntax.BinaryCmd:
		return s.binary(x)
	case *syntax.IfClause:
		return s.ifClause(x)
	case *syntax.CaseClause:
		return s.caseClause(x)
	case *syntax.WhileClause:
		if taken := s.condition(x.Cond); taken == no && !x.Until || taken == yes && x.Until {
			return false
		}
		s.branch(func() bool { return s.list(x.Do) }, nil)
	case *syntax.ForClause:
		s.forClause(x)
	case *syntax.FuncDecl:
		if x.Name != nil {
			s.functions[x.Name.Value] = x.Body
		}
	case *syntax.ArithmCmd:
		s.arithmetic(x.X)
	}
	return false
}

func (s *shell) binary(x *syntax.BinaryCmd) bool {
	switch x.Op {
	case syntax.AndStmt, syntax.OrStmt:
		taken := s.statementTrue(x.X)
		if x.Op == syntax.OrStmt {
			taken = taken.not()
		}
		switch taken {
		case yes:
			s.stmt(x.Y)
		case maybe:
			s.branch(func() bool { return s.stmt(x.Y) }, nil)
		}
		return false
	}
	s.stmt(x.X)
	s.stmt(x.Y)
	return false
}

func (s *shell) ifClause(x *syntax.IfClause) bool {
	if x.ThenPos.IsValid() {
		otherwise := func() bool {
			if x.Else == nil {
				return false
			}
			return s.ifClause(x.Else)
		}
		switch s.condition(x.Cond) {
		case yes:
			s.list(x.Then) // that it ends a script which lacks its arguments is passed over
			return false
		case no:
			return otherwise()
		}
		return s.branch(func() bool { return s.list(x.Then) }, otherwise)
	}
	s.list(x.Then)
	return false
}

func (s *shell) caseClause(x *syntax.CaseClause) bool {
	subject, decided := s.decided(x.Word)
	var bodies []func() bool
	certain := false
	for _, item := range x.Items {
		match := no
		for _, p := range item.Patterns {
			if text, ok := s.decided(p); decided && ok {
				if globMatch(text, subject) {
					match = yes
					break
				}
			} else {
				match = maybe
			}
			if text := s.literal(p); text == "*" {
				match = yes
			}
		}
		if match != no {
			bodies = append(bodies, func() bool { return s.list(item.Stmts) })
		}
		if match == yes {
			certain = true
			break
		}
	}
	switch {
	case len(bodies) == 1 && certain:
		bodies[0]()
		return false
	case len(bodies) == 0:
		return false
	}
	if !certain {
		bodies = append(bodies, nil)
	}
	return s.branch(bodies...)
}

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

// call runs a simple command: assignments, a function, a builtin that matters here, or a program.
func (s *shell) call(x *syntax.CallExpr) (ended bool) {
	if len(x.Args) == 0 {
		for _, a := range x.Assigns {
			s.assign(a)
		}
		return false
	}
	readings := s.fields(x.Args)
	if s.err != nil || len(readings[0]) == 0 {
		return s.err != nil
	}
	words := readings[0]
	rest := words[1:]
	switch name := words[0].text; name {
	case "exit", "return":
		return true
	case "break", "continue", ":", "echo", "cd", "mkdir", "rm", "sleep", "pkill", "ulimit", "printf", "test", "[", "true", "false", "pip", "pip3", "git", "wget", "curl", "tee", "cat", "kill", "wait", "trap":
		return false
	case "source", ".":
		s.sourced = true
		return false
	case "unset":
		for _, w := range rest {
			delete(s.vars, w.text)
		}
	case "shift":
		s.params = s.params[min(1, len(s.params)):]
	case "set":
		if len(rest) > 0 && rest[0].text == "--" {
			s.params = texts(rest[1:])
		}
	case "read":
		for _, w := range rest {
			if !strings.HasPrefix(w.text, "-") {
				s.vars[w.text] = []expand.Variable{unknownValue(w.text)}
			}
		}
	case "eval":
		s.source(strings.Join(texts(rest), " "))
	default:
		if body, ok := s.functions[name]; ok {
			if s.calls++; s.calls <= maxCalls {
				s.called[name] = true
				before := s.params
				s.params = texts(rest)
				s.stmt(body)
				s.params = before
			}
			s.calls--
			return false
		}
		if i := slices.IndexFunc(words, func(w word) bool { return w.text == "-c" || w.text == "-lc" }); i >= 0 && i+1 < len(words) && strings.HasSuffix(words[0].text, "sh") {
			s.source(words[i+1].text)
			return false
		}
		s.commands = append(s.commands, command{readings: readings, line: words[0].line})
	}
	return false
}

// source runs a text that the script itself has made.
func (s *shell) source(text string) {
	if len(text) > maxValue {
		s.err = errTooLarge
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if s.calls++; err == nil && s.calls <= maxCalls && !tooDeep([]byte(text)) {
		s.list(file.Stmts)
	}
	s.calls--
}

func texts(words []word) (list []string) {
	for _, w := range words {
		list = append(list, w.text)
	}
	return list
}

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
