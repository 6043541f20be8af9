package source

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	own      = "\ue100"       // the beginning of the commands that rewriter puts into a script
	lineMark = "\ue101line"   // and of a word that says in which line the next one stands
	wordMark = "\ue102branch" // and of a subject of case whose branch was picked
)

// spelling are the flags of a declaration that change how a value is spelt.
var spelling = regexp.MustCompile("[ilut]")

func withoutMarks(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, lineMark) })
}

func branch(id string, i int) string { return fmt.Sprintf("%s%s.%d", wordMark, id, i) }

// rewriter changes a script so that the interpreter can follow it: what would reach beyond the script is taken out, what
// the script does not decide becomes a text that says so or a question, and before each statement stands what it may cost.
type rewriter struct {
	*shell
	// inner says that the text is one that the script has made.
	inner     bool
	functions []string
	// assigned are the variables that the script sets, source is where it reads another file, which may set any.
	assigned map[string]bool
	source   uint
	ids      int
	cost     cost
}

// cost is what a statement reads.
type cost struct {
	bytes, braces int
	replaces      bool
	names         map[string]int
}

func (r *rewriter) file(f *syntax.File) {
	r.assigned, r.source = map[string]bool{}, ^uint(0)
	syntax.Walk(f, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.Assign:
			r.assigned[nameOf(x.Name)] = r.assigned[nameOf(x.Name)] || !x.Naked
		case *syntax.WordIter:
			r.assigned[x.Name.Value] = true
		case *syntax.CallExpr:
			if len(x.Args) == 0 {
				break
			}
			switch x.Args[0].Lit() {
			case "source", ".":
				r.source = min(r.source, x.Pos().Offset())
			case "getopts", "eval":
				for _, w := range x.Args {
					r.assigned[w.Lit()] = true
				}
			}
		}
		return true
	})
	for _, s := range f.Stmts {
		r.stmt(s, r.inner)
	}
}

func nameOf(l *syntax.Lit) string {
	if l == nil {
		return ""
	}
	return l.Value
}

func lit(text string) *syntax.Word {
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: text}}}
}

func quoted(parts ...syntax.WordPart) *syntax.Word {
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: parts}}}
}

func command(name string, words ...any) *syntax.Stmt {
	c := &syntax.CallExpr{Args: []*syntax.Word{lit(name)}}
	for _, w := range words {
		switch w := w.(type) {
		case *syntax.Word:
			c.Args = append(c.Args, w)
		case []*syntax.Word:
			c.Args = append(c.Args, w...)
		default:
			c.Args = append(c.Args, lit(fmt.Sprint(w)))
		}
	}
	return &syntax.Stmt{Cmd: c}
}

// choose is one statement where one of the words is undecided, and else another.
func choose(words []*syntax.Word, open, otherwise *syntax.Stmt) *syntax.IfClause {
	return &syntax.IfClause{Cond: []*syntax.Stmt{command(own+"open", words)}, Then: []*syntax.Stmt{open},
		Else: &syntax.IfClause{Then: []*syntax.Stmt{otherwise}}}
}

func (r *rewriter) id() string {
	r.ids++
	return fmt.Sprint("?", r.inner, r.ids)
}

func (r *rewriter) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		r.stmt(s, true)
	}
}

// stmt rewrites a statement; nested is one that stands in a branch, a loop or a function.
func (r *rewriter) stmt(s *syntax.Stmt, nested bool) {
	if s == nil {
		return
	}
	outer := r.cost
	r.cost = cost{braces: 1, names: map[string]int{}}
	defer func() { r.cost = outer }()
	var before []*syntax.Stmt
	for _, d := range s.Redirs {
		if d.Hdoc != nil {
			r.word(d.Hdoc, true)
			before = append(before, command(own+"heredoc", d.Pos().Line(), quoted(d.Hdoc.Parts...)))
		}
	}
	s.Background, s.Coprocess, s.Disown, s.Redirs = false, false, false, nil
	switch x := s.Cmd.(type) {
	case *syntax.CallExpr:
		before = append(before, r.call(x, nested)...)
	case *syntax.DeclClause:
		x.Args = slices.DeleteFunc(x.Args, func(a *syntax.Assign) bool {
			if a.Name != nil || a.Value == nil || !strings.HasPrefix(a.Value.Lit(), "-") {
				return false
			}
			flags := spelling.ReplaceAllString(a.Value.Lit(), "")
			a.Value = lit(flags)
			return flags == "-"
		})
		for _, a := range x.Args {
			before = append(before, r.assign(a)...)
		}
	case *syntax.Block:
		for _, t := range x.Stmts {
			r.stmt(t, nested)
		}
	case *syntax.Subshell:
		r.stmts(x.Stmts)
	case *syntax.TimeClause:
		r.stmt(x.Stmt, nested)
		s.Cmd = &syntax.Block{Stmts: []*syntax.Stmt{x.Stmt}}
		if x.Stmt == nil {
			s.Cmd = command("true").Cmd
		}
	case *syntax.CoprocClause:
		r.stmt(x.Stmt, nested)
		s.Cmd = &syntax.Block{Stmts: []*syntax.Stmt{x.Stmt}}
	case *syntax.BinaryCmd:
		r.stmt(x.X, nested)
		r.stmt(x.Y, true)
		if x.Op != syntax.AndStmt && x.Op != syntax.OrStmt { // both sides of a pipe, one after the other
			s.Cmd = &syntax.Block{Stmts: []*syntax.Stmt{x.X, x.Y}}
		}
	case *syntax.IfClause:
		for c := x; c != nil; c = c.Else {
			r.stmts(c.Cond)
			r.stmts(c.Then)
		}
	case *syntax.CaseClause:
		r.caseClause(x)
	case *syntax.WhileClause:
		r.stmts(x.Cond)
		before = append(before, r.loop(&x.Do))
	case *syntax.ForClause:
		x.Select = false
		switch l := x.Loop.(type) {
		case *syntax.WordIter:
			for _, w := range l.Items {
				r.word(w, true)
			}
		case *syntax.CStyleLoop:
			r.words(l.Init, false)
			r.words(l.Cond, false)
			r.words(l.Post, false)
		}
		before = append(before, r.loop(&x.Do))
	case *syntax.FuncDecl:
		if x.Name != nil {
			r.functions = append(r.functions, x.Name.Value)
		}
		r.stmt(x.Body, true)
	case *syntax.ArithmCmd:
		words := r.read(x.X)
		r.words(x.X, false)
		s.Cmd = choose(words, command(own+"ask", r.id()), &syntax.Stmt{Cmd: x})
	case *syntax.LetClause:
		for _, e := range x.Exprs {
			r.words(e, false)
		}
	case *syntax.TestClause:
		s.Cmd = &syntax.Block{Stmts: []*syntax.Stmt{r.test(x.X, x.Pos().Offset() > r.source)}}
	}
	if len(r.cost.names) > 0 || r.cost.braces > 1 {
		before = append(before, r.cost.statement())
	}
	if len(before) > 0 {
		s.Cmd = &syntax.Block{Stmts: append(before, &syntax.Stmt{Cmd: s.Cmd})}
	}
}

// statement states the cost: the bytes of the text, how often they may be repeated, and how often each variable is read.
func (c cost) statement() *syntax.Stmt {
	times := c.braces
	if c.replaces {
		times = 0
	}
	words := []*syntax.Word{lit(strconv.Itoa(c.bytes * c.braces)), lit(strconv.Itoa(times))}
	for _, name := range slices.Sorted(maps.Keys(c.names)) {
		p := &syntax.ParamExp{Param: &syntax.Lit{Value: name}}
		if syntax.ValidName(name) {
			p.Index = lit("*")
		}
		words = append(words, lit(strconv.Itoa(c.names[name]*c.braces)), quoted(p))
	}
	return command(own+"cost", words)
}

// loop bounds the rounds of a body; what it returns stands before the loop.
func (r *rewriter) loop(do *[]*syntax.Stmt) *syntax.Stmt {
	id := r.id()
	r.stmts(*do)
	*do = append([]*syntax.Stmt{command(own+"round", id)}, *do...)
	return command(own+"loop", id)
}

// call rewrites a simple command, and says in which lines its words stand.
func (r *rewriter) call(x *syntax.CallExpr, nested bool) (before []*syntax.Stmt) {
	for _, a := range x.Assigns {
		before = append(before, r.assign(a)...)
	}
	if len(x.Args) == 0 {
		return before
	}
	name := x.Args[0].Lit()
	if name == "exit" && nested {
		r.exits[x.Pos().Offset()] = true
	}
	mark := name != "[" && name != "test" || x.Pos().Offset() > r.source
	line := x.Args[0].Pos().Line()
	var args []*syntax.Word
	for _, w := range x.Args {
		if at := w.Pos().Line(); at != line {
			line = at
			args = append(args, lit(fmt.Sprint(lineMark, at)))
		}
		r.word(w, mark)
		args = append(args, w)
	}
	x.Args = args
	return before
}

// assign rewrites an assignment; what it returns bounds its index.
func (r *rewriter) assign(a *syntax.Assign) (before []*syntax.Stmt) {
	index := func(e syntax.ArithmExpr) {
		switch x := e.(type) {
		case nil:
		case *syntax.Word:
			r.word(x, true)
			before = append(before, command(own+"index", quoted(x.Parts...)))
		default:
			r.words(x, false)
			before = append(before, command(own+"index", quoted(&syntax.ArithmExp{X: x})))
		}
	}
	if a.Append {
		r.cost.names[nameOf(a.Name)]++
	}
	index(a.Index)
	r.word(a.Value, true)
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			index(e.Index)
			r.word(e.Value, true)
		}
	}
	return before
}

// caseClause lets a branch be picked where the subject is undecided: each has a pattern for it.
func (r *rewriter) caseClause(x *syntax.CaseClause) {
	r.word(x.Word, x.Pos().Offset() > r.source)
	id, last := r.id(), len(x.Items)
	for i, item := range x.Items {
		for _, p := range item.Patterns {
			if p.Lit() == "*" {
				last = min(last, i)
			}
			r.word(p, false)
		}
		item.Patterns = append([]*syntax.Word{lit(branch(id, i))}, item.Patterns...)
		r.stmts(item.Stmts)
	}
	pick := command(own+"pick", id, last, quoted(x.Word.Parts...))
	x.Word = &syntax.Word{Parts: []syntax.WordPart{&syntax.CmdSubst{Stmts: []*syntax.Stmt{pick}}}}
}

// test is a condition of [[ ]]: each part of it is asked where it is undecided.
func (r *rewriter) test(x syntax.TestExpr, mark bool) *syntax.Stmt {
	switch x := x.(type) {
	case *syntax.ParenTest:
		return r.test(x.X, mark)
	case *syntax.UnaryTest:
		switch {
		case x.Op == syntax.TsNot:
			inner := r.test(x.X, mark)
			return &syntax.Stmt{Negated: true, Cmd: &syntax.Block{Stmts: []*syntax.Stmt{inner}}}
		case x.Op == syntax.TsVarSet && !mark:
			return &syntax.Stmt{Cmd: &syntax.TestClause{X: x}}
		case x.Op != syntax.TsEmpStr && x.Op != syntax.TsNempStr: // files
			return command(own+"ask", r.id())
		}
	case *syntax.BinaryTest:
		op := syntax.AndStmt
		switch x.Op {
		case syntax.OrTest:
			op = syntax.OrStmt
			fallthrough
		case syntax.AndTest:
			return &syntax.Stmt{Cmd: &syntax.Block{Stmts: []*syntax.Stmt{{Cmd: &syntax.BinaryCmd{Op: op, X: r.test(x.X, mark), Y: r.test(x.Y, mark)}}}}}
		case syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
			return command(own+"ask", r.id())
		}
	}
	words := r.words(x, mark)
	return &syntax.Stmt{Cmd: choose(words, command(own+"ask", r.id()), &syntax.Stmt{Cmd: &syntax.TestClause{X: x}})}
}

// word rewrites a word; mark says that a variable which is not set is undecided there, and not empty.
func (r *rewriter) word(w *syntax.Word, mark bool) {
	if w == nil {
		return
	}
	r.cost.braces = min(r.cost.braces*braces(w), maxValue)
	r.cost.bytes += int(w.End().Offset() - w.Pos().Offset())
	r.parts(w.Parts, mark)
}

func (r *rewriter) parts(list []syntax.WordPart, mark bool) {
	for i, part := range list {
		switch x := part.(type) {
		case *syntax.DblQuoted:
			r.parts(x.Parts, mark)
		case *syntax.CmdSubst: // what programs print is not known, but of echo
			if len(x.Stmts) == 1 && len(x.Stmts[0].Redirs) == 0 {
				if call, ok := x.Stmts[0].Cmd.(*syntax.CallExpr); ok && len(call.Args) > 1 && (call.Args[0].Lit() == "echo" || call.Args[0].Lit() == "printf") {
					r.stmts(x.Stmts)
					break
				}
			}
			list[i] = &syntax.Lit{Value: undecided("$(...)")}
		case *syntax.ProcSubst:
			list[i] = &syntax.Lit{Value: undecided("$(...)")}
		case *syntax.ArithmExp: // its own text where it is undecided
			words := r.read(x.X)
			var text strings.Builder
			if err := syntax.NewPrinter().Print(&text, &syntax.Word{Parts: []syntax.WordPart{x}}); err != nil {
				text.Reset()
			}
			r.words(x.X, false)
			shown := choose(words, command("echo", undecided(text.String())), command("echo", quoted(x)))
			list[i] = &syntax.CmdSubst{Stmts: []*syntax.Stmt{{Cmd: shown}}}
		case *syntax.ParamExp:
			list[i] = r.param(x, mark)
		}
	}
}

func (r *rewriter) param(x *syntax.ParamExp, mark bool) syntax.WordPart {
	name := nameOf(x.Param)
	unknown := &syntax.Lit{Value: undecided("${" + name + "}")}
	keys := false // ${!array[@]}
	if w, ok := x.Index.(*syntax.Word); ok {
		keys = w.Lit() == "@" || w.Lit() == "*"
	}
	if name == "" || x.Excl && x.Names == 0 && !keys || slices.Contains(strings.Fields("RANDOM SRANDOM PPID DIRSTACK $ !"), name) {
		return unknown
	}
	r.cost.names[name]++
	r.words(x.Index, false)
	if x.Slice != nil {
		r.words(x.Slice.Offset, false)
		r.words(x.Slice.Length, false)
	}
	if x.Repl != nil {
		r.cost.replaces = true
		r.word(x.Repl.Orig, false)
		r.word(x.Repl.With, mark)
	}
	_, err := strconv.Atoi(name)
	plain := !x.Length && !x.Excl && x.Names == 0 && (syntax.ValidName(name) || err == nil)
	if x.Exp != nil {
		r.word(x.Exp.Word, mark)
		switch x.Exp.Op {
		case syntax.ErrorUnset:
			x.Exp.Op, x.Exp.Word = syntax.DefaultUnset, &syntax.Word{Parts: []syntax.WordPart{unknown}}
		case syntax.ErrorUnsetOrNull:
			x.Exp.Op, x.Exp.Word = syntax.DefaultUnsetOrNull, &syntax.Word{Parts: []syntax.WordPart{unknown}}
		}
		switch x.Exp.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			return x
		}
	}
	switch {
	case !mark || !plain:
	case x.Exp == nil && x.Slice == nil && x.Repl == nil && !keys:
		x.Short, x.Exp = false, &syntax.Expansion{Op: syntax.DefaultUnset, Word: &syntax.Word{Parts: []syntax.WordPart{unknown}}}
	case syntax.ValidName(name) && !r.assigned[name]:
		return unknown
	}
	return x
}

// words rewrites the words of an expression, and returns their values; there may be no expression.
func (r *rewriter) words(x syntax.Node, mark bool) (values []*syntax.Word) {
	if x == nil {
		return nil
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		w, ok := n.(*syntax.Word)
		if ok {
			r.word(w, mark)
			values = append(values, quoted(w.Parts...))
		}
		return !ok
	})
	return values
}

// read are the variables that an arithmetic expression reads, as words that are undecided where one of them is not set.
func (r *rewriter) read(x syntax.ArithmExpr) (words []*syntax.Word) {
	add := func(name string, set bool) {
		p := &syntax.ParamExp{Param: &syntax.Lit{Value: name}}
		part := r.param(p, !set)
		words = append(words, quoted(part))
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.CmdSubst:
			return false
		case *syntax.Lit:
			if syntax.ValidName(x.Value) {
				add(x.Value, false)
			}
		case *syntax.ParamExp:
			if x.Param != nil {
				add(x.Param.Value, x.Exp != nil || x.Length)
			}
			return false
		}
		return true
	})
	return words
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
			return maxValue
		}
	}
	return n
}
