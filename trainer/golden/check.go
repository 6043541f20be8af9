package golden

import (
	"fmt"
	"math"
	"slices"
)

// Tolerance is the largest accepted difference, relative to the expected
// number; a number below Floor is held to Tolerance times Floor.
const (
	Tolerance = 1e-9
	Floor     = 1e-3
)

// Check collects the comparisons of one case.
type Check struct {
	c        *Case
	seen     map[string]bool
	failures []string
	compared int
	listed   int
}

// run gives the case to its matcher and turns panics into failures.
func (k *Check) run(matchers []Matcher) {
	defer func() {
		if r := recover(); r != nil {
			k.Fail("panic: %v", r)
		}
	}()
	for _, m := range matchers {
		if covers(k.c, m.File, m.Source) {
			m.Match(k.c, k)
			if k.compared == 0 && k.listed == 0 {
				k.Fail("the matcher compared nothing")
			}
			return
		}
	}
	k.Fail("no matcher covers it and it is not listed")
}

// unclaimed reports the outputs that were neither compared nor listed.
func (k *Check) unclaimed() {
	var missing []string
	visit := func(output string) {
		if k.seen[output] {
			return
		}
		if listed(k.c, output) != nil {
			k.listed++
			return
		}
		missing = append(missing, output)
	}
	for key, value := range k.c.Outputs {
		inner, ok := value.(map[string]any)
		if !ok || k.seen[key] {
			visit(key)
			continue
		}
		for name := range inner {
			visit(key + "/" + name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		k.Fail("outputs neither compared nor listed: %q", missing)
	}
}

// Fail records a failure of the case.
func (k *Check) Fail(format string, args ...any) {
	k.failures = append(k.failures, fmt.Sprintf(format, args...))
}

// Scalar compares the number under output.
func (k *Check) Scalar(output string, got float64) { k.Scaled(output, got, 0) }

// Scaled compares the number under output, which is a sum whose largest term
// is scale: cancellation leaves no more digits than the terms had.
func (k *Check) Scaled(output string, got, scale float64) {
	if k.excused(output) {
		return
	}
	want, ok := number(k.c.Outputs[output])
	if !ok {
		k.Fail("%s: the case has no such number", output)
		return
	}
	k.claim(output)
	k.compare(output, got, want, scale)
}

// Metric compares the number under name within the object output, as in
// Metric("metrics", "actor/ppo_kl", x).
func (k *Check) Metric(output, name string, got float64) {
	if k.excused(output + "/" + name) {
		return
	}
	want, ok := number(k.c.Outputs.Sub(output)[name])
	if !ok {
		k.Fail("%s/%s: the case has no such number", output, name)
		return
	}
	k.claim(output + "/" + name)
	k.compare(output+"/"+name, got, want, 0)
}

// MetricMean compares the mean of the list under name within the object
// output, which the peer logs entry by entry.
func (k *Check) MetricMean(output, name string, got float64) {
	if k.excused(output + "/" + name) {
		return
	}
	list, sum := k.c.Outputs.Sub(output).Flat(name), 0.0
	for _, x := range list {
		sum += x
	}
	k.claim(output + "/" + name)
	k.compare(output+"/"+name+" (mean)", got, sum/float64(max(len(list), 1)), 0)
}

// MetricVector compares the list under name within the object output.
func (k *Check) MetricVector(output, name string, got []float64) {
	if k.excused(output + "/" + name) {
		return
	}
	k.claim(output + "/" + name)
	k.vector(output+"/"+name, got, k.c.Outputs.Sub(output).Flat(name))
}

// Vector compares the numbers under output in row-major order, whatever their nesting.
func (k *Check) Vector(output string, got []float64) {
	if k.excused(output) {
		return
	}
	k.claim(output)
	k.vector(output, got, k.c.Outputs.Flat(output))
}

// Mask compares a matrix of 0 and 1 under output.
func (k *Check) Mask(output string, got []bool) {
	x := make([]float64, len(got))
	for i, m := range got {
		if m {
			x[i] = 1
		}
	}
	k.Vector(output, x)
}

// Equal compares a string, a truth value or null under output.
func (k *Check) Equal(output string, got any) {
	k.claim(output)
	if want := k.c.Outputs[output]; got != want {
		k.Fail("%s: got %v, want %v", output, got, want)
	}
}

// MetricEqual compares a string, a truth value or null under name within the object output.
func (k *Check) MetricEqual(output, name string, got any) {
	k.claim(output + "/" + name)
	if want := k.c.Outputs.Sub(output)[name]; got != want {
		k.Fail("%s/%s: got %v, want %v", output, name, got, want)
	}
}

// Error asserts that the peer's call raised an error, as ours did; the kinds
// and texts of two languages cannot be compared.
func (k *Check) Error(err error) {
	k.claim("error")
	k.claim("message")
	if _, raised := k.c.Outputs["error"]; raised != (err != nil) {
		k.Fail("error: got %v, want %v", err, k.c.Outputs["error"])
	}
}

// excused reports whether the output is listed, and marks it as accounted for.
func (k *Check) excused(output string) bool {
	if listed(k.c, output) == nil {
		return false
	}
	if !k.seen[output] {
		k.seen[output] = true
		k.listed++
	}
	return true
}

// claim marks an output as compared.
func (k *Check) claim(output string) {
	k.seen[output] = true
	k.compared++
}

// vector compares two lists, shapes first.
func (k *Check) vector(output string, got, want []float64) {
	if len(got) != len(want) {
		k.Fail("%s: got %d numbers, want %d", output, len(got), len(want))
		return
	}
	before := len(k.failures)
	for i := range got {
		k.compare(fmt.Sprintf("%s[%d]", output, i), got[i], want[i], 0)
		if len(k.failures) > before+3 {
			return
		}
	}
}

// compare holds one number to the tolerance.
func (k *Check) compare(where string, got, want, scale float64) {
	if !Close(got, want, scale) {
		k.Fail("%s: got %.17g, want %.17g", where, got, want)
	}
}

// Close reports whether got is want to within the tolerance. Non-finite
// numbers must be the same one. A scale above zero allows for cancellation
// among terms of that size: 16 units in their last place.
func Close(got, want, scale float64) bool {
	if math.IsNaN(want) || math.IsInf(want, 0) {
		return got == want || math.IsNaN(got) && math.IsNaN(want)
	}
	return math.Abs(got-want) <= Tolerance*max(math.Abs(want), Floor)+0x1p-48*scale
}
