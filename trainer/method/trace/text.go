package trace

import (
	"fmt"
	"strings"
)

// Lines shows the terms of a token, one a line: name, formula, the formula with the
// token's numbers, and the value. The line of the loss, the weight or the decision has the branch.
func (k *Token) Lines() []string { return k.lines(func(Term) bool { return true }) }

// Workings are the lines that have a formula, without those of what was given.
func (k *Token) Workings() []string { return k.lines(func(t Term) bool { return t.Formula != "" }) }

func (k *Token) lines(shown func(Term) bool) []string {
	var lines []string
	for i, term := range k.Terms {
		if _, again := (&Token{Terms: k.Terms[i+1:]}).Find(term.Name); !again && shown(term) {
			lines = append(lines, k.line(i))
		}
	}
	return lines
}

// line is the line of the i-th term.
func (k *Token) line(i int) string {
	term := k.Terms[i]
	value := term.Value.String()
	parts := []string{term.Name}
	if n, err := parse(term.Formula); term.Formula != "" && err == nil {
		for _, text := range []string{term.Formula, n.text(k.before(i))} {
			if text != parts[len(parts)-1] && text != value {
				parts = append(parts, text)
			}
		}
	}
	line := strings.Join(append(parts, value), " = ")
	_, valued := k.Find(Value)
	if (term.Name == Value || i == len(k.Terms)-1 && !valued) && k.Branch != "" {
		line += fmt.Sprintf("   (%s)", k.Branch)
	}
	return line
}

// text is the formula with numbers in the place of names.
func (n *node) text(k *Token) string {
	switch n.kind {
	case number:
		return n.op
	case name:
		term, _ := k.Find(n.op)
		return term.Value.String()
	case call:
		var parts []string
		if f, ok := folds[n.op]; ok {
			x, _ := n.folded(f, k)
			for i, v := range x {
				if len(x) > mostShown && i == mostShown-2 {
					parts = append(parts, "…")
				}
				if len(x) <= mostShown || i < mostShown-2 || i == len(x)-1 {
					parts = append(parts, Number(v).String())
				}
			}
		} else {
			for _, p := range n.parts {
				parts = append(parts, p.text(k))
			}
		}
		return n.op + "(" + strings.Join(parts, ", ") + ")"
	case unary:
		x := n.parts[0].within(k)
		switch n.op {
		case "²":
			return x + "²"
		case "|":
			return "|" + n.parts[0].text(k) + "|"
		}
		return "-" + x
	}
	return n.parts[0].operand(k, n.op, true) + spaced[n.op] + n.parts[1].operand(k, n.op, false)
}

// mostShown is how many tokens of a fold are shown.
const mostShown = 6

var spaced = map[string]string{"+": " + ", "-": " - ", "·": "·", "/": "/"}

// within is the text of what stands behind a sign: a negative number is in brackets.
func (n *node) within(k *Token) string {
	text := n.text(k)
	if n.kind == binary || strings.HasPrefix(text, "-") {
		return "(" + text + ")"
	}
	return text
}

// operand is the text of one side of an operator, in brackets where it needs them.
func (n *node) operand(k *Token, op string, left bool) string {
	text := n.text(k)
	loose := n.kind == binary && (n.op == "+" || n.op == "-")
	switch {
	case loose && (op == "·" || op == "/" || !left && op == "-"),
		!left && n.kind == binary && op == "/",
		!left && strings.HasPrefix(text, "-"):
		return "(" + text + ")"
	}
	return text
}
