package diagnose

import "fmt"

const (
	// aboveOne is a log-prob of a probability that is above 1 by more than rounding.
	aboveOne = 1e-3
	// neverSampled is a log-prob of a token that no run samples: its chance is e⁻¹⁰⁰.
	neverSampled = -100
	// overscale is the size from which a number is no log-prob in any unit, nor a sum of log-probs: it is taken for not finite.
	overscale = 1e6
)

// isLogp reports whether a number can be measured as a log-prob, in whatever unit.
func isLogp(x float64) bool { return x >= -overscale && x <= overscale }

// impossibleValue finds single values that no softmax gives to a token that was sampled, and says where they are. A column
// that is full of them has other units or another sign, which the check before finds.
type impossibleValue struct {
	tokens, found int
	first         string
}

func (c *impossibleValue) add(v *view) {
	c.tokens += len(v.ok)
	for _, column := range [...]struct {
		name   string
		values []float64
	}{{"rollout", v.roll}, {"learner's", v.old}} {
		if flat(column.values) {
			continue // not a value per token
		}
		for i, x := range column.values {
			if x <= aboveOne && x >= neverSampled {
				continue
			}
			if c.found++; c.found == 1 {
				c.first = fmt.Sprintf("%s: the %s log-prob of token %d is %.6g", v.place(), column.name, v.ok[i]+1, x)
			}
		}
	}
}

func (c *impossibleValue) judge(e *evidence) outcome {
	value := share(c.found, c.tokens)
	switch {
	case e.failed("column-not-real") || e.failed("sign-units"):
		return notApplicable("the values are not natural log-probs of tokens")
	case c.found == 0:
		return pass(value, "")
	}
	return fail(value, fmt.Sprintf("%s; %s above 0 or below %d in all", c.first, count(c.found, "value"), neverSampled),
		"find out what wrote it: a probability is at most 1, and a token with one of e^-100 is never sampled; mask it until then")
}

// place is the file and the line, or the sample, of the row.
func (v *view) place() string { return fmt.Sprintf("%s:%d", v.file, v.row.Line) }
