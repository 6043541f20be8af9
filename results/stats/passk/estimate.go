package passk

import (
	"math"

	"driftlab/precision/elementary"
)

// Tally counts the responses to one prompt.
type Tally struct {
	// Correct of Samples responses were accepted.
	Correct, Samples int
	// Stopped is true if sampling went on beyond what every prompt gets until a
	// given number were correct, and ended with the last of these.
	Stopped bool
}

// PassAt is the unbiased estimate of the prompt's pass@k, for k up to the number of
// samples that every prompt gets. Of a prompt that Stopped the last response was
// bound to be correct and tells nothing: what came before it does (so k = 1 is
// the (c−1)/(n−1) of inverse sampling).
func (t Tally) PassAt(k int) float64 {
	if t.Stopped {
		return Unbiased(t.Samples-1, t.Correct-1, k)
	}
	return Unbiased(t.Samples, t.Correct, k)
}

// Unbiased is ρ(n, c, k) = 1 − C(n−c, k)/C(n, k), the chance that k of n
// responses drawn without replacement hold at least one of the c correct ones
// (2107.03374). Its mean over samples is pass@k; k is at most n.
func Unbiased(n, c, k int) float64 {
	miss := 1.0
	for j := range k {
		miss *= max(0, float64(n-c-j)) / float64(n-j)
	}
	return 1 - miss
}

// PlugIn is 1 − (1 − c/n)^k, for any k: the Bernoulli extrapolation.
func PlugIn(n, c, k int) float64 { return passAt(float64(c)/float64(n), k) }

// passAt is pass@k of a prompt whose responses are correct with probability p.
func passAt(p float64, k int) float64 {
	return -elementary.Expm1(float64(k) * elementary.Log1p(-p))
}

// Mean averages the unbiased estimates of pass@k over prompts.
func Mean(tallies []Tally, k int) float64 {
	sum := 0.0
	for _, t := range tallies {
		sum += t.PassAt(k)
	}
	return sum / float64(len(tallies))
}

// Beta is a distribution of pass rates over prompts, fitted to counts.
type Beta struct {
	// Alpha and Beta are its parameters: the mean pass rate is
	// Alpha/(Alpha+Beta), and Alpha alone decides how pass@k nears 1: as k^−Alpha.
	Alpha, Beta float64
	// information is minus the second derivative of the log-likelihood at the
	// parameters: αα, αβ, ββ.
	information [3]float64
	// edge is true where no finite parameters are likeliest.
	edge bool
}

// bounds on the parameters: beyond them the distribution is, for any k of
// interest, two points or one.
const (
	leastParameter = 1e-6
	mostParameter  = 1e6
)

// Fit returns the likeliest Beta distribution (the beta-binomial maximum
// likelihood of 2510.05197). How it was decided to stop sampling a prompt does not
// matter to a likelihood: tallies of fixed and of dynamic size may be mixed. There
// must be at least one tally with a sample.
//
// The log-likelihood is Σ log(α+j) over j < c, plus Σ log(β+j) over j < n−c, minus
// Σ log(α+β+j) over j < n, so its derivatives are finite sums; Newton's steps in
// the logarithms of the parameters, shortened until they climb.
func Fit(tallies []Tally) Beta {
	l := newLikelihood(tallies)
	b := Beta{Alpha: 1, Beta: 1}
	at := l.at(b.Alpha, b.Beta)
	damping := 1e-3
	for range 200 {
		// Derivatives with respect to log α and log β.
		ga, gb := float64(b.Alpha*at.a), float64(b.Beta*at.b)
		if math.Abs(ga)+math.Abs(gb) < 1e-10*float64(len(tallies)) {
			break
		}
		haa := -ga - float64(float64(b.Alpha*b.Alpha)*at.aa)
		hbb := -gb - float64(float64(b.Beta*b.Beta)*at.bb)
		hab := -float64(float64(b.Alpha*b.Beta) * at.ab)
		climbed := false
		for ; damping < 1e12 && !climbed; damping *= 10 {
			aa, bb := haa+damping, hbb+damping
			det := float64(aa*bb) - float64(hab*hab)
			if aa <= 0 || det <= 0 {
				continue
			}
			da := (float64(bb*ga) - float64(hab*gb)) / det
			db := (float64(aa*gb) - float64(hab*ga)) / det
			next := Beta{Alpha: bounded(b.Alpha, da), Beta: bounded(b.Beta, db)}
			if now := l.at(next.Alpha, next.Beta); now.value > at.value {
				b, at, climbed = next, now, true
			}
		}
		if !climbed {
			break
		}
		damping = max(damping/100, 1e-9)
	}
	b.information = [3]float64{-at.aa, -at.ab, -at.bb}
	b.edge = min(b.Alpha, b.Beta) <= leastParameter || max(b.Alpha, b.Beta) >= mostParameter
	return b
}

// bounded is a parameter after a step of its logarithm.
func bounded(x, step float64) float64 {
	return min(max(float64(x*elementary.Exp(max(min(step, 2), -2))), leastParameter), mostParameter)
}

// PassAt is pass@k under the distribution, 1 − Π (β+j)/(α+β+j) over j < k.
func (b Beta) PassAt(k int) float64 { return -elementary.Expm1(b.logMiss(k)) }

// logMiss is log(1 − pass@k).
func (b Beta) logMiss(k int) float64 {
	sum := 0.0
	for j := range k {
		sum += elementary.Log1p(-b.Alpha / (b.Alpha + b.Beta + float64(j)))
	}
	return sum
}

// Interval holds about 95 % of what the parameters leave open of pass@k: the delta
// method on log(−log(1 − pass@k)), which has no ends. Both ends are NaN where the
// counts do not fix the parameters, as when all prompts are alike or all responses
// are wrong.
func (b Beta) Interval(k int) (low, high float64) {
	da, db := 0.0, 0.0 // of log(1 − pass@k)
	for j := range k {
		whole := 1 / (b.Alpha + b.Beta + float64(j))
		da -= whole
		db += 1/(b.Beta+float64(j)) - whole
	}
	iaa, iab, ibb := b.information[0], b.information[1], b.information[2]
	det := float64(iaa*ibb) - float64(iab*iab)
	variance := (float64(float64(da*da)*ibb) - 2*float64(float64(da*db)*iab) + float64(float64(db*db)*iaa)) / det
	if b.edge || !(iaa > 0) || !(det > 1e-12*float64(iaa*ibb)) || !(variance >= 0) {
		return math.NaN(), math.NaN()
	}
	miss := b.logMiss(k)
	wide := elementary.Exp(normal95 * math.Sqrt(variance) / -miss)
	return -elementary.Expm1(miss / wide), -elementary.Expm1(miss * wide)
}

// normal95 is the 97.5 % quantile of the standard normal.
const normal95 = 1.959963984540054

// likelihood holds, for each j, how many prompts have more than j correct, more
// than j wrong, and more than j responses.
type likelihood struct{ correct, wrong, all []float64 }

// derivatives are a log-likelihood and its derivatives.
type derivatives struct{ value, a, b, aa, ab, bb float64 }

func newLikelihood(tallies []Tally) *likelihood {
	most := 0
	for _, t := range tallies {
		most = max(most, t.Samples)
	}
	l := &likelihood{make([]float64, most), make([]float64, most), make([]float64, most)}
	for _, t := range tallies {
		for j := range t.Samples {
			l.all[j]++
		}
		for j := range t.Correct {
			l.correct[j]++
		}
		for j := range t.Samples - t.Correct {
			l.wrong[j]++
		}
	}
	return l
}

// at evaluates them at parameters.
func (l *likelihood) at(alpha, beta float64) (d derivatives) {
	for j, all := range l.all {
		i := float64(j)
		a, b, ab := 1/(alpha+i), 1/(beta+i), 1/(alpha+beta+i)
		d.value += float64(l.correct[j]*elementary.Log(alpha+i)) + float64(l.wrong[j]*elementary.Log(beta+i)) - float64(all*elementary.Log(alpha+beta+i))
		d.a += float64(l.correct[j]*a) - float64(all*ab)
		d.b += float64(l.wrong[j]*b) - float64(all*ab)
		both := float64(all * float64(ab*ab))
		d.aa += both - float64(l.correct[j]*float64(a*a))
		d.bb += both - float64(l.wrong[j]*float64(b*b))
		d.ab += both
	}
	return d
}
