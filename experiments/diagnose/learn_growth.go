package diagnose

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
)

// stepSum adds up the tokens of a step: how many, their sizes, and k3.
type stepSum struct {
	n       int
	sum, k3 float64
}

func (s *stepSum) join(o stepSum) { s.n, s.sum, s.k3 = s.n+o.n, s.sum+o.sum, s.k3+o.k3 }

func (s stepSum) mean() float64 { return s.sum / float64(max(s.n, 1)) }

// bySteps has a sum for each step, or for each block of 2^shift successive ones where the steps are more than mostSteps.
type bySteps struct {
	sums  map[int]*stepSum
	shift int
}

// mostSteps bounds how many sums there are.
const mostSteps = 1 << 16

// at is the sum of a step, made where there is none.
func (b *bySteps) at(step int) *stepSum {
	for {
		s := b.sums[step>>b.shift]
		switch {
		case s == nil && len(b.sums) >= mostSteps:
			b.halve()
		case s == nil:
			if b.sums == nil {
				b.sums = map[int]*stepSum{}
			}
			s = &stepSum{}
			b.sums[step>>b.shift] = s
			return s
		default:
			return s
		}
	}
}

// halve joins each two successive blocks.
func (b *bySteps) halve() {
	joined := map[int]*stepSum{}
	for key, s := range b.sums { // a sum of two, in any order
		if other := joined[key>>1]; other != nil {
			other.join(*s)
		} else {
			joined[key>>1] = s
		}
	}
	b.sums, b.shift = joined, b.shift+1
}

// inOrder are the first steps of the blocks, in their order, with their sums.
func (b *bySteps) inOrder() (steps []int, sums []*stepSum) {
	for _, key := range slices.Sorted(maps.Keys(b.sums)) {
		steps, sums = append(steps, key<<b.shift), append(sums, b.sums[key])
	}
	return steps, sums
}

// gapGrowth follows the gap over the steps of a series.
type gapGrowth struct{ steps bySteps }

func (c *gapGrowth) add(r *reader.Row) {
	if r.Roll == nil || r.Old == nil || r.Step == reader.Unknown {
		return
	}
	s := c.steps.at(r.Step)
	for i, m := range r.Mask {
		if m && isLogp(r.Roll[i]) && isLogp(r.Old[i]) {
			d := r.Old[i] - r.Roll[i]
			s.join(stepSum{1, min(abs(d), slidCap), k3Of(d)}) // a wild token is not growth
		}
	}
}

const (
	// leastSeries is how many steps a trend is tested on: of fewer no order is rare enough.
	leastSeries = 5
	// leastStepTokens is how many tokens a step, or a block of steps, needs.
	leastStepTokens = 100
	// grownBy is the growth over the series from which it matters: less is what other prompts make of a gap.
	grownBy = 1.5
	// trendLevel is the level of the Mann-Kendall test, one-sided. With grownBy there is no more than one false alarm in
	// a hundred healthy series (TestGrowthFalseAlarms).
	trendLevel = 0.01
	// zTrend and zPower are the normal quantiles of that level and of a power of 80 %.
	zTrend, zPower = 2.33, 0.84
	// mostBlocks is how many blocks of steps a long series is cut into.
	mostBlocks = 200
)

// stepPoint is a step, or a block of steps, with its mean |d| and k3.
type stepPoint struct {
	step         int
	at, size, k3 float64
	log          float64
}

func (c *gapGrowth) findings(*Options) ([]Finding, []looked) {
	points := c.points()
	switch n := len(points); {
	case n < 2:
		return nil, []looked{{"growth of the gap (one step)", false}}
	case n < leastSeries:
		return nil, []looked{{fmt.Sprintf("growth of the gap (%d steps; a trend needs %d)", n, leastSeries), false}}
	}
	p, slope := mannKendall(points), theilSen(points)
	first, last := points[0], points[len(points)-1]
	grown := elementary.Exp(slope * (last.at - first.at))
	if p > trendLevel || grown < grownBy {
		return []Finding{{ID: "gap-steady", Topic: Mismatch, Level: Note, Text: fmt.Sprintf("no growth of the gap over %s; growth to %.2g times the first would be seen in 4 of 5 series",
			count(len(points), "step"), detectable(points, slope))}}, nil
	}
	from := onsetAt(points)
	late := points[from:]
	rate := 0.0
	if len(late) > 1 {
		rate = theilSen(late)
	}
	before := medianOf(pointColumn(points[:from], func(x stepPoint) float64 { return x.size }))
	text := fmt.Sprintf("the gap grows: mean |d| %.2g at step %d, %.2g at step %d (k3 %.2g to %.2g), from step %d on",
		first.size, first.step, last.size, last.step, first.k3, last.k3, points[from].step)
	if rate > 0 {
		text += fmt.Sprintf(" by about %.2g %% a step", 100*elementary.Expm1(rate))
	}
	return []Finding{{ID: "gap-grows", Topic: Mismatch, Level: Warning, Text: text + fmt.Sprintf(" (Mann-Kendall p %.1g)", p),
		Where: fmt.Sprintf("%.1f times what it was before", last.size/before),
		Next:  "find out what changed at that step: recorded lag, weight sync, length or context of the responses, learning rate; bound it before it grows further"}}, nil
}

// points are the steps, or blocks of them where they are many or have few tokens.
func (c *gapGrowth) points() (list []stepPoint) {
	steps, sums := c.steps.inOrder()
	block := (len(steps) + mostBlocks - 1) / mostBlocks
	for from := 0; from < len(steps); {
		var all stepSum
		at, to := 0.0, from
		for ; to < len(steps) && (to < from+block || all.n < leastStepTokens); to++ {
			all.join(*sums[to])
			at += float64(steps[to])
		}
		if all.n >= leastStepTokens && all.sum > 0 {
			n := float64(all.n)
			list = append(list, stepPoint{step: steps[from], at: at / float64(to-from), size: all.sum / n, k3: all.k3 / n, log: elementary.Log(all.sum / n)})
		}
		from = to
	}
	return list
}

func pointColumn(list []stepPoint, of func(stepPoint) float64) (x []float64) {
	for _, p := range list {
		x = append(x, of(p))
	}
	return x
}

// normalTail is the chance of a standard normal above z: the continued fraction of Laplace where it converges fast, else the integral by Simpson's rule.
func normalTail(z float64) float64 {
	density := func(x float64) float64 { return elementary.Exp(-float64(x*x)/2) / math.Sqrt(2*math.Pi) }
	if z > 3 {
		fraction := z
		for k := 60; k >= 1; k-- {
			fraction = z + float64(k)/fraction
		}
		return density(z) / fraction
	}
	const parts = 200
	sum, step := density(0)+density(z), z/parts
	for i := 1; i < parts; i++ {
		sum += float64(float64(2+2*(i%2)) * density(float64(i)*step))
	}
	return 0.5 - sum*step/3
}

// mannKendall is the one-sided p of at least as many rising pairs if no step differed from another: exact up to 40 steps, normal beyond.
func mannKendall(list []stepPoint) float64 {
	n, falling := len(list), 0
	for j := range list {
		for i := range j {
			falling += count1(list[i].log >= list[j].log)
		}
	}
	pairs := n * (n - 1) / 2
	if n > 40 {
		z := (float64(pairs-2*falling) - 1) / math.Sqrt(float64(n*(n-1)*(2*n+5))/18)
		return normalTail(z)
	}
	chance := make([]float64, pairs+1) // of so many falling pairs
	chance[0] = 1
	for k := 2; k <= n; k++ {
		next := make([]float64, pairs+1)
		for at, p := range chance {
			for more := 0; more < k && at+more <= pairs && p > 0; more++ {
				next[at+more] += p / float64(k)
			}
		}
		chance = next
	}
	p := 0.0
	for _, x := range chance[:falling+1] {
		p += x
	}
	return p
}

// theilSen is the median slope of the log size between two steps.
func theilSen(list []stepPoint) float64 {
	var slopes []float64
	for j := range list {
		for i := range j {
			slopes = append(slopes, (list[j].log-list[i].log)/(list[j].at-list[i].at))
		}
	}
	return medianOf(slopes)
}

// detectable is the growth over the series that the test finds in four of five series with this scatter about the slope.
func detectable(list []stepPoint, slope float64) float64 {
	at := momentsOf(pointColumn(list, func(p stepPoint) float64 { return p.at }))
	level := momentsOf(pointColumn(list, func(p stepPoint) float64 { return p.log - float64(slope*p.at) }))
	off := medianOf(pointColumn(list, func(p stepPoint) float64 { return abs(p.log - float64(slope*p.at) - level.mean) }))
	se := 1.4826 * off / (at.deviation * math.Sqrt(float64(len(list)))) // of a normal scatter, by its median
	return max(grownBy, elementary.Exp(min((zTrend+zPower)*se*(list[len(list)-1].at-list[0].at), overflow)))
}

// onsetAt is the first step of the raised gap: from it on every step has more than any step before. Of several such steps it is the
// first whose rise over all before is at least half of the greatest, and where there is none, the step that parts the series
// into two levels best.
func onsetAt(list []stepPoint) int {
	logs := pointColumn(list, func(p stepPoint) float64 { return p.log })
	rise := make([]float64, len(logs))
	best, least := 0, math.Inf(1) // of two levels
	for i := 1; i < len(logs); i++ {
		rise[i] = slices.Min(logs[i:]) - slices.Max(logs[:i])
		a, b := momentsOf(logs[:i]).deviation, momentsOf(logs[i:]).deviation
		if squares := float64(float64(i)*a*a) + float64(float64(len(logs)-i)*b*b); squares < least {
			best, least = i, squares
		}
	}
	if most := slices.Max(rise); most > 0 {
		return slices.IndexFunc(rise, func(x float64) bool { return x >= most/2 })
	}
	return best
}
