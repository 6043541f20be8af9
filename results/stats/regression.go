package stats

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"driftlab/precision/elementary"
)

// Regress is the least-squares fit of y = intercept + Σ_k slopes[k]·x[k]. It
// panics where the columns do not determine it.
func Regress(y []float64, x ...[]float64) (intercept float64, slopes []float64) {
	for _, column := range x {
		paired("Regress", column, y)
	}
	beta, ok := Solve(append([][]float64{ones(len(y))}, x...), y)
	if !ok {
		panic(fmt.Sprintf("stats: Regress on %d columns of %d: they do not determine it", len(x), len(y)))
	}
	return beta[0], beta[1:]
}

// Fitted is a linear function of the coefficients of Regress with its interval by Student's t on the n - p degrees of freedom of the
// residuals: of itself or, if observation is set, of a new observation there, which has the residuals' spread in addition. The ends are
// NaN where no residual is left.
func Fitted(y []float64, x [][]float64, observation bool, of func(intercept float64, slopes []float64) float64) Interval {
	intercept, slopes := Regress(y, x...)
	i := Interval{Estimate: of(intercept, slopes), N: len(y)}
	residuals, weights := slices.Clone(y), 0.0 // of the observations in the function, squared
	for k := range y {
		unit := make([]float64, len(y))
		unit[k] = 1
		w := of(Regress(unit, x...))
		weights += float64(w * w)
		residuals[k] -= intercept
		for j := range x {
			residuals[k] -= float64(slopes[j] * x[j][k])
		}
	}
	if observation {
		weights++
	}
	degrees := float64(len(y) - 1 - len(x))
	half := StudentQuantile(degrees) * math.Sqrt(float64(weights*Dot(residuals, residuals)/degrees))
	if degrees < 1 {
		half = math.NaN()
	}
	i.Low, i.High = i.Estimate-half, i.Estimate+half
	return i
}

// Solve returns the x for which Σ_k columns[k]·x[k] comes nearest to b in the
// sum of squares, by Householder's reflections: the solution where there are as
// many columns as rows. It reports whether the columns determine x, and leaves
// them as they are.
func Solve(columns [][]float64, b []float64) (x []float64, ok bool) {
	n := len(columns)
	if n > len(b) {
		return nil, false
	}
	a := make([][]float64, n+1) // the last is b
	for k := range n {
		a[k] = slices.Clone(columns[k])
	}
	a[n] = slices.Clone(b)
	diagonal := make([]float64, n)
	for k := range n {
		v, whole := a[k][k:], math.Sqrt(Dot(a[k], a[k]))
		size := math.Sqrt(Dot(v, v))
		if !(size > 1e-14*whole) {
			return nil, false
		}
		diagonal[k] = -math.Copysign(size, v[0])
		v[0] -= diagonal[k]
		square := Dot(v, v)
		for _, column := range a[k+1:] {
			scale := 2 * Dot(v, column[k:]) / square
			for i := range v {
				column[k+i] -= float64(scale * v[i])
			}
		}
	}
	x = a[n][:n]
	for k := n - 1; k >= 0; k-- {
		for j := k + 1; j < n; j++ {
			x[k] -= float64(a[j][k] * x[j])
		}
		x[k] /= diagonal[k]
	}
	return x, true
}

// AUC is the area under the learning curve y at increasing x by the rule of the
// trapezium, divided by the width: the mean height, in the unit of y. One point
// is its own height. It panics on lengths that differ.
func AUC(x, y []float64) float64 {
	paired("AUC", x, y)
	if len(x) == 1 {
		return y[0]
	}
	area := 0.0
	for i := 1; i < len(x); i++ {
		area += float64((x[i] - x[i-1]) * (y[i-1] + y[i]) / 2)
	}
	return area / (x[len(x)-1] - x[0])
}

// Average is the arithmetic mean; 0 where the values cancel but for the rounding of their sum.
func Average(x []float64) float64 {
	sum, size := 0.0, 0.0
	for _, v := range x {
		sum += v
		size += math.Abs(v)
	}
	if math.Abs(sum) < float64(len(x))*0x1p-51*size { // Higham, Accuracy and Stability of Numerical Algorithms, 4.4, for values that are differences
		return 0
	}
	return float64(sum / float64(len(x)))
}

// Deviation is the standard deviation, unbiased in its square.
func Deviation(x []float64) float64 {
	m, square := Average(x), 0.0
	for _, v := range x {
		square += float64((v - m) * (v - m))
	}
	return math.Sqrt(square / float64(len(x)-1))
}

// Quantile interpolates linearly between the order statistics of a sorted list that is not
// empty (R's type 7, and torch.quantile).
func Quantile(sorted []float64, q float64) float64 {
	at := float64(q * float64(len(sorted)-1))
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	a, b := sorted[i], sorted[i+1]
	share := at - float64(i)
	if a == b || share == 0 {
		return a // also infinities, whose difference is NaN
	}
	return a + float64((b-a)*share)
}

// Median is the middle value of a list, or the mean of the two middle ones.
func Median(x []float64) float64 {
	order := Order(x)
	n := len(x)
	return (x[order[(n-1)/2]] + x[order[n/2]]) / 2
}

// Each applies a function to each entry.
func Each(x []float64, of func(float64) float64) []float64 { return Map(x, of) }

// Map applies a function to each entry of a list of any type.
func Map[T, U any](list []T, of func(T) U) []U {
	made := make([]U, len(list))
	for i, x := range list {
		made[i] = of(x)
	}
	return made
}

// Logs takes the natural logarithm of each entry.
func Logs(x []float64) []float64 { return Each(x, elementary.Log) }

// Digits rounds to n significant digits.
func Digits(v float64, n int) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64)
	if err != nil {
		return v // it says so of what is beyond the largest number
	}
	return short
}

// Magnitudes are the entries without their signs.
func Magnitudes(x []float64) []float64 { return Each(x, math.Abs) }

// Complement is 1 - x.
func Complement(x []float64) []float64 { return Each(x, func(v float64) float64 { return 1 - v }) }

// Negated is -x.
func Negated(x []float64) []float64 { return Each(x, func(v float64) float64 { return -v }) }

// Quotients are the quotients of the pairs.
func Quotients(a, b []float64) []float64 {
	q := make([]float64, len(a))
	for i := range a {
		q[i] = a[i] / b[i]
	}
	return q
}

// Max is the largest value; minus infinity for an empty list.
func Max(x []float64) float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

// Dot is the sum of the products.
func Dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return sum
}

// Order returns the indices of x in increasing order of its values, equal ones
// in their own order.
func Order(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	return order
}

// Edges are the inner edges of bins with equally many of the values.
func Edges(x []float64, bins int) []float64 {
	sorted := slices.Clone(x)
	slices.SortFunc(sorted, cmp.Compare[float64])
	edges := make([]float64, bins-1)
	for k := range edges {
		edges[k] = sorted[(k+1)*len(sorted)/bins]
	}
	return edges
}

// Trial is a run at a learning rate that succeeded or did not. Trials of one unit, such as a base model, are
// not independent.
type Trial struct {
	// Unit and Rate say which run it is.
	Unit uint64
	Rate float64
	// Success is the outcome.
	Success bool
}

// Limit is the rate at which half of the trials succeed, by a logistic in the logarithm of the rate, where success becomes
// rarer with the rate. A limit outside the rates that were tried is not a number but a range: From the highest rate to
// infinity where more than half succeed there, 0 to To where fewer than half do at the lowest rate.
type Limit struct {
	// From and To are equal where the limit is known.
	From, To float64
	// Low and High are the percentile interval of the bootstrap over units, by the ends of the ranges. A draw in which every
	// trial succeeds up to one rate and none from the next one on says no more than that the limit lies between the two.
	Low, High float64
	// Units is the number of units.
	Units int
	// P is of a ratio the two-sided p-value that it is 1: twice the smaller share of the draws that are not clearly on the other side.
	P float64
}

// Known reports whether the limit is a number.
func (l Limit) Known() bool { return l.From == l.To }

// LimitOf is the limit of one arm.
func LimitOf(trials []Trial) Limit {
	units := unitsOf(trials)
	d := newRates(trials, units)
	return bootstrapLimits(len(units), d.limit)
}

// LimitRange is the limit of one arm without its interval: From and To of LimitOf, which fits each resample too.
func LimitRange(trials []Trial) (from, to float64) {
	units := unitsOf(trials)
	whole := newRates(trials, units).limit(ones(len(units)))
	return whole.from, whole.to
}

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// LimitRatio is the limit of an arm over that of another, over the units that both have: each resample of the bootstrap takes
// the same units of both. The limits are ranges where the trials give no number, and so is their ratio.
func LimitRatio(a, b []Trial) Limit {
	other := unitsOf(b)
	units := slices.DeleteFunc(unitsOf(a), func(u uint64) bool { return !slices.Contains(other, u) })
	da, db := newRates(a, units), newRates(b, units)
	return bootstrapLimits(len(units), func(weight []float64) drawn {
		x, y := da.limit(weight), db.limit(weight)
		return drawn{quotient(x.from, y.to), quotient(x.to, y.from), quotient(x.low, y.high), quotient(x.high, y.low)}
	})
}

// quotient is a/b of two ends of ranges, of which 0/anything is 0 and anything/0 or infinity/anything infinite.
func quotient(a, b float64) float64 {
	switch {
	case a == 0 || math.IsInf(b, 1):
		return 0
	case math.IsInf(a, 1) || b == 0:
		return math.Inf(1)
	}
	return a / b
}

// drawn is the limit of one resample: from and to as in a Limit, and low and high between which the trials leave it.
type drawn struct{ from, to, low, high float64 }

// bootstrapLimits is a range with the percentile interval over units.
func bootstrapLimits(units int, of func(weight []float64) drawn) Limit {
	weight := ones(units)
	whole := of(weight)
	l := Limit{From: whole.from, To: whole.to, Low: whole.low, High: whole.high, Units: units, P: math.NaN()}
	if units < 2 {
		return l
	}
	rng := rand.New(rand.NewPCG(bootstrapSeed, uint64(units)))
	var low, high []float64
	for range limitResamples {
		clear(weight)
		for range units {
			weight[rng.IntN(units)]++
		}
		draw := of(weight)
		low, high = append(low, draw.low), append(high, draw.high)
	}
	slices.Sort(low)
	slices.Sort(high)
	above, _ := slices.BinarySearch(low, math.Nextafter(1, 2)) // draws whose lower end is at most 1
	below, _ := slices.BinarySearch(high, 1.0)
	below = limitResamples - below // draws whose upper end is at least 1
	l.P = min(1, float64(2*float64(min(above, below)+1)/(limitResamples+1)))
	// Order statistics: between a number and infinity there is nothing to interpolate.
	const tail = int((1 - level) / 2 * limitResamples)
	l.Low, l.High = low[tail], high[limitResamples-1-tail]
	return l
}

// limitResamples bounds the bootstrap of a limit, each draw of which is a fit. The error of a percentile, some 0.2 % of the
// draws, is far below the width of a rung.
const limitResamples = 2000

// rates are the trials of an arm by rate and unit.
type rates struct {
	at    []float64      // increasing
	count [][][2]float64 // by rate and unit: successes and trials
	found map[string]drawn
}

// unitsOf are the units of trials, in order.
func unitsOf(trials []Trial) []uint64 {
	units := Map(trials, func(t Trial) uint64 { return t.Unit })
	slices.Sort(units)
	return slices.Compact(units)
}

func newRates(trials []Trial, units []uint64) *rates {
	d := &rates{found: map[string]drawn{}}
	sorted := slices.Clone(trials)
	slices.SortStableFunc(sorted, func(a, b Trial) int { return cmp.Compare(a.Rate, b.Rate) })
	for _, t := range sorted {
		unit, ok := slices.BinarySearch(units, t.Unit)
		if !ok {
			continue
		}
		if n := len(d.at); n == 0 || d.at[n-1] != t.Rate {
			d.at, d.count = append(d.at, t.Rate), append(d.count, make([][2]float64, len(units)))
		}
		c := &d.count[len(d.count)-1][unit]
		if t.Success {
			c[0]++
		}
		c[1]++
	}
	return d
}

// limit is the range of the limit where each unit counts as often as its weight says. Resamples with the same counts have the same one.
func (d *rates) limit(weight []float64) drawn {
	var key []byte
	x, successes, trials := make([]float64, 0, len(d.at)), make([]float64, 0, len(d.at)), make([]float64, 0, len(d.at))
	var all, of float64
	for i, rate := range d.at {
		var s, n float64
		for u, w := range weight {
			s, n = s+float64(w*d.count[i][u][0]), n+float64(w*d.count[i][u][1])
		}
		key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(s)), uint64(n))
		if n > 0 {
			x, successes, trials = append(x, rate), append(successes, s), append(trials, n)
			all, of = all+s, of+n
		}
	}
	known, ok := d.found[string(key)]
	if !ok {
		known = limitRange(x, successes, trials, all, of)
		d.found[string(key)] = known
	}
	return known
}

// limitRange is the range of the limit of shares of successes at increasing rates; all and of are the totals of successes and trials.
func limitRange(x, successes, trials []float64, all, of float64) drawn {
	between := func(low, high float64) drawn { return drawn{low, high, low, high} }
	unknown := between(0, math.Inf(1))
	if of == 0 {
		return unknown
	}
	below, above := between(0, x[0]), between(x[len(x)-1], math.Inf(1))
	switch {
	case all == of:
		return above
	case all == 0:
		return below
	case len(x) < 2:
		return unknown
	}
	intercept, slope := Firth(Logs(x), successes, trials)
	at := elementary.Exp(-intercept / slope)
	switch {
	case !(slope < 0): // success does not become rarer with the rate
		return unknown
	case at > x[len(x)-1]:
		return above
	case at < x[0]:
		return below
	}
	found := between(at, at)
	first := slices.IndexFunc(x, func(rate float64) bool { return rate > at })
	parted := first > 0 && slices.Equal(successes[:first], trials[:first]) && !slices.ContainsFunc(successes[first:], func(n float64) bool { return n > 0 })
	if parted {
		found.low, found.high = x[first-1], x[first]
	}
	return found
}

// Firth is the logistic regression of shares of successes on x with the penalty of Firth (Biometrika 80 (1993), 27): half the
// logarithm of the determinant of the information is added to the likelihood. The estimates are finite also where a rate separates
// all successes from all failures, as with a steep dependence as a rule, and where maximum likelihood diverges.
func Firth(x, successes, trials []float64) (intercept, slope float64) {
	paired("Firth", x, successes)
	paired("Firth", x, trials)
	center := Average(x)
	at := Each(x, func(v float64) float64 { return v - center })
	var b [2]float64
	value, step := penalised(at, successes, trials, b)
	const most, still = 100, 1e-9 // some ten steps suffice
	for range most {
		var next, following [2]float64
		var better float64
		size := 1.0
		for ; size > still; size /= 2 { // a full step may overshoot
			next = [2]float64{b[0] + float64(size*step[0]), b[1] + float64(size*step[1])}
			if better, following = penalised(at, successes, trials, next); better > value {
				break
			}
		}
		if !(better > value) {
			break
		}
		b, value, step = next, better, following
		if math.Abs(step[0])+math.Abs(step[1]) < still {
			break
		}
	}
	return b[0] - float64(b[1]*center), b[1]
}

// penalised is the penalised log-likelihood at some coefficients, and the step of Fisher scoring from there.
func penalised(x, successes, trials []float64, b [2]float64) (value float64, step [2]float64) {
	p := make([]float64, len(x))
	var i00, i01, i11 float64
	for k := range x {
		z := b[0] + float64(b[1]*x[k])
		p[k] = 1 / (1 + elementary.Exp(-z))
		value += float64(successes[k]*logistic(z)) + float64((trials[k]-successes[k])*logistic(-z))
		w := float64(trials[k] * p[k] * (1 - p[k]))
		i00, i01, i11 = i00+w, i01+float64(w*x[k]), i11+float64(w*x[k]*x[k])
	}
	det := float64(i00*i11) - float64(i01*i01)
	if !(det > 0) {
		return math.Inf(-1), step
	}
	value += float64(elementary.Log(det) / 2)
	var u0, u1 float64
	for k := range x {
		w := float64(trials[k] * p[k] * (1 - p[k]))
		leverage := float64(w * (i11 - float64(2*i01*x[k]) + float64(i00*x[k]*x[k])) / det)
		score := successes[k] - float64(trials[k]*p[k]) + float64(leverage*(0.5-p[k]))
		u0, u1 = u0+score, u1+float64(score*x[k])
	}
	return value, [2]float64{(float64(i11*u0) - float64(i01*u1)) / det, (float64(i00*u1) - float64(i01*u0)) / det}
}

// logistic is ln(1/(1+e^-z)).
func logistic(z float64) float64 {
	if z < 0 {
		return z - elementary.Log1p(elementary.Exp(z))
	}
	return -elementary.Log1p(elementary.Exp(-z))
}
