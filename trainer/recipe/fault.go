package recipe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Fault is one thing wrong with a recipe.
type Fault struct {
	// Source is where the value was written: a file's name, or "--set path=value".
	// Empty where the recipe was built by code.
	Source string
	// Line is the line in the file, from 1; 0 where there is none.
	Line int
	// Path is the field, such as learner.optimizer.lr or correction.masks[0].low;
	// empty for a fault of the text as a whole.
	Path string
	// Problem says what is wrong and, where it can, what to write instead.
	Problem string
}

// Error is one line: source:line: path: problem. Characters that a terminal
// would act on, in a file's name or a field's, are escaped.
func (f Fault) Error() string {
	var b strings.Builder
	if f.Source != "" {
		b.WriteString(f.Source)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
		b.WriteString(": ")
	}
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(f.Problem)
	return visible(b.String())
}

// visible escapes control characters, and those that turn the direction of
// writing, as Go does.
func visible(text string) string {
	if !strings.ContainsFunc(text, isHidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isHidden(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isHidden(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Faults is everything wrong with a recipe, in the order of the text; the
// first is the headline. It is never empty as an error.
type Faults []Fault

// Error is one line per fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// orNil returns f as an error, nil if there is no fault. Faults that come from
// lines are put into their order.
func (f Faults) orNil() error {
	if len(f) == 0 {
		return nil
	}
	slices.SortStableFunc(f, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	return f
}
