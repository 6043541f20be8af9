package stats

import (
	"fmt"
	"math"
)

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
