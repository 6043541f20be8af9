package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/precision/elementary"
)

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
	i := T(Logs(Quotients(a, b)))
	return Interval{elementary.Exp(i.Estimate), elementary.Exp(i.Low), elementary.Exp(i.High), i.N}
}

// meanAndError is the mean of x and its standard error, s/√n; the latter is NaN
// for fewer than two values and where one is not finite.
func meanAndError(x []float64) (mean, of float64) {
	if len(x) > 1 && slices.Min(x) == slices.Max(x) && !math.IsInf(x[0], 0) {
		return x[0], 0 // which rounding of the sum could miss
	}
	mean = Average(x)
	return mean, Deviation(x) / math.Sqrt(float64(len(x)))
}

// resamples is the number of bootstrap resamples behind every interval.
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
