package source

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Bounds on a script.
const (
	maxScript   = 256 << 10 // bytes of it
	maxWork     = 1 << 19   // statements run, variables copied and words expanded
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
func parseShell(text []byte) ([]Document, error) {
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
