package golden

import (
	"fmt"
	"math"
	"slices"
)

// tolerance is the largest accepted difference: relative to the expected number,
// absolute where that is below 1. The figures are of that size, and what cancels
// to less has lost the digits of its terms.
const tolerance = 1e-9

// singleTolerance is the same where log-probs of distributions were rounded to float32: some
// 16 of the largest of them, below 16, each off by half a unit of 2^-20.
const singleTolerance = 16 * 0x1p-21

// Check collects the comparisons of one case.
type Check struct {
	c        *Case
	seen     map[string]bool
	failures []string
	compared int
	listed   int
	listings Listings
	tally    tally
	// single says that the case's distributions pass through the batch's float32 columns.
	single bool
}

// guarded turns a panic, as of a matcher or of a listing's condition that asks for an
// input the case does not have, into a failure of the case.
func (k *Check) guarded(do func()) {
	defer func() {
		if r := recover(); r != nil {
			k.Fail("panic: %v", r)
		}
	}()
	do()
}

// run gives the case to the first matcher that covers it, and returns which; -1 is none.
func (k *Check) run(matchers []Matcher) int {
	for i, m := range matchers {
		if covers(k.c, m.File, m.Source) {
			m.Match(k.c, k)
			if k.compared == 0 && k.listed == 0 {
				k.Fail("the matcher compared nothing")
			}
			return i
		}
	}
	k.Fail("no matcher covers it and it is not listed")
	return -1
}

// unclaimed reports the outputs that were neither compared nor listed.
func (k *Check) unclaimed() {
	var missing []string
	visit := func(output string) {
		if k.seen[output] {
			return
		}
		if k.listings.of(k.c, output) != nil {
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

// OK reports whether there is no error, and records it as a failure of the case if there is one.
func (k *Check) OK(err error) bool {
	if err != nil {
		k.Fail("%v", err)
	}
	return err == nil
}

// Scalar compares the number under output.
func (k *Check) Scalar(output string, got float64) { k.Scaled(output, got, 0) }

// Scaled compares the number under output, which is a sum whose largest term
// is scale: cancellation leaves no more digits than the terms had.
func (k *Check) Scaled(output string, got, scale float64) {
	k.hold(output, func() { k.number(output, got, k.c.Outputs[output], scale) })
}

// Metric compares the number under name within the object output, as in
// Metric("metrics", "actor/ppo_kl", x).
func (k *Check) Metric(output, name string, got float64) {
	output, want := output+"/"+name, k.c.Outputs.Sub(output)[name]
	k.hold(output, func() { k.number(output, got, want, 0) })
}

// MetricMean compares the mean of the list under name within the object
// output, which the reference logs entry by entry.
func (k *Check) MetricMean(output, name string, got float64) {
	list := k.c.Outputs.Sub(output)
	output += "/" + name
	k.hold(output, func() {
		sum, all := 0.0, list.Flat(name)
		for _, x := range all {
			sum += x
		}
		k.compare(output+" (mean)", got, sum/float64(max(len(all), 1)), 0)
	})
}

// MetricVector compares the list under name within the object output.
func (k *Check) MetricVector(output, name string, got []float64) {
	list := k.c.Outputs.Sub(output)
	output += "/" + name
	k.hold(output, func() { k.vector(output, got, list.Flat(name)) })
}

// Vector compares the numbers under output in row-major order, whatever their
// nesting; null is none, as where a reference implementation had nothing to draw from.
func (k *Check) Vector(output string, got []float64) {
	k.hold(output, func() { k.vector(output, got, k.c.Outputs.FlatOr(output)) })
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

// Error asserts that the reference's call raised an error, as ours did; the kinds
// and texts of two languages cannot be compared.
func (k *Check) Error(err error) {
	k.claim("error")
	k.claim("message")
	if k.c.Raised() != (err != nil) {
		k.Fail("error: got %v, want %v", err, k.c.Outputs["error"])
	}
}

// hold claims an output and makes its comparison. If the output is listed, a
// difference is no failure, but the listing is charged with what came out.
func (k *Check) hold(output string, compare func()) {
	l := k.listings.of(k.c, output)
	if l == nil {
		k.claim(output)
		compare()
		return
	}
	if !k.seen[output] {
		k.seen[output] = true
		k.listed++
	}
	before := len(k.failures)
	func() {
		defer func() {
			if r := recover(); r != nil {
				k.Fail("%s: %v", output, r)
			}
		}()
		compare()
	}()
	k.tally.add(l, len(k.failures) > before)
	k.failures = k.failures[:before]
}

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

// number compares with an entry of the case that must be a number.
func (k *Check) number(output string, got float64, entry any, scale float64) {
	want, ok := number(entry)
	if !ok {
		k.Fail("%s: the case has no such number", output)
		return
	}
	k.compare(output, got, want, scale)
}

func (k *Check) compare(where string, got, want, scale float64) {
	if k.single && math.Abs(got-want) <= float64(singleTolerance*max(math.Abs(want), 1)) {
		return
	}
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
	return math.Abs(got-want) <= float64(tolerance*max(math.Abs(want), 1))+float64(0x1p-48*scale)
}
