package trace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// node is a formula, or a part of one.
type node struct {
	kind  kind
	op    string // of a number its text, of a name or call the name
	parts []*node
}

type kind int

const (
	number kind = iota
	name
	call
	unary
	binary
)

// parser reads a formula:
//
//	sum      = product {("+" | "-") product}
//	product  = factor {("·" | "/") factor}
//	factor   = ["-"] atom ["²"]
//	atom     = number | name | name "(" sum {"," sum} ")" | "(" sum ")" | "|" sum "|"
type parser struct {
	text string
	err  error
}

func parse(text string) (*node, error) {
	p := parser{text: text}
	n := p.sum()
	if p.err == nil && p.peek() != "" {
		p.fail("%q is left over: a function has its arguments in parentheses; the functions are %s", p.text, functionNames())
	}
	return n, p.err
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
	p.text = ""
}

const operators = "+-·/(),|²"

// peek is the next token: an operator, or a run of anything else.
func (p *parser) peek() string {
	p.text = strings.TrimLeft(p.text, " ")
	for at, r := range p.text {
		if r == ' ' || strings.ContainsRune(operators, r) {
			if at == 0 {
				return p.text[:utf8.RuneLen(r)]
			}
			return p.text[:at]
		}
	}
	return p.text
}

// next takes the token that peek shows.
func (p *parser) next() string {
	t := p.peek()
	p.text = p.text[len(t):]
	return t
}

// accept takes the next token if it is one of these.
func (p *parser) accept(tokens ...string) (string, bool) {
	t := p.peek()
	for _, x := range tokens {
		if t == x {
			return p.next(), true
		}
	}
	return "", false
}

func (p *parser) expect(token string) {
	if _, ok := p.accept(token); !ok {
		p.fail("expected %q before %q", token, p.text)
	}
}

func (p *parser) sum() *node { return p.chain(p.product, "+", "-") }

func (p *parser) product() *node { return p.chain(p.factor, "·", "/") }

func (p *parser) chain(part func() *node, ops ...string) *node {
	n := part()
	for {
		op, ok := p.accept(ops...)
		if !ok {
			return n
		}
		n = &node{binary, op, []*node{n, part()}}
	}
}

func (p *parser) factor() *node {
	if _, ok := p.accept("-"); ok {
		return &node{unary, "-", []*node{p.factor()}}
	}
	n := p.atom()
	if _, ok := p.accept("²"); ok {
		n = &node{unary, "²", []*node{n}}
	}
	return n
}

func (p *parser) atom() *node {
	t := p.next()
	switch {
	case t == "(" || t == "|":
		n := p.sum()
		if t == "(" {
			p.expect(")")
			return n
		}
		p.expect("|")
		return &node{unary, "|", []*node{n}}
	case t == "" || strings.Contains(operators, t):
		p.fail("expected a number or a name before %q", t+p.text)
		return &node{}
	case t[0] >= '0' && t[0] <= '9':
		return &node{kind: number, op: t}
	}
	if _, ok := p.accept("("); !ok {
		return &node{kind: name, op: t}
	}
	n := &node{call, t, []*node{p.sum()}}
	for {
		if _, ok := p.accept(","); !ok {
			break
		}
		n.parts = append(n.parts, p.sum())
	}
	p.expect(")")
	return n
}

// Documented is a formula as a method's page has it, ready to be evaluated on the terms
// of a token.
//
//	L = -sg[min(r, c)]·A·logp, r = exp(lr), lr = logp - old
//
// The first part is the value of a token, the others define what stands in it. sg[x] is
// x, and 1[a ≤ b] is 1 or 0.
type Documented struct {
	// lines are the definitions, each after those that it names, and the value at last.
	lines []Line
}

// Document reads a formula. The error says what of it is no arithmetic.
func Document(formula string) (*Documented, error) {
	d := &Documented{}
	parts, nodes := map[string]string{}, map[string]*node{}
	var names []string
	for i, part := range topLevel(formula) {
		name, text, found := strings.Cut(part, " = ")
		if name = strings.TrimSpace(name); !found || strings.ContainsAny(name, " "+operators) || i == 0 && name != Value {
			return nil, fmt.Errorf("%q is not a name, = and a formula", strings.TrimSpace(part))
		}
		text, err := arithmetic(text)
		if err != nil {
			return nil, err
		}
		if nodes[name], err = parse(text); err != nil {
			return nil, fmt.Errorf("%s = %s: %w", name, text, err)
		}
		names, parts[name] = append(names, name), strings.TrimSpace(text)
	}
	var define func(name string, within []string) error
	define = func(name string, within []string) error {
		if slices.Contains(within, name) {
			return fmt.Errorf("%s is defined by itself", name)
		}
		for _, other := range names {
			if nodes[name].names(other) {
				if err := define(other, append(within, name)); err != nil {
					return err
				}
			}
		}
		if line := (Line{Name: name, Formula: parts[name]}); !d.has(name) {
			d.lines = append(d.lines, line)
		}
		return nil
	}
	return d, define(Value, nil)
}

func (d *Documented) has(name string) bool {
	return slices.ContainsFunc(d.lines, func(l Line) bool { return l.Name == name })
}

// Value is the formula on the terms of a token and on these parameters of the method. An
// error is of a name that nothing gives.
func (d *Documented) Value(k *Token, parameters map[string]float64) (float64, error) {
	t := New([]int{0, 1})
	terms := &t.Tokens[0]
	for _, given := range k.Terms {
		if given.Formula == "" { // without what the method computed
			terms.Terms = append(terms.Terms, given)
		}
	}
	for name, x := range parameters {
		if _, ok := terms.Find(name); !ok {
			t.Add(0, name, "", x)
		}
	}
	for _, l := range d.lines {
		n, err := parse(l.Formula)
		if err != nil {
			return 0, err
		}
		if name := n.fold(); name != "" {
			return 0, fmt.Errorf("%s takes other tokens in", name)
		}
		x, err := n.eval(terms)
		if err != nil {
			return 0, err
		}
		t.Add(0, l.Name, l.Formula, x)
	}
	value, _ := terms.Find(Value)
	return float64(value.Value), nil
}

// Rule is the formula and that of its gradient as a rule of one branch, given parameters
// by their names. lr is the log-ratio to old.
func (d *Documented) Rule(gradient string, parameters map[string]float64) (*Rule, error) {
	slope, err := arithmetic(gradient)
	if err == nil {
		_, err = parse(slope)
	}
	if err != nil {
		return nil, err
	}
	r, last := &Rule{}, len(d.lines)-1
	named := func(name string) bool {
		return !d.has(name) && slices.ContainsFunc(append(d.lines[:last+1:last+1], Line{Formula: slope}), func(l Line) bool {
			n, err := parse(l.Formula)
			return err == nil && n.names(name)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if named(name) {
			r.Given(name, parameters[name])
		}
	}
	if named("lr") {
		r.Formula("lr", "logp - old")
	}
	r.Add(d.lines[:last]...)
	r.Branch(Case{Branch: Kept, Value: d.lines[last].Formula, Slope: slope})
	return r, nil
}

// topLevel splits a text at the commas that stand in no brackets.
func topLevel(text string) (parts []string) {
	depth, from := 0, 0
	for at, r := range text {
		switch r {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				parts, from = append(parts, text[from:at]), at+1
			}
		}
	}
	return append(parts, text[from:])
}

// arithmetic writes sg[x] as (x), and 1[a ≤ b] by the functions of the trace.
func arithmetic(text string) (string, error) {
	open := strings.LastIndexByte(text, '[')
	if open < 0 {
		return text, nil
	}
	length := strings.IndexByte(text[open:], ']')
	if length < 0 {
		return "", fmt.Errorf("%q has no ]", text[open:])
	}
	before, inside, after := text[:open], text[open+1:open+length], text[open+length+1:]
	switch {
	case strings.HasSuffix(before, "sg"):
		return arithmetic(strings.TrimSuffix(before, "sg") + "(" + inside + ")" + after)
	case strings.HasSuffix(before, "1"):
		condition, err := indicator(inside)
		if err != nil {
			return "", err
		}
		return arithmetic(strings.TrimSuffix(before, "1") + condition + after)
	}
	return "", fmt.Errorf("[%s] is neither sg[ ] nor 1[ ]", inside)
}

// indicator is a condition as a function that is 1 or 0.
func indicator(condition string) (string, error) {
	fields := strings.Fields(condition)
	var sides, signs []string
	side := ""
	for _, f := range fields {
		if strings.Contains(" ≤ ≥ < > ", " "+f+" ") {
			sides, signs, side = append(sides, side), append(signs, f), ""
			continue
		}
		side += " " + f
	}
	sides = append(sides, side)
	switch strings.Join(signs, "") {
	case "≤":
		return "not(above(" + sides[0] + "," + sides[1] + "))", nil
	case "≥":
		return "not(above(" + sides[1] + "," + sides[0] + "))", nil
	case ">":
		return "above(" + sides[0] + "," + sides[1] + ")", nil
	case "<":
		return "above(" + sides[1] + "," + sides[0] + ")", nil
	case "≤≤":
		return "inside(" + sides[1] + "," + sides[0] + "," + sides[2] + ")", nil
	case "<<":
		return "above(" + sides[1] + "," + sides[0] + ")·above(" + sides[2] + "," + sides[1] + ")", nil
	}
	return "", fmt.Errorf("1[%s] is no comparison", condition)
}
