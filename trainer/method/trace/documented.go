package trace

import (
	"fmt"
	"strings"
)

// Documented is a formula as a method's page has it, ready to be evaluated on the terms
// of a token.
//
//	L = -sg[min(r, c)]·A·logp, r = exp(lr), lr = logp - old
//
// The first part is the value of a token, the others define what stands in it. sg[x] is
// x, and 1[a ≤ b] is 1 or 0.
type Documented struct {
	value       *node
	definitions map[string]*node
}

// Document reads a formula. The error says what of it is no arithmetic.
func Document(formula string) (*Documented, error) {
	d := &Documented{definitions: map[string]*node{}}
	for i, part := range topLevel(formula) {
		name, text, found := strings.Cut(part, " = ")
		if name = strings.TrimSpace(name); !found || strings.ContainsAny(name, " "+operators) || i == 0 && name != Value {
			return nil, fmt.Errorf("%q is not a name, = and a formula", strings.TrimSpace(part))
		}
		text, err := arithmetic(text)
		if err != nil {
			return nil, err
		}
		n, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s = %s: %w", name, text, err)
		}
		if i == 0 {
			d.value = n
		} else {
			d.definitions[name] = n
		}
	}
	return d, nil
}

// Value is the formula on the terms of a token and on these parameters of the method. An
// error is of a name that nothing gives.
func (d *Documented) Value(k *Token, parameters map[string]float64) (float64, error) {
	t := New([]int{0, 1})
	terms := t.Tokens[0]
	for _, given := range k.Terms {
		if given.Formula == "" { // what the method computed is not asked
			terms.Terms = append(terms.Terms, given)
		}
	}
	for name, x := range parameters {
		if _, ok := terms.Find(name); !ok {
			terms.Terms = append(terms.Terms, Term{Name: name, Value: Number(x)})
		}
	}
	n, err := d.inserted(d.value, len(d.definitions))
	if err != nil {
		return 0, err
	}
	return n.eval(&terms)
}

// inserted is a formula with definitions in the place of their names, so many deep.
func (d *Documented) inserted(n *node, depth int) (*node, error) {
	if n.kind == name {
		definition, ok := d.definitions[n.op]
		if !ok {
			return n, nil
		}
		if depth == 0 {
			return nil, fmt.Errorf("%s is defined by itself", n.op)
		}
		return d.inserted(definition, depth-1)
	}
	if _, ok := folds[n.op]; ok && n.kind == call {
		return nil, fmt.Errorf("%s takes other tokens in", n.op)
	}
	c := *n
	c.parts = make([]*node, len(n.parts))
	for i, p := range n.parts {
		var err error
		if c.parts[i], err = d.inserted(p, depth); err != nil {
			return nil, err
		}
	}
	return &c, nil
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
