package stats

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"

	"driftlab/precision/elementary"
)

// Holm adjusts p-values for their number, as Holm (1979) does: in increasing order
// each is multiplied by how many are left, and is never smaller than the one
// before. They are returned in the order given. NaN means not tested: it stays and
// does not count.
func Holm(p []float64) []float64 {
	left := 0
	for _, v := range p {
		if !math.IsNaN(v) {
			left++
		}
	}
	adjusted := make([]float64, len(p))
	largest := 0.0
	for _, at := range Order(p) {
		if math.IsNaN(p[at]) {
			adjusted[at] = p[at]
			continue
		}
		largest = max(largest, min(1, float64(left)*p[at]))
		adjusted[at] = largest
		left--
	}
	return adjusted
}

// exactFlips is the largest number of pairs whose signs are all tried, which are
// 2^20; beyond it drawnFlips of them are drawn.
const exactFlips = 20

// jointFlips is the same for several lists at once.
const jointFlips = 16

// drawnFlips is how many sign patterns are drawn beyond those numbers.
const drawnFlips = 100_000

// flipSeed starts the generator of the drawn patterns: p is a function of the
// data alone.
const flipSeed = 0xf11b

// SignFlip is the exact two-sided p-value of the paired sign-flip permutation test
// (Fisher 1935, section 21) on differences of pairs: the share of all 2^n ways to
// give them signs whose sum is at least as far from zero as theirs. Sums that are
// as far but for rounding count, and differences of zero stay among them. For more
// than 20 pairs the share is of patterns drawn, with the data's own added to both
// counts. Without a pair, and where a difference is not finite, it is NaN.
func SignFlip(d []float64) float64 {
	sum, size := 0.0, 0.0
	for _, v := range d {
		sum, size = sum+v, size+math.Abs(v)
	}
	if len(d) == 0 || math.IsNaN(size) || math.IsInf(size, 0) {
		return math.NaN()
	}
	bound := math.Abs(sum) - float64(1e-12*size)
	if len(d) <= exactFlips {
		return float64(beyond(d, 0, bound)) / float64(int(1)<<len(d))
	}
	far := 0
	for signs := range signPatterns(len(d)) {
		if math.Abs(Dot(d, signs)) >= bound {
			far++
		}
	}
	return float64(far) / float64(patterns(len(d)))
}

// beyond counts the signs of d that, added to sum, come to bound or farther from zero.
func beyond(d []float64, sum, bound float64) int {
	if len(d) > 0 {
		return beyond(d[1:], sum+d[0], bound) + beyond(d[1:], sum-d[0], bound)
	}
	if math.Abs(sum) >= bound {
		return 1
	}
	return 0
}

// signPatterns yields ways to give n pairs signs, all in the same memory and the data's
// own first: every one of them for few pairs, else drawnFlips drawn ones in addition.
func signPatterns(n int) func(yield func(signs []float64) bool) {
	return func(yield func([]float64) bool) {
		signs := ones(n)
		rng := rand.New(rand.NewPCG(flipSeed, uint64(n)))
		for left := patterns(n) - 1; yield(signs) && left > 0; left-- {
			for i := range signs {
				if n <= jointFlips {
					signs[i] = -signs[i] // counts in binary
					if signs[i] < 0 {
						break
					}
				} else if signs[i] = 1; rng.Uint64()&1 == 0 {
					signs[i] = -1
				}
			}
		}
	}
}

// patterns is how many ways signPatterns yields.
func patterns(n int) int {
	if n <= jointFlips {
		return 1 << n
	}
	return drawnFlips + 1
}

// TTest is the two-sided p-value of the t-test that x has the given mean; NaN for
// fewer than two values and where one is not finite. Values without spread have
// p 1 if they are that mean and 0 if not.
func TTest(x []float64, mean float64) float64 {
	return min(1, 2*min(OneSided(x, mean), OneSided(Negated(x), -mean)))
}

// OneSided is the p-value of the t-test against the hypothesis that the mean of x
// is at most the given one; NaN as in TTest. Values without spread have p 0 above
// it and 1 otherwise.
func OneSided(x []float64, mean float64) float64 {
	have, of := meanAndError(x)
	switch {
	case len(x) < 2 || math.IsNaN(of):
		return math.NaN()
	case of == 0 && have > mean:
		return 0
	case of == 0:
		return 1
	}
	return studentTail((have-mean)/of, float64(len(x)-1))
}

// TOST is the p-value of two one-sided t-tests (Schuirmann 1987) against the
// hypothesis that the mean of x is delta or more away from zero: the larger of
// the two. A small p says "no difference beyond delta".
func TOST(x []float64, delta float64) (p float64) {
	return max(OneSided(x, -delta), OneSided(Negated(x), -delta))
}

// WestfallYoung are the two-sided p-values of sign-flip tests on several lists of
// paired differences, adjusted for their number by the step-down maxT of Westfall and
// Young (1993, algorithm 2.8): each pattern of signs turns the same pairs of every
// list, so that lists that go together do not count as many. What is compared is |t|,
// in the form |Σd|/√Σd², which rises with it and has no pole. With n pairs no p is
// below 2/2^n. Lists of zeros alone, and those with a value that is not finite, are not
// tested: NaN. It panics on lengths that differ.
func WestfallYoung(lists [][]float64) []float64 {
	adjusted := make([]float64, len(lists))
	units := make([][]float64, len(lists)) // of length 1
	bounds := make([]float64, len(lists))
	var tested []int
	for k, d := range lists {
		if len(d) != len(lists[0]) {
			panic(fmt.Sprintf("stats: WestfallYoung of lists of %d and %d pairs", len(lists[0]), len(d)))
		}
		adjusted[k] = math.NaN()
		length := math.Sqrt(Dot(d, d))
		if !(length > 0) || math.IsInf(length, 0) {
			continue
		}
		units[k] = Each(d, func(v float64) float64 { return v / length })
		bounds[k] = math.Abs(Dot(units[k], ones(len(d)))) - 1e-12 // as far but for rounding
		tested = append(tested, k)
	}
	if len(tested) == 0 {
		return adjusted
	}
	slices.SortStableFunc(tested, func(a, b int) int { return cmp.Compare(bounds[a], bounds[b]) })
	far := make([]int, len(tested))
	n := len(lists[0])
	for signs := range signPatterns(n) {
		largest := 0.0 // of this list and those that are nearer to zero
		for i, k := range tested {
			largest = max(largest, math.Abs(Dot(units[k], signs)))
			if largest >= bounds[k] {
				far[i]++
			}
		}
	}
	p := 0.0
	for i, k := range slices.Backward(tested) {
		p = max(p, float64(far[i])/float64(patterns(n)))
		adjusted[k] = p
	}
	return adjusted
}

// Slope is the least-squares slope of y on x.
func Slope(x, y []float64) float64 {
	paired("Slope", x, y)
	xx, xy, _ := moments(x, y)
	return xy / xx
}

// RSquared is the share of the variance of y that a straight line over x explains.
func RSquared(x, y []float64) float64 {
	paired("RSquared", x, y)
	xx, xy, yy := moments(x, y)
	return xy / xx * (xy / yy)
}

// Spearman is the rank correlation, ties at their mean rank; NaN if either
// side is constant.
func Spearman(x, y []float64) float64 {
	paired("Spearman", x, y)
	xx, xy, yy := moments(ranks(x), ranks(y))
	return xy / math.Sqrt(xx*yy)
}

// Kendall is the rank correlation tau-a: concordant minus discordant pairs over all; a tie is neither.
func Kendall(x, y []float64) float64 {
	paired("Kendall", x, y)
	balance, pairs := 0, len(x)*(len(x)-1)/2
	for i := range x {
		for j := range i {
			balance += cmp.Compare(x[i], x[j]) * cmp.Compare(y[i], y[j])
		}
	}
	return float64(balance) / float64(pairs)
}

// moments are the sums of squares and products about the means.
func moments(x, y []float64) (xx, xy, yy float64) {
	mx, my := Average(x), Average(y)
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx, xy, yy = xx+float64(dx*dx), xy+float64(dx*dy), yy+float64(dy*dy)
	}
	return xx, xy, yy
}

// ranks returns the rank of each value, from 1, ties at their mean.
func ranks(x []float64) []float64 {
	order := Order(x)
	out := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for _, at := range order[i:j] {
			out[at] = float64(i+j+1) / 2
		}
		i = j
	}
	return out
}

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
// Values that are impossible leave the interval: the intersection with the parameter
// space, for which see Mandelkern, Statistical Science 17 (2002), 149. The bounds are
// estimates themselves, so that a few shares near 0 or 1 lose coverage.
func (i Interval) WithinShares(a, b []float64) Interval {
	if i.N < 2 {
		return i
	}
	of, from := T(a), T(b)
	i.Low = max(i.Low, -min(from.High, 1), max(of.Low, 0)-1)
	i.High = min(i.High, 1-max(from.Low, 0), min(of.High, 1))
	return i
}

// power is the probability with which a test should detect a true effect.
const power = 0.8

// mostReplications is where Enough gives up.
const mostReplications = 10_000

// SmallestEffect is the smallest true mean, of values with the given standard
// deviation, that the two-sided 5 % t-test of n of them detects with 80 % power, by
// the noncentral t; +Inf for fewer than two.
func SmallestEffect(sd float64, n int) float64 {
	if n < 2 {
		return math.Inf(1)
	}
	shift, known := shifts.Load(n)
	if !known {
		df := float64(n - 1)
		critical := StudentQuantile(df)
		shift = root(0, mostShift, func(shift float64) bool { return rejects(shift, critical, df) > power })
		shifts.Store(n, shift)
	}
	return shift.(float64) * (sd / math.Sqrt(float64(n)))
}

// mostShift is the largest noncentrality that is looked at, that of the test of two values is 16.3: beyond some 37 its Poisson weights are
// too small for a float64.
const mostShift = 32

// shifts has, by the number of values, the noncentrality that the test of them detects with 80 % power: each takes milliseconds, and the
// same ones are asked for again and again.
var shifts sync.Map

// Enough is the smallest number of values with the given standard deviation of
// which the two-sided 5 % t-test detects a true mean of that size with 80 % power;
// mostReplications stands for that many and more.
func Enough(effect, sd float64) int {
	return 2 + sort.Search(mostReplications-2, func(i int) bool { return SmallestEffect(sd, 2+i) <= math.Abs(effect) })
}

// rejects is the probability that the noncentral t with df degrees of freedom and
// noncentrality shift lies beyond ±critical. Its square is a noncentral F: tails
// of the beta distribution, mixed by a Poisson distribution of mean shift²/2
// (Johnson, Kotz and Balakrishnan, chapter 30).
func rejects(shift, critical, df float64) float64 {
	square := critical * critical / df
	x, y := 1/(1+1/square), 1/(1+square)
	mean := shift * shift / 2
	weight, sum := elementary.Exp(-mean), 0.0
	for j := 0.0; j < mean || weight > 1e-18; j++ {
		_, outside := incompleteBeta(j+0.5, df/2, x, y)
		sum += float64(weight * outside)
		weight *= mean / (j + 1)
	}
	return sum
}

// level is the two-sided confidence of every interval.
const level = 0.95

// Interval is an estimate with its 95 % interval. With fewer than two values
// there is no interval: Low and High equal the estimate and N says so.
type Interval struct {
	// Estimate is the statistic of the data itself.
	Estimate float64 `json:"estimate"`
	// Low and High are the ends of the interval.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// N is the number of values: models or seeds as a rule, trials or events where
	// something is counted.
	N int `json:"n"`
}

// T is the mean of x with its interval by Student's t: mean ± t(0.975, n-1) s/√n.
// A value that is not finite leaves the ends NaN.
func T(x []float64) Interval {
	mean, of := meanAndError(x)
	if len(x) < 2 {
		return Interval{mean, mean, mean, len(x)}
	}
	half := float64(StudentQuantile(float64(len(x)-1)) * of)
	return Interval{mean, mean - half, mean + half, len(x)}
}

// Within cuts the ends of an interval to the range that its figure can have: the interval by Student's t of a few pass rates
// ends far outside.
func (i Interval) Within(low, high float64) Interval {
	i.Low, i.High = min(max(i.Low, low), high), min(max(i.High, low), high)
	return i
}

// TRatio is the geometric mean of the paired ratios a[i]/b[i] with the interval
// by Student's t on their logarithms. A pair of two zeros has nothing to compare
// and makes everything NaN, and so does a negative ratio; one zero makes the
// estimate 0 or +Inf and the ends NaN. It panics on lengths that differ.
func TRatio(a, b []float64) Interval {
	paired("TRatio", a, b)
	return T(Logs(Quotients(a, b))).Exp()
}

// Exp is the interval of a ratio whose logarithm has this one.
func (i Interval) Exp() Interval {
	return Interval{elementary.Exp(i.Estimate), elementary.Exp(i.Low), elementary.Exp(i.High), i.N}
}

// meanAndError returns the mean of x and its standard error s/√n. The standard error is NaN for fewer than two values,
// and where one is not finite.
func meanAndError(x []float64) (mean, of float64) {
	if len(x) > 1 && slices.Min(x) == slices.Max(x) && !math.IsInf(x[0], 0) {
		return x[0], 0 // which rounding of the sum could miss
	}
	mean = Average(x)
	return mean, Deviation(x) / math.Sqrt(float64(len(x)))
}

// resamples is the number of bootstrap resamples for every interval.
const resamples = 10_000

// bootstrapSeed starts the generator of every bootstrap: intervals are a
// function of the data alone.
const bootstrapSeed = 0x5eed

// Differences returns a[i] - b[i]. It panics on lengths that differ.
func Differences(a, b []float64) []float64 {
	paired("Differences", a, b)
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

// Bootstrap is a statistic of n units with the percentile interval of its bootstrap: it is given the numbers of a sample, from 0. A
// value that is not finite makes interval ends that are not.
func Bootstrap(n int, statistic func(sample []int) float64) Interval {
	sample, draws := make([]int, n), make([]float64, resamples)
	for i := range sample {
		sample[i] = i
	}
	out := Interval{Estimate: statistic(sample), N: n}
	out.Low, out.High = out.Estimate, out.Estimate
	if out.N < 2 {
		return out
	}
	rng := rand.New(rand.NewPCG(bootstrapSeed, uint64(out.N)))
	for i := range draws {
		for j := range sample {
			sample[j] = rng.IntN(n)
		}
		draws[i] = statistic(sample)
	}
	slices.Sort(draws)
	out.Low, out.High = Quantile(draws, (1-level)/2), Quantile(draws, (1+level)/2)
	return out
}

func paired(what string, a, b []float64) {
	if len(a) != len(b) {
		panic(fmt.Sprintf("stats: %s of %d and %d values", what, len(a), len(b)))
	}
}

// studentTail is the probability that Student's t with n degrees of freedom is
// at least t: half of I_x(n/2, 1/2) at x = n/(n+t²) for t >= 0 (Abramowitz and
// Stegun, 26.7.1).
func studentTail(t, n float64) float64 {
	square := t * t / n
	outside, within := incompleteBeta(n/2, 0.5, 1/(1+square), 1/(1+1/square))
	if t < 0 {
		return 0.5 + float64(within/2)
	}
	return outside / 2
}

// StudentQuantile is t(0.975, n): within ±t lie 95 % of Student's distribution with n degrees of freedom, so that an interval is an
// estimate and that many errors of it to either side.
func StudentQuantile(n float64) float64 {
	return root(0, 16, func(t float64) bool { return studentTail(t, n) < (1-level)/2 }) // the largest is 12.7, of one
}

// incompleteBeta is the regularised incomplete beta function I_x(a, b) and what
// it leaves of one, each with its own relative precision; y is 1-x, which the
// caller knows better than a subtraction does.
func incompleteBeta(a, b, x, y float64) (lower, upper float64) {
	front := betaFront(a, b, x, y)
	if x > (a+1)/(a+b+2) {
		upper = front * betaFraction(b, a, y) / b
		return 1 - upper, upper
	}
	lower = front * betaFraction(a, b, x) / a
	return lower, 1 - lower
}

// betaFraction is the continued fraction of the incomplete beta function, 1/(1 + d₁/(1 + d₂/(1 + ...)))
// of DLMF 8.17.22, by the modified method of Lentz. It converges fast for
// x < (a+1)/(a+b+2).
func betaFraction(a, b, x float64) float64 {
	const most = 100_000 // it takes about √max(a, b) steps
	c, d, fraction := math.Inf(1), 1.0, 1.0
	for k := 1; k < most; k++ {
		m := float64(k / 2)
		at := a + float64(2*m)
		term := m * (b - m) * x / ((at - 1) * at)
		if k%2 == 1 {
			term = -(a + m) * (a + b + m) * x / (at * (at + 1))
		}
		c, d = 1+term/c, 1/(1+float64(term*d))
		fraction *= c * d
		if math.Abs(float64(c*d)-1) < 3e-16 {
			break
		}
	}
	return fraction
}

// betaFront is x^a y^b/B(a, b). Written with the remainders of Stirling's
// series, as Loader does for the binomial, it loses nothing at large a and b:
// √(ab/2πs) (sx/a)^a (sy/b)^b exp(Δ(s)-Δ(a)-Δ(b)) with s = a+b.
func betaFront(a, b, x, y float64) float64 {
	s := a + b
	power := float64(a*elementary.Log(s*x/a)) + float64(b*elementary.Log(s*y/b))
	return math.Sqrt(a/s*b/(2*math.Pi)) * elementary.Exp(power+stirlingRest(s)-stirlingRest(a)-stirlingRest(b))
}

// stirlingRest is Δ(x) = ln Γ(x) - (x-½) ln x + x - ½ ln 2π for x > 0: from 10 on
// by its asymptotic series (Abramowitz and Stegun, 6.1.41), below by
// Δ(x) = Δ(x+1) + (x+½) ln(1+1/x) - 1.
func stirlingRest(x float64) float64 {
	sum := 0.0
	for ; x < 10; x++ {
		sum += float64((x+0.5)*elementary.Log1p(1/x)) - 1
	}
	r := 1 / (x * x)
	series := 0.0
	for _, c := range [...]float64{1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12} {
		series = float64(series*r) + c
	}
	return sum + series/x
}

// betaQuantile is the x at which I_x(a, b) is p.
func betaQuantile(p, a, b float64) float64 {
	return root(0, 1, func(x float64) bool {
		lower, _ := incompleteBeta(a, b, x, 1-x)
		return lower > p
	})
}

// root halves the range between low, where a rising function is not yet beyond
// what is sought, and high, where it is, down to the last bit.
func root(low, high float64, beyond func(float64) bool) float64 {
	for {
		middle := low + float64((high-low)/2)
		if middle <= low || middle >= high {
			return middle
		}
		if beyond(middle) {
			high = middle
		} else {
			low = middle
		}
	}
}

// ClopperPearson is the share of k successes in n independent trials with the
// exact interval of Clopper and Pearson (1934). No trials leave the estimate NaN
// and the interval all there is. It panics unless 0 <= k <= n.
func ClopperPearson(k, n int) Interval {
	if k < 0 || k > n {
		panic(fmt.Sprintf("stats: ClopperPearson of %d in %d", k, n))
	}
	i := Interval{float64(k) / float64(n), 0, 1, n}
	if k > 0 {
		i.Low = betaQuantile((1-level)/2, float64(k), float64(n-k+1))
	}
	if k < n {
		// By the other share, whose small values keep their digits.
		i.High = 1 - betaQuantile((1-level)/2, float64(n-k), float64(k+1))
	}
	return i
}

// RateRatio is the ratio of two rates of rare events, ka in na against kb in nb,
// with the exact conditional interval: given ka+kb events, the share of the first
// is binomial with ratio·na/(ratio·na+nb), and has the interval of Clopper and
// Pearson (Przyborowski and Wilenski 1940; R's poisson.test). N counts the events.
// No events at all leave the estimate NaN and the interval 0 to +Inf.
func RateRatio(ka, na, kb, nb int) Interval {
	share := ClopperPearson(ka, ka+kb)
	ratio := func(share float64) float64 { return share / (1 - share) * (float64(nb) / float64(na)) }
	i := Interval{float64(ka) / float64(kb) * (float64(nb) / float64(na)), ratio(share.Low), ratio(share.High), ka + kb}
	if kb == 0 && ka > 0 {
		i.Estimate = math.Inf(1)
	}
	return i
}

// FewEvents is how many events a share of something rare asks for at least.
const FewEvents = 50

// Count is how often something rare happened, in how many trials.
type Count struct {
	Events int `json:"events"`
	Trials int `json:"trials"`
}

// Pool adds up the counts of models or seeds. Means of shares, some of them zero,
// would say less; what the pooled interval does not hold is that one model's events
// may come together.
func Pool(counts []Count) Count {
	var sum Count
	for _, c := range counts {
		sum.Events, sum.Trials = sum.Events+c.Events, sum.Trials+c.Trials
	}
	return sum
}

// Share is the share of events with the interval of Clopper and Pearson.
func (c Count) Share() Interval { return ClopperPearson(c.Events, c.Trials) }

// Few reports whether there are too few events to speak of a share.
func (c Count) Few() bool { return c.Events < FewEvents }
