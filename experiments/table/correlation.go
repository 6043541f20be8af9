package table

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"driftlab/results/stats"
)

// Do the rankings of two comparisons agree? Spearman's rank correlation of the gains of their
// settings, with an interval over settings and base models.

// gains are those of settings under stressors, a value for each base model; none where a setting
// cannot act, or is not there.
type gains struct {
	stressors []string
	// by is by setting and stressor.
	by map[string]map[string][]float64
}

// add puts a setting's gains under a stressor there.
func (g *gains) add(setting, stressor string, byModel []float64) {
	if g.by == nil {
		g.by = map[string]map[string][]float64{}
	}
	if g.by[setting] == nil {
		g.by[setting] = map[string][]float64{}
	}
	g.by[setting][stressor] = byModel
	if !slices.Contains(g.stressors, stressor) {
		g.stressors = append(g.stressors, stressor)
	}
}

// comparison are two lists of gains whose rankings are compared under a stressor of each.
type comparison struct {
	under    string      // the stressor, the first of two
	settings []string    // that both have, in alphabetical order
	a, b     [][]float64 // their gains by setting and base model
	together bool        // both have the same base models, which are drawn together
}

// compare pairs the gains under a stressor of each; ok is false with fewer than four settings.
func compare(a, b *gains, underA, underB string, together bool) (c comparison, ok bool) {
	c = comparison{under: underA, together: together}
	for setting, own := range a.by {
		if own[underA] != nil && b.by[setting][underB] != nil {
			c.settings = append(c.settings, setting)
		}
	}
	slices.Sort(c.settings)
	for _, setting := range c.settings {
		c.a, c.b = append(c.a, a.by[setting][underA]), append(c.b, b.by[setting][underB])
	}
	return c, len(c.settings) >= leastSettings
}

// leastSettings is how many make a rank correlation worth a figure.
const leastSettings = 4

// rankResamples is the number of bootstrap resamples behind an interval of rank correlations, and
// rankSeed starts their generator.
const (
	rankResamples = 2000
	rankSeed      = 0x5bea
)

// rho is the rank correlation over the settings given by their places, from the models given.
func (c *comparison) rho(places []int, ofA, ofB []int) float64 {
	x, y := make([]float64, len(places)), make([]float64, len(places))
	for i, at := range places {
		x[i], y[i] = meanOf(c.a[at], ofA), meanOf(c.b[at], ofB)
	}
	return stats.Spearman(x, y)
}

// meanOf is the mean of the values at some places.
func meanOf(values []float64, at []int) float64 {
	sum := 0.0
	for _, i := range at {
		sum += values[i]
	}
	return sum / float64(len(at))
}

// rankCorrelation is the mean of the comparisons' rank correlations. Its interval is the percentile
// bootstrap that draws settings and base models with replacement. N counts the comparisons.
func rankCorrelation(list []comparison) stats.Interval {
	whole := func(n int) []int {
		at := make([]int, n)
		for i := range at {
			at[i] = i
		}
		return at
	}
	return rankInterval(list, func(c *comparison, places []int, rng *rand.Rand) float64 {
		a, b := len(c.a[0]), len(c.b[0])
		if rng == nil {
			return c.rho(places, whole(a), whole(b))
		}
		ofA := draw(rng, a)
		ofB := ofA
		if !c.together {
			ofB = draw(rng, b)
		}
		return c.rho(places, ofA, ofB)
	})
}

// splitHalves is the mean rank correlation between the gains on one half of the base models and on
// the other, over all ways to halve them. Its interval draws settings and a half at random.
func splitHalves(list []comparison) stats.Interval {
	return rankInterval(list, func(c *comparison, places []int, rng *rand.Rand) float64 {
		n := len(c.a[0])
		if rng != nil {
			order := rng.Perm(n)
			return c.rho(places, order[:n/2], order[n/2:])
		}
		var all []float64
		for set := range 1 << n {
			var one, other []int
			for i := range n {
				if set>>i&1 == 1 {
					one = append(one, i)
				} else {
					other = append(other, i)
				}
			}
			if len(one) == n/2 && (2*len(one) < n || one[0] == 0) { // each split once
				all = append(all, c.rho(places, one, other))
			}
		}
		return stats.Average(all)
	})
}

// rankInterval is the mean of a figure of comparisons with its bootstrap interval: of is called with
// all settings and no generator for the estimate, and with drawn ones for the resamples.
func rankInterval(list []comparison, of func(c *comparison, places []int, rng *rand.Rand) float64) stats.Interval {
	if len(list) == 0 {
		return stats.Interval{Estimate: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	// The settings of all comparisons are drawn together: the same one may be good in each.
	var names []string
	for i := range list {
		names = append(names, list[i].settings...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	mean := func(pick []int, rng *rand.Rand) float64 {
		sum, n := 0.0, 0
		for i := range list {
			c := &list[i]
			var places []int
			for _, k := range pick {
				if at, ok := slices.BinarySearch(c.settings, names[k]); ok {
					places = append(places, at)
				}
			}
			if len(places) < leastSettings {
				continue
			}
			if v := of(c, places, rng); !math.IsNaN(v) {
				sum, n = sum+v, n+1
			}
		}
		return sum / float64(n)
	}
	all := make([]int, len(names))
	for i := range all {
		all[i] = i
	}
	out := stats.Interval{Estimate: mean(all, nil), N: len(list)}
	rng := rand.New(rand.NewPCG(rankSeed, uint64(len(names))))
	var draws []float64
	for range rankResamples {
		if v := mean(draw(rng, len(names)), rng); !math.IsNaN(v) {
			draws = append(draws, v)
		}
	}
	slices.Sort(draws)
	out.Low, out.High = stats.Quantile(draws, 0.025), stats.Quantile(draws, 0.975)
	return out
}

// draw are n places of n, with replacement.
func draw(rng *rand.Rand, n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = rng.IntN(n)
	}
	return at
}

// largestGains are the settings with the largest mean gain under a stressor, at most so many.
func largestGains(g *gains, stressor string, most int) []string {
	var names []string
	for setting, own := range g.by {
		if own[stressor] != nil {
			names = append(names, setting)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(stats.Average(g.by[b][stressor]), stats.Average(g.by[a][stressor])), strings.Compare(a, b))
	})
	return names[:min(most, len(names))]
}
