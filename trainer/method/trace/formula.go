package trace

import (
	"fmt"
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
