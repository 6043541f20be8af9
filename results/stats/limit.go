package stats

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/precision/elementary"
)

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
	whole := newRates(trials, units).limit(onceEach(len(units)))
	return whole.from, whole.to
}

// onceEach weighs each unit as it is.
func onceEach(units int) []float64 {
	weight := make([]float64, units)
	for i := range weight {
		weight[i] = 1
	}
	return weight
}

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
	weight := onceEach(units)
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
	var units []uint64
	for _, t := range trials {
		units = append(units, t.Unit)
	}
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

// limit is the range of the limit where each unit counts so many times. Resamples with the same counts have the same one.
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

// limitRange is the range of the limit of shares of successes at increasing rates, of which so many in all.
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
	parted := slices.Equal(successes[:first], trials[:first]) && !slices.ContainsFunc(successes[first:], func(n float64) bool { return n > 0 })
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
