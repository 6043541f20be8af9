package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A mutant is one small change to one expression or statement.
type mutant struct {
	Key  string // file, function, text before, text after: it survives a move to another line
	Line int
}

// An edit replaces text[from:to] of a file.
type edit struct {
	from, to int
	text     string
	order    int // among edits of one place: closing brackets inside out, then opening ones outside in
}

// A weaver weaves every mutant of a file into its text, each behind a switch:
// one compilation then serves them all (mutant schemata; Untch, Offutt and
// Harrold, 1993).
type weaver struct {
	fset    *token.FileSet
	info    *types.Info
	pkg     *types.Package
	path    string // in messages
	text    []byte
	edits   []edit
	mutants []mutant
	seen    map[string]int
	offset  int // the number of the file's first mutant
	fn      string
	sites   int // so far
}

// twins are the operators that a mutant puts in another's place.
var twins = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.SHL: token.SHR, token.SHR: token.SHL, token.AND: token.OR, token.OR: token.AND, token.XOR: token.AND, token.AND_NOT: token.AND,
}

// edges move a comparison by the case of equality, reversals turn it round.
var (
	edges     = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
	reversals = map[token.Token]token.Token{token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR, token.EQL: token.NEQ, token.NEQ: token.EQL}
)

// calls are the functions of switchboard.go that stand for an operator.
var calls = map[token.Token]string{
	token.ADD: "mutAdd", token.SUB: "mutSub", token.MUL: "mutMul", token.QUO: "mutQuo", token.REM: "mutRem", token.SHL: "mutShl", token.SHR: "mutShr",
	token.AND: "mutAnd", token.OR: "mutOr", token.XOR: "mutXor", token.AND_NOT: "mutAndNot",
	token.LSS: "mutLess", token.LEQ: "mutAtMost", token.GTR: "mutGreater", token.GEQ: "mutAtLeast",
}

// file weaves all of a file's functions.
func (w *weaver) file(f *ast.File) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		w.fn = fn.Name.Name
		if fn.Recv != nil {
			w.fn = strings.TrimPrefix(w.source(fn.Recv.List[0].Type), "*") + "." + w.fn
		}
		w.walk(fn.Body, nil)
	}
}

// walk weaves a node after what surrounds it. loop is the innermost statement
// that an unlabelled break would leave.
func (w *weaver) walk(root ast.Node, loop ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil || n == root {
			return true
		}
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			w.walk(n, n)
			return false
		case *ast.FuncLit:
			w.walk(n, nil)
			return false
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.IfStmt:
			w.condition(n.Cond)
		case *ast.BranchStmt:
			w.branch(n, loop)
		case *ast.IncDecStmt:
			w.assign(n, n.X, nil, map[token.Token]token.Token{token.INC: token.ADD, token.DEC: token.SUB}[n.Tok], n.TokPos)
		case *ast.AssignStmt:
			if op := n.Tok - token.ADD_ASSIGN + token.ADD; n.Tok >= token.ADD_ASSIGN && n.Tok <= token.AND_NOT_ASSIGN {
				w.assign(n, n.Lhs[0], n.Rhs[0], op, n.TokPos)
			}
		case ast.Expr:
			if tv, ok := w.info.Types[n]; ok && (tv.Value != nil || tv.IsType()) {
				return false
			}
			w.expression(n)
		}
		return true
	})
}

// expression weaves one operator.
func (w *weaver) expression(n ast.Expr) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		switch n.Op {
		case token.LAND, token.LOR:
			w.wrap(n, n.X, n.Y, n.OpPos, map[token.Token]string{token.LAND: "mutBoth", token.LOR: "mutEither"}[n.Op],
				map[token.Token]string{token.LAND: "||", token.LOR: "&&"}[n.Op])
		case token.EQL, token.NEQ:
			w.bracket(n, "mutFlip", w.swapped(n.X, n.Y, reversals[n.Op]))
		case token.LSS, token.LEQ, token.GTR, token.GEQ:
			w.wrap(n, n.X, n.Y, n.OpPos, calls[n.Op], edges[n.Op].String(), reversals[n.Op].String())
		default:
			if w.number(n) {
				w.wrap(n, n.X, n.Y, n.OpPos, calls[n.Op], twins[n.Op].String())
			}
		}
	case *ast.UnaryExpr:
		if n.Op == token.SUB && w.number(n) {
			w.bracket(n, "mutNegative", w.source(n.X))
		}
	}
}

// condition weaves a condition that has no operator of its own.
func (w *weaver) condition(e ast.Expr) {
	switch n := e.(type) {
	case *ast.Ident, *ast.CallExpr, *ast.SelectorExpr, *ast.IndexExpr:
		w.bracket(e, "mutFlip", "!"+w.source(e))
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			w.bracket(e, "mutFlip", w.source(n.X))
		}
	}
}

// branch weaves break and continue of a plain loop.
func (w *weaver) branch(n *ast.BranchStmt, loop ast.Node) {
	if n.Label != nil || n.Tok != token.BREAK && n.Tok != token.CONTINUE {
		return
	}
	switch loop.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
	default:
		return
	}
	other := map[token.Token]token.Token{token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK}[n.Tok]
	id := w.add(n, other.String())
	w.replace(n.Pos(), n.Pos(), fmt.Sprintf("if mutantIs(%d) { %s }; ", id, other), 1)
}

// assign weaves x += y and its kin, as x = mutAdd(id, x, y). Without y it is x++ or x--.
func (w *weaver) assign(n ast.Stmt, x, y ast.Expr, op token.Token, at token.Pos) {
	if !w.number(x) {
		return
	}
	from, value, twin := n.End(), "1", twins[op].String()
	after := w.source(x) + twin + twin
	if y != nil {
		from, value = y.Pos(), ""
		after = fmt.Sprintf("%s %s= %s", w.source(x), twin, w.source(y))
	}
	id := w.add(n, after)
	w.sites++
	w.replace(at, from, fmt.Sprintf("= %s(%d, %s, ", calls[op], id, w.source(x)), w.sites)
	w.replace(n.End(), n.End(), value+")", -w.sites)
}

// wrap turns X op Y into call(id, X, Y); each of the twins is a mutant.
func (w *weaver) wrap(n, x, y ast.Expr, op token.Pos, call string, twins ...string) {
	id := 0
	for k, twin := range twins {
		i := w.add(n, w.swapped(x, y, twin))
		if k == 0 {
			id = i
		}
	}
	w.sites++
	if w.info.Types[x].Value != nil && (call == "mutShl" || call == "mutShr") { // the constant takes its type from around it
		call += "[" + types.TypeString(w.info.TypeOf(n), types.RelativeTo(w.pkg)) + "]"
	}
	close, comma := ")", ","
	if call == "mutBoth" || call == "mutEither" {
		close, comma = "})", ", func() bool { return "
	}
	w.replace(n.Pos(), n.Pos(), fmt.Sprintf("%s(%d, ", call, id), w.sites)
	w.replace(op, y.Pos(), comma, w.sites) // comments between go
	w.replace(n.End(), n.End(), close, -w.sites)
}

// bracket turns an expression into call(id, expression).
func (w *weaver) bracket(n ast.Expr, call, after string) {
	id := w.add(n, after)
	w.sites++
	w.replace(n.Pos(), n.Pos(), fmt.Sprintf("%s(%d, ", call, id), w.sites)
	w.replace(n.End(), n.End(), ")", -w.sites)
}

// add counts a mutant and returns its number.
func (w *weaver) add(n ast.Node, after string) int {
	key := fmt.Sprintf("%s %s: %s -> %s", w.path, w.fn, w.source(n), oneLine(after))
	w.seen[key]++
	if k := w.seen[key]; k > 1 {
		key = fmt.Sprintf("%s (%d)", key, k)
	}
	w.mutants = append(w.mutants, mutant{key, w.fset.Position(n.Pos()).Line})
	return w.offset + len(w.mutants)
}

func (w *weaver) swapped(x, y ast.Expr, op any) string {
	return fmt.Sprintf("%s %v %s", w.source(x), op, w.source(y))
}

// number reports whether an expression is a number that is no constant.
func (w *weaver) number(e ast.Expr) bool {
	b, ok := w.info.TypeOf(e).Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsInteger|types.IsFloat) != 0
}

func (w *weaver) at(p token.Pos) int { return w.fset.Position(p).Offset }

// source is a node's text on one line.
func (w *weaver) source(n ast.Node) string {
	return oneLine(string(w.text[w.at(n.Pos()):w.at(n.End())]))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (w *weaver) replace(from, to token.Pos, text string, order int) {
	w.edits = append(w.edits, edit{w.at(from), w.at(to), text, order})
}

// woven is the file's text with all edits.
func (w *weaver) woven() []byte {
	slices.SortStableFunc(w.edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.order - b.order
	})
	var out []byte
	last := 0
	for _, e := range w.edits {
		out = append(append(out, w.text[last:e.from]...), e.text...)
		last = e.to
	}
	return append(out, w.text[last:]...)
}
