package trace

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Branch is what became of a token.
type Branch string

// The branches. Those without a gradient are flat.
const (
	// Kept takes the formula as it is.
	Kept Branch = "kept"
	// Capped has its weight bounded and keeps a gradient.
	Capped Branch = "weight capped"
	// ClippedHigh and ClippedLow left the band on the harmful side.
	ClippedHigh Branch = "clipped above"
	ClippedLow  Branch = "clipped below"
	// DualClipped is bounded on a negative advantage.
	DualClipped Branch = "dual clip"
	// Bounded has a ratio above another bound, which ends its gradient.
	Bounded Branch = "ratio bounded"
	// PenaltyOnly has lost its policy term, or that its slope, and keeps a penalty.
	PenaltyOnly Branch = "penalty only"
	// Clamped has a log-ratio beyond what is exponentiated.
	Clamped Branch = "log-ratio clamped"
	// Dropped is left out by the method's own rule.
	Dropped Branch = "dropped"
	// Rejected is left out by a mask.
	Rejected Branch = "rejected"
)

// Number is a value that JSON may not have a number for.
type Number float64

// MarshalJSON writes what is not finite as a word.
func (x Number) MarshalJSON() ([]byte, error) {
	if v := float64(x); math.IsInf(v, 0) || math.IsNaN(v) {
		return strconv.AppendQuote(nil, x.String()), nil
	}
	return strconv.AppendFloat(nil, float64(x)+0, 'g', -1, 64), nil
}

// String shows six digits, and zero without a sign.
func (x Number) String() string { return strconv.FormatFloat(float64(x)+0, 'g', 6, 64) }

// Term is one figure of a token.
type Term struct {
	Name string `json:"name"`
	// Formula gives it in the terms before it; empty for what the method was given, or
	// found in a way that is no formula, such as a search.
	Formula string `json:"formula,omitempty"`
	Value   Number `json:"value"`
}

// The names of the last terms of a token: the value of its loss and the derivative with
// respect to its log-prob, before and with its weight in the loss of the batch.
const (
	Value   = "L"
	Slope   = "dL"
	Share   = "loss"
	Grad    = "grad"
	Keeping = "keep" // 1 or 0, of a mask
)

// Token is what a method did with one token.
type Token struct {
	// Response and Position say which it is.
	Response int `json:"response"`
	Position int `json:"position"`
	// Branch is the one it took.
	Branch Branch `json:"branch"`
	Terms  []Term `json:"terms"`

	at, n        int // the entry of its response's first token, and its own
	value, slope string
	trace        *Trace
}

// Trace is what a method did with the tokens of a batch.
type Trace struct {
	// Tokens are all of the batch; one that does not count has no terms.
	Tokens []Token
	// Rest is what the loss has in addition to them, such as a constant.
	Rest []Term
}

// New begins the trace of a batch whose responses have these offsets.
func New(offsets []int) *Trace {
	t := &Trace{Tokens: make([]Token, offsets[len(offsets)-1])}
	for i, from := range offsets[:len(offsets)-1] {
		for n := from; n < offsets[i+1]; n++ {
			t.Tokens[n] = Token{Response: i, Position: n - from, at: from, n: n, trace: t}
		}
	}
	return t
}

// Add notes a figure of token n.
func (t *Trace) Add(n int, name, formula string, value float64) {
	t.Tokens[n].Terms = append(t.Tokens[n].Terms, Term{name, formula, Number(value)})
}

// derive notes a figure of token n that the method did not compute on its way.
func (t *Trace) derive(n int, name, formula string) error {
	p, err := parse(formula)
	if err != nil {
		return fmt.Errorf("trace: %s = %s: %w", name, formula, err)
	}
	x, err := p.eval(&t.Tokens[n])
	t.Add(n, name, formula, x)
	return err
}

// Result is the value of a token's term in a loss, and its derivative.
type Result struct{ Value, Slope float64 }

// Conclude notes value and slope of token n by the formulas of its branch: those that the
// method computed, or where that is nil those of the formulas.
func (t *Trace) Conclude(n int, computed *Result) error {
	k := &t.Tokens[n]
	if computed != nil {
		t.Add(n, Value, k.value, computed.Value)
		t.Add(n, Slope, k.slope, computed.Slope)
		return nil
	}
	if err := t.derive(n, Value, k.value); err != nil {
		return err
	}
	return t.derive(n, Slope, k.slope)
}

// Find returns the last term of that name, and whether there is one.
func (k *Token) Find(name string) (Term, bool) {
	for i := len(k.Terms) - 1; i >= 0; i-- {
		if k.Terms[i].Name == name {
			return k.Terms[i], true
		}
	}
	return Term{}, false
}

// before is the token with the terms before the i-th alone.
func (k *Token) before(i int) *Token {
	b := *k
	b.Terms = k.Terms[:i]
	return &b
}

// evaluate works the formula of the i-th term out, on the terms before it.
func (k *Token) evaluate(i int) (float64, error) {
	n, err := parse(k.Terms[i].Formula)
	if err == nil && n.names(k.Terms[i].Name) {
		err = errors.New("it stands in its own formula")
	}
	if err != nil {
		return 0, err
	}
	return n.eval(k.before(i))
}

func (k *Token) response() []*Token {
	var list []*Token
	all := k.trace.Tokens
	for n := k.at; n < len(all) && all[n].at == k.at; n++ {
		if len(all[n].Terms) > 0 {
			list = append(list, &all[n])
		}
	}
	return list
}

// Check evaluates every formula again. The error names the first term that has another
// value than its formula, or a branch that does not go with its gradient.
func (t *Trace) Check() error {
	for n := range t.Tokens {
		k := &t.Tokens[n]
		for i, term := range k.Terms {
			if term.Formula == "" {
				if term.Name == Value || term.Name == Slope {
					return fmt.Errorf("trace: token %d of response %d: no formula of %s", k.Position, k.Response, term.Name)
				}
				continue
			}
			got, err := k.evaluate(i)
			if err != nil {
				return fmt.Errorf("trace: token %d of response %d: %s = %s: %w", k.Position, k.Response, term.Name, term.Formula, err)
			}
			if !Agree(got, float64(term.Value)) {
				return fmt.Errorf("trace: token %d of response %d: %s = %s is %v, and the method has %v", k.Position, k.Response, term.Name, term.Formula, got, term.Value)
			}
			if term.Name == Slope && slices.Contains([]Branch{Kept, Capped, PenaltyOnly, ""}, k.Branch) == (term.Formula == "0") {
				return fmt.Errorf("trace: token %d of response %d: %s, with the slope %s", k.Position, k.Response, k.Branch, term.Formula)
			}
		}
	}
	return nil
}

// Agree reports whether two figures are equal but for the rounding of sums in another order.
func Agree(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

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

// within is the text of what stands after a sign: a negative number is in brackets.
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
