package loss

import (
	"cmp"
	"math"
	"slices"

	"driftlab/engine/column"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/trace"
)

// frame is what every loss shares: the tokens to sum over, the weight of each,
// and the detached log-probs. Behind it are the pieces that most losses have: the ratio
// and its clip.
type frame struct {
	out    *Grad
	in     *batch.Batch
	active []bool
	// rowWeight is agg_i, per response.
	rowWeight []float64
	// sg is the current log-prob where the method detaches it. It is in.Now.Logp,
	// except where Grad.frozen holds it fixed.
	sg []float64
	// tokens is the number of active tokens.
	tokens float64
	// row is the response whose tokens rowTokens goes through.
	row int
	// err is why a loss cannot be computed.
	err error
}

// withFrame clears out, prepares its frame and computes the loss in it; needs are columns beyond Mask and Logp.
func withFrame(out *Grad, in *batch.Batch, agg Aggregation, needs batch.Columns, loss func(f *frame)) error {
	out.Reset(in.Tokens())
	out.rejected = out.rejected[:0]
	out.frame = frame{out: out, in: in, sg: out.detached(in)}
	f := &out.frame
	if err := cmp.Or(in.Require(batch.Mask, batch.Logp), in.Require(needs...)); err != nil {
		return err
	}
	f.active = in.Active()
	f.rowWeight = out.work(0, in.Len())
	if err := agg.RowWeights(f.rowWeight, in, &out.groups); err != nil {
		return err
	}
	f.tokens = float64(masked.Count(f.active))
	if out.record != nil {
		out.record.frame, out.record.needs = *f, slices.Clone(needs)
	}
	loss(f)
	return f.err
}

// detached are the log-probs that a gradient does not go through.
func (g *Grad) detached(in *batch.Batch) []float64 {
	return either(g.frozen != nil, g.frozen, in.Now.Logp)
}

// restrict leaves the tokens out that the mask does not have.
func (f *frame) restrict(mask []bool) {
	f.out.left = append(f.out.left[:0], f.active...)
	for n := range masked.Kept(f.active) {
		if !mask[n] {
			f.tokens--
			f.out.left[n] = false
			f.begin(n)
			f.took(trace.Dropped)
		}
	}
	f.active = f.out.left
}

// restrictToOpen leaves the tokens out whose gate is closed.
func (f *frame) restrictToOpen() {
	if f.in.Gate != nil {
		f.restrict(f.in.Gate)
	}
}

// groups are the prompt groups of the batch.
func (f *frame) groups() *batch.Groups {
	f.out.groups.Find(f.in.Group)
	return &f.out.groups
}

// rewards gathers the rewards of these responses, until its next call.
func (f *frame) rewards(rows []int) []float64 {
	f.out.gathered = column.Gather(f.out.gathered, f.in.Reward, column.PerResponse, &f.in.Sampled, rows)
	return f.out.gathered
}

// weight is the factor of token n of response i in the loss: aggregation,
// importance weight and gate.
func (f *frame) weight(i, n int) float64 {
	w := f.gated(i, n)
	if f.in.Weight != nil {
		w *= f.in.Weight[n]
	}
	return w
}

// gated is weight without the importance weight, for methods in which that
// weight enters elsewhere.
func (f *frame) gated(i, n int) float64 {
	if f.in.Gate != nil && !f.in.Gate[n] {
		return 0
	}
	return f.rowWeight[i]
}

// eachToken adds a loss that is separate in its tokens: term returns the value
// of token n and its derivative with respect to logp_n.
func (f *frame) eachToken(term func(n int) (value, dlogp float64)) {
	for i := range f.in.Len() {
		f.rowTokens(i, term)
	}
}

// rowTokens is eachToken for response i.
func (f *frame) rowTokens(i int, term func(n int) (value, dlogp float64)) {
	f.row = i
	for n := range f.in.Where(i, f.active) {
		f.begin(n)
		value, dlogp := term(n)
		f.note(trace.Value, value)
		f.note(trace.Slope, dlogp)
		if w := f.weight(i, n); w != 0 {
			f.add(n, w, float64(w*value))
			f.out.DLogp[n] += float64(w * dlogp)
		}
	}
}

// spread adds a derivative to every active token of response i.
func (f *frame) spread(i int, dlogp float64) {
	for n := range f.in.Where(i, f.active) {
		f.out.DLogp[n] += float64(dlogp) // rounded before it is added, whatever product it is
	}
}

// share records a figure that the active tokens of response i have in common.
func (f *frame) share(i int, name string, value float64) {
	if f.out.record == nil {
		return
	}
	for n := range f.in.Where(i, f.active) {
		f.begin(n)
		f.note(name, value)
	}
}

// length is the number of active tokens of response i.
func (f *frame) length(i int) float64 {
	from, to := f.in.Span(i)
	return float64(masked.Count(f.active[from:to]))
}

// sumLogRatio is Σ_t (logp - anchor) over the active tokens of response i.
func (f *frame) sumLogRatio(i int, logp, anchor []float64) float64 {
	sum := 0.0
	for n := range f.in.Where(i, f.active) {
		sum += logp[n] - anchor[n]
	}
	return sum
}

// mean is verl's masked_mean over the active tokens, given their sum.
func (f *frame) mean(sum float64) float64 { return sum / (f.tokens + 1e-8) }

// addKL logs actor/ppo_kl, the mean of anchor - logp, each clamped to the
// limit if that is not 0, as verl logs it.
func (f *frame) addKL(anchor []float64, limit float64) {
	sum := 0.0
	for n := range masked.Kept(f.active) {
		d := anchor[n] - f.in.Now.Logp[n]
		if limit > 0 {
			d = clamp(d, -limit, limit)
		}
		sum += d
	}
	f.out.Add("actor/ppo_kl", f.mean(sum))
}

// ratio returns exp(clamp(x, -limit, limit)) and its derivative with respect
// to x, zero where the clamp is active. A limit of 0 means no clamp.
func ratio(x, limit float64) (r, dr float64) {
	if limit > 0 && math.Abs(x) > limit {
		return elementary.Exp(clamp(x, -limit, limit)), 0
	}
	r = elementary.Exp(x)
	return r, r
}

// clamp limits x to [low, high].
func clamp(x, low, high float64) float64 { return min(max(x, low), high) }

// either is yes where the condition holds, else no.
func either[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}

// count is 1 for true, for sums of a condition over tokens.
func count(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}

// clipCounts are the tokens that a clip and a dual clip have left without a gradient.
type clipCounts struct{ upper, lower float64 }

// add counts a token and returns its term.
func (c *clipCounts) add(s surrogate) (value, dlogp float64) {
	c.upper += count(s.clipped)
	c.lower += count(s.dual)
	return s.value, s.dlogp
}

// surrogate is the clipped objective of one token.
type surrogate struct {
	value, dlogp  float64
	clipped, dual bool
}

// clipped evaluates PPO's surrogate at ratio r with derivative dr. Where two
// branches tie, automatic differentiation gives each half the gradient, and so
// does this: inside the band both are the same, so nothing is lost on-policy.
func clipped(a, r, dr, low, high, dualClip, delta float64) surrogate {
	free, dfree := r, dr
	if delta > 0 && r > delta {
		free, dfree = delta, 0
	}
	bound, dbound := clamp(r, low, high), dr
	if r < low || r > high {
		dbound = 0
	}
	l1, l2 := -a*free, -a*bound
	s := surrogate{clipped: l2 > l1}
	s.value, s.dlogp = pick(l1 > l2, l1, float64(-a*dfree), l2, float64(-a*dbound))
	if dualClip > 0 && a < 0 {
		l3 := -a * dualClip
		s.dual = s.value > l3
		s.value, s.dlogp = pick(s.value < l3, s.value, s.dlogp, l3, 0)
	}
	return s
}

// clipped is the clipped surrogate of the token at hand.
func (f *frame) clipped(a, r, dr, low, high, dualClip, delta float64) surrogate {
	s := clipped(a, r, dr, low, high, dualClip, delta)
	f.note("r", r)
	f.note("low", low)
	f.note("high", high)
	switch {
	case s.dual:
		f.took(trace.DualClipped)
	case s.clipped && r > high:
		f.took(trace.ClippedHigh)
	case s.clipped && r < low:
		f.took(trace.ClippedLow)
	case delta > 0 && r > delta && s.dlogp == 0:
		f.took(trace.Bounded)
	case dr == 0:
		f.took(trace.Clamped)
	}
	return s
}

// pick returns x if first, y if not, and half of each derivative if they tie.
func pick(first bool, x, dx, y, dy float64) (value, derivative float64) {
	switch {
	case x == y:
		return x, (dx + dy) / 2
	case first:
		return x, dx
	}
	return y, dy
}

// addClipFractions logs what verl logs for its clipped losses.
func (f *frame) addClipFractions(clips clipCounts, anchor []float64, limit float64) {
	f.addClipFraction(clips.upper, anchor, limit)
	f.out.Add("actor/pg_clipfrac_lower", f.mean(clips.lower))
}

// addClipFraction logs the share of the tokens that a loss clips, and the KL estimate.
func (f *frame) addClipFraction(clipped float64, anchor []float64, limit float64) {
	f.out.Add("actor/pg_clipfrac", f.mean(clipped))
	f.addKL(anchor, limit)
}

// spread is the mean and the range of a figure.
type spread struct{ count, sum, smallest, largest float64 }

func newSpread() spread { return spread{smallest: math.Inf(1), largest: math.Inf(-1)} }

func (s *spread) add(x float64) {
	s.count++
	s.sum += x
	s.smallest, s.largest = min(s.smallest, x), max(s.largest, x)
}

// log adds the figures under three names, if there was anything.
func (s *spread) log(out *Grad, mean, smallest, largest string) {
	if s.count > 0 {
		out.Add(mean, s.sum/s.count)
		out.Add(smallest, s.smallest)
		out.Add(largest, s.largest)
	}
}

// stop records the branch of token n of a response whose tokens have one term together.
func (f *frame) stop(n int, b trace.Branch) {
	f.begin(n)
	f.took(b)
}

// drop is the term of the token at hand where the loss leaves it out.
func (f *frame) drop() (value, dlogp float64) {
	f.took(trace.Dropped)
	return 0, 0
}

// reject is drop of token n by a mask of the loss, of which metrics count the tokens.
func (f *frame) reject(n int) (value, dlogp float64) {
	if len(f.out.rejected) == 0 {
		f.out.rejected = batch.Zeroed(f.out.rejected, f.in.Tokens())
	}
	f.out.rejected[n] = true
	f.begin(n)
	return f.drop()
}

// live is -A·r, differentiated through the ratio.
func (f *frame) live(a, r, dr float64) (value, dlogp float64) {
	f.note("r", r)
	if dr == 0 {
		f.took(trace.Clamped)
	}
	return -a * r, -a * dr
}

// detached is -sg[w]·A·logp.
func (f *frame) detached(w, a, logp float64) (value, dlogp float64) {
	f.note("w", w)
	return -w * a * logp, -w * a
}

// capped bounds a detached ratio by a limit, 0 for none; above says that it acted.
func (f *frame) capped(r, limit float64) (w float64, above bool) {
	if w = r; limit > 0 {
		w = min(r, limit)
	}
	f.weighed(r, w)
	return w, w < r
}

// weighed records a ratio and the weight that it becomes.
func (f *frame) weighed(r, w float64) {
	f.note("r", r)
	if w != r {
		f.took(trace.Capped)
	}
}

// Anchor is the policy in the denominator of a ratio.
type Anchor string

// The anchors: the recipe's, by default the learner before the step's first update,
// and the rollout engine.
const (
	Old  Anchor = "old"
	Roll Anchor = "roll"
)

// Column is the batch column of the anchor's log-probs.
func (a Anchor) Column() batch.Column { return either(a == Roll, batch.LogpRoll, batch.Anchor) }

// Of returns the anchor's log-probs.
func (a Anchor) Of(in *batch.Batch) []float64 { return either(a == Roll, in.LogpRoll, in.Anchor) }
