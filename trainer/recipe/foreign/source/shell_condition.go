package source

import (
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// truth is what a script says of a condition.
type truth int

const (
	no truth = iota
	yes
	maybe
)

func (t truth) not() truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return maybe
}

func truthOf(ok bool) truth {
	if ok {
		return yes
	}
	return no
}

// condition runs statements for the truth of the last.
func (s *shell) condition(list []*syntax.Stmt) truth {
	for i, stmt := range list {
		if i == len(list)-1 {
			return s.statementTrue(stmt)
		}
		s.stmt(stmt)
	}
	return maybe
}

// statementTrue runs a statement and says whether it succeeds.
func (s *shell) statementTrue(stmt *syntax.Stmt) truth {
	if !s.spend(1) {
		return maybe
	}
	result := maybe
	switch x := stmt.Cmd.(type) {
	case *syntax.TestClause:
		result = s.test(x.X)
	case *syntax.ArithmCmd:
		if value, ok := s.arithmetic(x.X); ok {
			result = truthOf(value != 0)
		}
	case *syntax.BinaryCmd:
		if x.Op == syntax.AndStmt || x.Op == syntax.OrStmt {
			a, b := s.statementTrue(x.X), s.statementTrue(x.Y)
			result = both(a, b, x.Op == syntax.AndStmt)
			break
		}
		s.stmt(stmt)
	case *syntax.CallExpr:
		if len(x.Args) == 0 {
			s.stmt(stmt)
			result = yes
			break
		}
		switch name := x.Args[0].Lit(); name {
		case "[", "test":
			result = s.bracket(x.Args[1:])
		case "true", ":":
			result = yes
		case "false":
			result = no
		default:
			s.stmt(stmt)
			// A program is taken to do what it is for, but one that only asks says nothing.
			if name != "command" && name != "grep" && name != "which" && name != "type" {
				result = yes
			}
		}
	default:
		s.stmt(stmt)
	}
	if stmt.Negated {
		result = result.not()
	}
	return result
}

// both combines two conditions.
func both(a, b truth, and bool) truth {
	short := truthOf(!and)
	switch {
	case a == short || b == short:
		return short
	case a == maybe || b == maybe:
		return maybe
	}
	return short.not()
}

// decided is a word's text if the script decides it; an unset variable is empty, as in the shell.
func (s *shell) decided(w *syntax.Word) (string, bool) {
	refs, _ := s.references(w)
	for _, r := range refs {
		if r.arithmetic || !r.bare || len(s.vars[r.name]) > 0 {
			continue
		}
		if i, err := strconv.Atoi(r.name); s.sourced && (err != nil || i > 0) && r.name != "@" && r.name != "*" && r.name != "#" {
			return "", false
		}
		s.vars[r.name] = nil
	}
	list := s.literals(w)
	text := list[0]
	for _, r := range refs {
		if len(s.vars[r.name]) == 0 {
			text = strings.ReplaceAll(text, "${"+r.name+"}", "")
			delete(s.vars, r.name)
		}
	}
	for _, other := range list[1:] {
		if other != list[0] {
			return "", false
		}
	}
	return text, !strings.Contains(text, "$")
}

// bracket is [ ... ].
func (s *shell) bracket(args []*syntax.Word) truth {
	if n := len(args); n > 0 && args[n-1].Lit() == "]" {
		args = args[:n-1]
	}
	if len(args) == 0 {
		return no
	}
	for i, w := range args {
		if op := w.Lit(); op == "-a" || op == "-o" {
			return both(s.bracket(args[:i]), s.bracket(args[i+1:]), op == "-a")
		}
	}
	if args[0].Lit() == "!" {
		return s.bracket(args[1:]).not()
	}
	switch len(args) {
	case 1:
		text, ok := s.decided(args[0])
		if !ok {
			return maybe
		}
		return truthOf(text != "")
	case 2:
		return s.unary(args[0].Lit(), args[1])
	case 3:
		return s.compare(args[1].Lit(), args[0], args[2], false)
	}
	return maybe
}

func (s *shell) unary(op string, w *syntax.Word) truth {
	text, ok := s.decided(w)
	switch {
	case !ok:
		return maybe
	case op == "-z":
		return truthOf(text == "")
	case op == "-n":
		return truthOf(text != "")
	case op == "-v":
		return truthOf(len(s.vars[text]) > 0)
	}
	return maybe // files
}

func (s *shell) compare(op string, x, y *syntax.Word, patterns bool) truth {
	a, ok := s.decided(x)
	b, other := s.decided(y)
	if !ok || !other {
		return maybe
	}
	equal := a == b
	if patterns {
		equal = globMatch(b, a)
	}
	switch op {
	case "=", "==":
		return truthOf(equal)
	case "!=":
		return truthOf(!equal)
	case "<":
		return truthOf(a < b)
	case ">":
		return truthOf(a > b)
	case "=~":
		e, err := regexp.Compile(b)
		if err != nil {
			return maybe
		}
		return truthOf(e.MatchString(a))
	}
	m, err := strconv.ParseInt(a, 10, 64)
	n, failed := strconv.ParseInt(b, 10, 64)
	if err != nil || failed != nil {
		return maybe
	}
	switch op {
	case "-eq":
		return truthOf(m == n)
	case "-ne":
		return truthOf(m != n)
	case "-lt":
		return truthOf(m < n)
	case "-le":
		return truthOf(m <= n)
	case "-gt":
		return truthOf(m > n)
	case "-ge":
		return truthOf(m >= n)
	}
	return maybe
}

// test is [[ ... ]].
func (s *shell) test(x syntax.TestExpr) truth {
	switch x := x.(type) {
	case *syntax.ParenTest:
		return s.test(x.X)
	case *syntax.Word:
		text, ok := s.decided(x)
		if !ok {
			return maybe
		}
		return truthOf(text != "")
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			return s.test(x.X).not()
		}
		if w, ok := x.X.(*syntax.Word); ok {
			return s.unary(x.Op.String(), w)
		}
	case *syntax.BinaryTest:
		if x.Op == syntax.AndTest || x.Op == syntax.OrTest {
			return both(s.test(x.X), s.test(x.Y), x.Op == syntax.AndTest)
		}
		a, ok := x.X.(*syntax.Word)
		b, other := x.Y.(*syntax.Word)
		if ok && other {
			return s.compare(x.Op.String(), a, b, true)
		}
	}
	return maybe
}

// globMatch is the shell's pattern matching.
func globMatch(glob, text string) bool {
	if !pattern.HasMeta(glob, 0) {
		return glob == text
	}
	source, err := pattern.Regexp(glob, pattern.EntireString)
	if err != nil {
		return false
	}
	e, err := regexp.Compile(source)
	return err == nil && e.MatchString(text)
}
