package trace

import (
	"fmt"
	"math"
	"strconv"
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
	Name  string `json:"name"`
	Value Number `json:"value"`
}

// The names of the last terms of a token: the value of its loss and the derivative with
// respect to its log-prob, before and with its weight in the loss of the batch; and the
// derivative again, as a difference of two losses.
const (
	Value      = "L"
	Slope      = "dL"
	Share      = "loss"
	Grad       = "grad"
	Difference = "difference"
	Keeping    = "keep" // 1 or 0, of a mask
)

// Token is what a method did with one token.
type Token struct {
	// Response and Position say which it is.
	Response int `json:"response"`
	Position int `json:"position"`
	// Branch is the one it took.
	Branch Branch `json:"branch"`
	Terms  []Term `json:"terms"`
}

// Trace is what a method did with the tokens of a batch.
type Trace struct {
	// Tokens are all of the batch; one that does not count has no terms.
	Tokens []Token
	// Rest is what the loss has in addition to them, such as a term of a whole response.
	Rest []Term
}

// New begins the trace of a batch whose responses have these offsets.
func New(offsets []int) *Trace {
	t := &Trace{Tokens: make([]Token, offsets[len(offsets)-1])}
	for i, from := range offsets[:len(offsets)-1] {
		for n := from; n < offsets[i+1]; n++ {
			t.Tokens[n] = Token{Response: i, Position: n - from}
		}
	}
	return t
}

// Add notes a figure of token n.
func (t *Trace) Add(n int, name string, value float64) {
	t.Tokens[n].Terms = append(t.Tokens[n].Terms, Term{name, Number(value)})
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

// Agree reports whether two figures are equal but for the rounding of sums in another order.
func Agree(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

// Lines shows the terms of a token, one a line, and the branch at the end of that of the
// loss, the weight or the decision. Of two terms of one name it shows the later.
func (k *Token) Lines() []string {
	var lines []string
	_, valued := k.Find(Share)
	for i, term := range k.Terms {
		if _, again := (&Token{Terms: k.Terms[i+1:]}).Find(term.Name); again {
			continue
		}
		line := term.Name + " = " + term.Value.String()
		if term.Name == Share || i == len(k.Terms)-1 && !valued {
			line += fmt.Sprintf("   (%s)", k.Branch)
		}
		lines = append(lines, line)
	}
	return lines
}
