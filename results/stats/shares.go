package stats

// TShares is the mean difference a[i]-b[i] of paired shares, such as the pass rates of
// two arms by seed: T of the differences, within what two means of shares allow. It
// panics on lengths that differ.
func TShares(a, b []float64) Interval { return T(Differences(a, b)).WithinShares(a, b) }

// WithinShares cuts the interval of a difference, mean of a minus mean of b, to the
// values that it can have when both means lie in 0 to 1. With the mean of b known, the
// difference is at least -b and at most 1-b; with the mean of a known, at least a-1 and
// at most a. Neither mean is known, so each bound takes that end of T's interval of
// the mean which cuts least.
//
// Values that are impossible leave the interval, and an interval loses no coverage by
// that: the intersection with the parameter space, for which see Mandelkern,
// Statistical Science 17 (2002), 149. The estimate stays, and so does an interval that
// reaches no bound. A transformation such as the inverse hyperbolic tangent, or
// Wilson's interval with the variance of the data, would respect the range too, but
// moves the intervals that no bound concerns.
func (i Interval) WithinShares(a, b []float64) Interval {
	if i.N < 2 {
		return i
	}
	of, from := T(a), T(b)
	i.Low = max(i.Low, -min(from.High, 1), max(of.Low, 0)-1)
	i.High = min(i.High, 1-max(from.Low, 0), min(of.High, 1))
	return i
}
