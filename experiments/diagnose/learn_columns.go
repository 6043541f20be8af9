package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
)

// movedTokens compares the training forward with the log-probs before the update.
type movedTokens struct {
	n, outside, differ int
	k3, roll           float64
}

func (c *movedTokens) add(r *reader.Row) {
	for i, m := range r.Mask {
		if !m || r.New == nil || r.Old == nil || !isFinite(r.New[i]) || !isFinite(r.Old[i]) {
			continue
		}
		d := r.New[i] - r.Old[i]
		c.n++
		c.differ += count1(d != 0)
		c.outside += count1(abs(elementary.Expm1(min(d, overflow))) > clipWidth)
		c.k3 += k3Of(d)
		if r.Roll != nil && isFinite(r.Roll[i]) {
			c.roll += k3Of(r.Old[i] - r.Roll[i])
		}
	}
}

func (c *movedTokens) findings(o *Options) (found []Finding, columns []looked) {
	columns = []looked{{"log-probs of the training forward", c.n > 0}}
	if c.n == 0 {
		return nil, columns
	}
	once := false
	if o.Config != nil {
		if run, err := o.Config.Recipe(); err == nil {
			once = run.Learner.Updates() == 1
		}
	}
	measured := fmt.Sprintf("old and new differ: k3 %.2g, %.3g %% of the tokens outside 1 ± %v", c.k3/float64(c.n), 100*share(c.outside, c.n), clipWidth)
	switch {
	case c.differ == 0:
		return nil, columns
	case once && c.outside > 0 && (c.k3 > c.roll || c.roll == 0):
		return learns("not-batch-invariant", Fault, "give both passes the same micro-batch size and packing, or use batch-invariant kernels; until then use the training forward as old",
			"%s, although the configuration makes one update per batch: the trainer is not batch-invariant, and the clip fraction is noise", measured), columns
	case once:
		return learns("not-batch-invariant", Note, "", "%s, although the configuration makes one update per batch: less than the engines differ by", measured), columns
	case c.outside > 0:
		return learns("old-new", Note, "", "%s: either several updates per batch, or a trainer that is not batch-invariant (--config says which)", measured), columns
	}
	return nil, columns
}

// kept tokens of the reference's KL.
const topKL = 8

// referenceKL measures the divergence from the reference model and where it sits.
type referenceKL struct {
	n, bad     int
	k1, k2, k3 float64
	responses  int
	top        []klToken // the largest, the largest first
}

type klToken struct {
	ratio, k3          float64
	step, response, at int
	id                 int32
}

// largestK3 is where verl clamps k3 of a token.
const largestK3 = 10

func (c *referenceKL) add(r *reader.Row) {
	c.responses++
	policy := r.Old
	if policy == nil {
		policy = r.New
	}
	if r.Ref == nil || policy == nil {
		return
	}
	for i, m := range r.Mask {
		if !m {
			continue
		}
		ratio := r.Ref[i] - policy[i]
		if !isFinite(ratio) {
			c.bad++
			continue
		}
		t := klToken{ratio, elementary.Expm1(min(ratio, 700)) - ratio, r.Step, c.responses, i, -1}
		if r.Token != nil {
			t.id = r.Token[i]
		}
		c.n++
		c.k1 -= ratio
		c.k2 += float64(ratio * ratio / 2)
		c.k3 += t.k3
		if at, _ := slices.BinarySearchFunc(c.top, t, func(a, b klToken) int { return cmp.Compare(b.k3, a.k3) }); at < topKL {
			c.top = slices.Insert(c.top, at, t)
			c.top = c.top[:min(len(c.top), topKL)]
		}
	}
}

func (c *referenceKL) findings(*Options) (found []Finding, columns []looked) {
	columns = []looked{{"reference log-probs", c.n > 0}}
	if c.n == 0 {
		return nil, columns
	}
	n := float64(c.n)
	sizes := fmt.Sprintf("k1 %.3g, k2 %.3g, k3 %.3g on average", c.k1/n, c.k2/n, c.k3/n)
	few, sum, lost := 0, 0.0, 0.0 // the fewest that hold nine tenths
	for few < len(c.top) && c.top[few].k3 > largestK3 && sum < 0.9*c.k3 {
		sum += c.top[few].k3
		lost += float64(c.top[few].ratio * c.top[few].ratio / 2)
		few++
	}
	if few == 0 || sum < c.k3/2 {
		return learns("reference-kl", Note, "", "KL to the reference: %s", sizes), columns
	}
	f := learns("reference-kl-outlier", Fault, "clamp the log-ratio to the reference (verl clamps k3 of a token at 10), or use k1 or k2 in the penalty; look at what the reference makes of this token",
		"%s of %s hold%s %.0f %% of the k3 to the reference, the largest e^%.1f: %s; without %s k2 is %.2g",
		count(few, "token"), thousands(n), map[bool]string{true: "s"}[few == 1], 100*sum/c.k3, c.top[0].ratio, sizes, map[bool]string{true: "it", false: "them"}[few == 1], (c.k2-lost)/n)
	f[0].Where = fmt.Sprintf("response %d, token %d", c.top[0].response, c.top[0].at+1)
	if c.top[0].id >= 0 {
		f[0].Where += fmt.Sprintf(", id %d", c.top[0].id)
	}
	if c.top[0].step != reader.Unknown {
		f[0].Where += fmt.Sprintf(", step %d", c.top[0].step)
	}
	return f, columns
}

// ownMask measures what the trainer's own correction has removed.
type ownMask struct {
	n, masked, last    int
	responses, gone    int
	k3, k3Left         float64
	positive, negative tokenCount
	ids                map[int32]*tokenCount
}

// mostIDs bounds how many ids are counted.
const mostIDs = 1 << 18

func (c *ownMask) add(r *reader.Row) {
	if r.Masked == nil {
		return
	}
	trained, masked := 0, 0
	for i, m := range r.Mask {
		if !m {
			continue
		}
		off := r.Masked[i]
		trained++
		masked += count1(off)
		c.last += count1(off && !slices.Contains(r.Mask[i+1:], true))
		if r.Roll != nil && r.Old != nil && isFinite(r.Old[i]-r.Roll[i]) {
			x := k3Of(r.Old[i] - r.Roll[i])
			c.k3 += x
			if !off {
				c.k3Left += x
			}
		}
		if r.Advantage != nil {
			if a := r.Advantage[i]; a > 0 {
				c.positive.add(off)
			} else if a < 0 {
				c.negative.add(off)
			}
		}
		if r.Token == nil {
			continue
		}
		if c.ids == nil {
			c.ids = map[int32]*tokenCount{}
		}
		if id := r.Token[i]; c.ids[id] != nil {
			c.ids[id].add(off)
		} else if len(c.ids) < mostIDs {
			c.ids[id] = &tokenCount{1, count1(off)}
		}
	}
	if trained > 0 {
		c.responses++
		c.gone += count1(masked == trained)
	}
	c.n, c.masked = c.n+trained, c.masked+masked
}

// concentrated is the part of the masked tokens that a few ids hold, which have a tenth of it of all tokens.
const concentrated = 0.5

func (c *ownMask) findings(*Options) (found []Finding, columns []looked) {
	columns = []looked{{"the trainer's own mask", c.n > 0}}
	switch {
	case c.n == 0:
		return nil, columns
	case c.masked == 0:
		return learns("own-mask", Note, "", "the file's own mask (is_masked) removes no token"), columns
	}
	where := ""
	ids := slices.SortedFunc(maps.Keys(c.ids), func(a, b int32) int {
		return cmp.Or(c.ids[b].off-c.ids[a].off, int(a-b))
	})
	all, off := 0, 0
	for n, id := range ids[:min(3, len(ids))] {
		all, off = all+c.ids[id].all, off+c.ids[id].off
		if part := share(off, c.masked); part >= concentrated && share(all, c.n) < part/10 {
			where = fmt.Sprintf("%.0f %% of them have the ids %v, which are %.2g %% of the tokens", 100*part, ids[:n+1], 100*share(all, c.n))
			break
		}
	}
	if where == "" && c.last > c.masked/2 {
		where = fmt.Sprintf("%d of %d are the last token of a response", c.last, c.masked)
	}
	text := fmt.Sprintf("the file's own mask (is_masked) removes %.3g %% of the tokens and %d of %s whole", 100*share(c.masked, c.n), c.gone, count(c.responses, "response"))
	if c.k3 > 0 {
		text += fmt.Sprintf(", with %.0f %% of the k3 between the engines", 100*(1-c.k3Left/c.k3))
	}
	if c.positive.all > 0 && c.negative.all > 0 {
		text += fmt.Sprintf("; %.2g %% of the tokens with positive and %.2g %% of those with negative advantage", 100*c.positive.share(), 100*c.negative.share())
	}
	level, next := Note, ""
	if share(c.masked, c.n) > mostMasked {
		level, next = Warning, "find out why more than a quarter is masked: that is a loss of data and no correction (survey)"
	}
	f := learns("own-mask", level, next, "%s", text)
	f[0].Where = where
	return f, columns
}

// sureness finds a policy whose entropy has collapsed, by the recorded entropy or by how sure it is of what it samples.
type sureness struct {
	steps bySteps
	all   stepSum
	sure  int  // tokens that are all but certain
	own   bool // entropies are recorded
}

const (
	// collapsed is the entropy, in nats a token, below which samples of a prompt hardly differ: at 0.01 nine of ten responses
	// of ten tokens are the likeliest one.
	collapsed = 0.01
	// certain is the surprisal of a token whose probability is 0.9999, mostCertain the share of those from which a
	// policy is nearly deterministic: of ten successive tokens nine leave no choice.
	certain, mostCertain = 1e-4, 0.9
	// fallsTo is the part of the first step's entropy that a series ends at where it has collapsed.
	fallsTo = 0.1
)

func (c *sureness) add(r *reader.Row) {
	column, sign := r.Entropy, 1.0
	if column == nil {
		if column, sign = r.Old, -1; column == nil {
			column = r.Roll
		}
	}
	if column == nil {
		return
	}
	c.own = c.own || r.Entropy != nil
	s := c.steps.at(r.Step)
	for i, m := range r.Mask {
		if x := float64(sign * column[i]); m && isLogp(-x) {
			c.all.join(stepSum{1, x, 0})
			s.join(stepSum{1, x, 0})
			c.sure += count1(x < certain)
		}
	}
}

func (c *sureness) findings(*Options) (found []Finding, columns []looked) {
	if c.all.n < leastTokens {
		return nil, nil
	}
	what := "mean surprisal of the sampled tokens"
	if c.own {
		what = "mean entropy"
	}
	steps, sums := c.steps.inOrder()
	first, last := sums[0], sums[len(sums)-1]
	next := "raise the entropy: a larger upper clip, a higher temperature, or an earlier checkpoint; responses to a prompt are nearly all alike"
	switch {
	case c.all.mean() < collapsed || share(c.sure, c.all.n) >= mostCertain:
		return learns("entropy-collapse", Warning, next, "the policy is nearly deterministic (entropy collapsed): %s %.2g nats, below %v at %.0f %% of the tokens", what, c.all.mean(), certain, 100*share(c.sure, c.all.n)), nil
	case len(steps) > 1 && min(first.n, last.n) >= leastTokens && last.mean() < fallsTo*first.mean():
		return learns("entropy-collapse", Warning, next, "the entropy collapses: %s %.2g nats at step %d, %.2g at step %d", what, first.mean(), steps[0], last.mean(), steps[len(steps)-1]), nil
	}
	return nil, nil
}

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
	if b.sums == nil {
		b.sums = map[int]*stepSum{}
	}
	for b.sums[step>>b.shift] == nil {
		if len(b.sums) < mostSteps {
			b.sums[step>>b.shift] = &stepSum{}
			break
		}
		joined := map[int]*stepSum{}
		for key, s := range b.sums { // sums of two, in any order
			if other := joined[key>>1]; other != nil {
				other.join(*s)
			} else {
				joined[key>>1] = s
			}
		}
		b.sums, b.shift = joined, b.shift+1
	}
	return b.sums[step>>b.shift]
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
	before := medianOf(valuesOf(points[:from], func(x stepPoint) float64 { return x.size }))
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

// mannKendall is the one-sided p of at least as many rising pairs if no step differed from another, 1 where half of the pairs fall.
func mannKendall(list []stepPoint) float64 {
	n, falling := len(list), 0
	for j := range list {
		for i := range j {
			falling += count1(list[i].log >= list[j].log)
		}
	}
	if 4*falling >= n*(n-1) {
		return 1
	}
	chance := make([]float64, falling+1) // by the number of falling pairs
	chance[0] = 1
	for k := 2; k <= n; k++ {
		next := make([]float64, len(chance))
		for at, p := range chance {
			for more := 0; more < k && at+more < len(next) && p > 0; more++ {
				next[at+more] += p / float64(k)
			}
		}
		chance = next
	}
	p := 0.0
	for _, x := range chance {
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
	at := momentsOf(valuesOf(list, func(p stepPoint) float64 { return p.at }))
	level := momentsOf(valuesOf(list, func(p stepPoint) float64 { return p.log - float64(slope*p.at) }))
	off := medianOf(valuesOf(list, func(p stepPoint) float64 { return abs(p.log - float64(slope*p.at) - level.mean) }))
	se := 1.4826 * off / (at.deviation * math.Sqrt(float64(len(list)))) // of a normal scatter, by its median
	return max(grownBy, elementary.Exp(min((zTrend+zPower)*se*(list[len(list)-1].at-list[0].at), overflow)))
}

// onsetAt is the first step of the raised gap: from it on every step has more than any step before. Of several such steps it is the
// first whose rise over all before is at least half of the greatest, and where there is none, the step that parts the series
// into two levels best.
func onsetAt(list []stepPoint) int {
	logs := valuesOf(list, func(p stepPoint) float64 { return p.log })
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
