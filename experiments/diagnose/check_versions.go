package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
)

// versionTag finds versions that cannot be: newer than the step that trained, or
// falling inside a response.
type versionTag struct{ tagged, newer, falling, lags, impossible int }

func (c *versionTag) add(v *view) {
	r := v.row
	if isFinite(r.Lag) && len(v.at) > 0 {
		c.lags++
		c.impossible += count1(r.Lag < 0 || r.Step != reader.Unknown && r.Learner == 0 && r.Lag > float64(r.Step))
	}
	if r.Tail == reader.Unknown || r.Step == reader.Unknown {
		return
	}
	c.tagged++
	if r.Tail > cmp.Or(r.Learner, r.Step) {
		c.newer++
	}
	for n := 1; n < len(v.at) && r.Version != nil; n++ {
		if r.Version[v.at[n]] < r.Version[v.at[n-1]] {
			c.falling++
			break
		}
	}
}

// retag is what to do about versions that cannot be.
const retag = "tag every token with the version whose weights sampled it: lag and staleness limits are meaningless until then"

func (c *versionTag) judge(*evidence) outcome {
	value := share(c.newer+c.falling, c.tagged)
	switch {
	case c.impossible > 0:
		return fail(share(c.impossible, c.lags), fmt.Sprintf("%d of %d responses have a recorded lag that is negative, or of more updates than the run had made", c.impossible, c.lags), retag)
	case c.tagged == 0:
		return notApplicable("no version is recorded")
	case c.newer > 0:
		return fail(value, fmt.Sprintf("%d of %d responses have a version that is newer than their step", c.newer, c.tagged), retag)
	case c.falling > 0:
		return fail(value, fmt.Sprintf("in %d of %d responses the version falls from token to token", c.falling, c.tagged), retag)
	}
	return pass(value, "")
}

const (
	// leastShared is how many tokens behind an equal prefix are needed, equalWithin a
	// spread that is none, and anotherContext one that no engine has by itself.
	leastShared    = 20
	equalWithin    = 1e-6
	anotherContext = 0.3
)

// samePrefix compares tokens behind the same prompt and the same beginning: an
// engine that scores them differently depends on its batch or its cache.
type samePrefix struct{}

func (samePrefix) add(*view) {}

func (samePrefix) judge(e *evidence) outcome {
	type scores struct{ roll, old float64 }
	seen := map[uint64]scores{}
	shared := 0
	var roll, old float64
	for _, k := range e.sample {
		if !k.first || k.id == nil {
			continue
		}
		h := k.prompt
		for i := range k.id {
			h = hashIDs(h, k.id[i:i+1])
			before, known := seen[h]
			if !known {
				seen[h] = scores{k.roll[i], k.old[i]}
				continue
			}
			shared++
			roll += math.Abs(k.roll[i] - before.roll)
			old += math.Abs(k.old[i] - before.old)
		}
	}
	if shared < leastShared {
		return notApplicable("too few responses begin alike")
	}
	roll, old = roll/float64(shared), old/float64(shared)
	value := max(roll, old)
	switch {
	case roll > anotherContext && old > anotherContext:
		return notApplicable("responses with equal tokens had different contexts")
	case roll > equalWithin && old <= equalWithin:
		return watch(value, fmt.Sprintf("the rollout engine scores the same tokens behind the same prefix differently, by %.2g: it depends on its batch or its cache", roll))
	case old > equalWithin && roll <= equalWithin:
		return watch(value, fmt.Sprintf("the learner scores the same tokens behind the same prefix differently, by %.2g: it depends on its batch", old))
	case value > equalWithin:
		return watch(value, fmt.Sprintf("both engines score the same tokens behind the same prefix differently, by %.2g and %.2g", roll, old))
	}
	return pass(value, "")
}

// The causes that are classified by where a gap begins, in dumps from the start of a run whose engines are otherwise equal in every bit.
const (
	// StalePrefix is a prefix cache that outlives a weight sync, PartialSync a weight sync that misses tensors, workers or
	// a step, Adapters a LoRA adapter that one engine merges into rounded weights and the other computes as a product of its own.
	StalePrefix = "stale prefix cache"
	PartialSync = "partial weight sync"
	Adapters    = "adapter merged in one engine"
)

// repairs say what to do about a fault of the stack. A correction only hides it.
var repairs = map[string]string{
	Sampler:     "replay the recorded support in the learner, or sample with top-p 1 and without top-k",
	Unsynced:    "repair the weight sync: reload the weights after the engine wakes up, and compare a checksum of every weight of the two engines right after a sync (all differ where none arrives, some where a part is missed); a correction only hides the fault",
	PartialSync: "repair the weight sync: find the tensors or workers of the rollout engine that differ from the learner's right after a sync; a correction only hides the fault",
	StalePrefix: "flush the prefix cache at every weight sync, or make the version of the weights a part of its keys; a correction only hides the fault",
	Index:       "replay the positions that the rollout engine's index chose in the learner, or give both indices the same number format; a correction only hides the fault",
	Adapters:    "apply the adapter alike in both engines: merged in both, or unmerged in both; a correction only hides the fault",
}

const (
	// leastSteps is how many steps an onset needs, leastOfStep how many responses each of them.
	leastSteps, leastOfStep = 3, 8
	// nearlyAll and nearlyNone are shares of responses: nearly all, and nearly none.
	nearlyAll, nearlyNone = 0.9, 0.1
	// flatUpTo and growsFrom bound the slope of log size on the log of the updates since the onset: rounding has none,
	// weights that stay behind move away about in proportion.
	flatUpTo, growsFrom = 0.3, 0.5
)

// onset is where a gap begins, if the first steps of a dump have none. The cause is empty where several explain it.
type onset struct {
	step  int
	cause string
	other string // the cause that the dump cannot tell from it, empty if none
	why   string
}

// stepSizes are the sizes of the gap of a step's responses: the median |u| of each, of prompts that an earlier step had, and of others.
type stepSizes struct {
	step          int
	recur, unique []float64
}

// onsetOf looks for it; nil where there is none.
func onsetOf(rows []*kept) *onset {
	steps := sizesByStep(rows)
	if len(steps) < leastSteps {
		return nil
	}
	var all, recur, unique []float64 // shares of responses with a gap, by step; their sizes after the first step
	for i, s := range steps {
		if len(s.recur)+len(s.unique) < leastOfStep {
			return nil
		}
		all = append(all, gapShare(slices.Concat(s.recur, s.unique)))
		if i > 0 {
			recur, unique = append(recur, s.recur...), append(unique, s.unique...)
		}
	}
	if all[0] > 0 {
		return onsetAboveFloor(steps, rows)
	}
	from := slices.IndexFunc(all, func(x float64) bool { return x > 0 })
	if from < 0 {
		return nil
	}
	o := &onset{step: steps[from].step}
	if lag := meanLag(rows); lag == nil || *lag > 0 {
		// Stale rollouts begin to differ with the first update, too.
		if !separated(all) {
			return nil
		}
		o.why = fmt.Sprintf("the engines are equal to the last bit before step %d", o.step)
		return o
	}
	again, first := gapShare(recur), gapShare(unique)
	switch to := from + runOf(all[from:]); {
	case len(recur) >= leastOfStep && len(unique) >= leastOfStep && again >= nearlyAll && first <= 0.5 && !separated(all):
		o.cause = StalePrefix
		o.why = fmt.Sprintf("%.0f %% of the responses to prompts of earlier steps differ, and %.0f %% of those to new prompts, although all have the current weights", 100*again, 100*first)
	case separated(all) && len(recur) >= leastOfStep && len(unique) >= leastOfStep && again >= nearlyAll && first <= nearlyNone:
		o.cause, o.other = StalePrefix, PartialSync
		o.why = fmt.Sprintf("the engines are equal to the last bit before step %d, the first whose prompts occurred before", o.step)
	case separated(all) && to < len(all):
		o.cause = PartialSync
		o.why = fmt.Sprintf("the engines are equal to the last bit except at step %s: a weight sync was missed, as at a resume", span(steps[from].step, steps[to-1].step))
	case separated(all) && to-from >= leastSteps:
		switch slope := growth(steps[from:]); {
		case slope >= growsFrom:
			o.cause, o.other = Unsynced, PartialSync
			o.why = fmt.Sprintf("the engines are equal to the last bit before step %d, and differ the more the more updates follow (exponent %.2f), although every version is the current one: %s", o.step, slope, stays(o.step))
		case slope <= flatUpTo:
			o.cause = Adapters
			o.why = fmt.Sprintf("the engines are equal to the last bit before step %d, and differ by as much at every step after it (exponent %.2f): they are equal until an adapter is not zero", o.step, slope)
		default:
			o.why = fmt.Sprintf("the engines are equal to the last bit before step %d", o.step)
		}
	case mixedFrom(all[from:]) && (len(recur) < leastOfStep || len(unique) < leastOfStep || math.Abs(again-first) < 0.3):
		o.cause = PartialSync
		o.why = fmt.Sprintf("from step %d on %.0f %% of the responses differ and the others are equal to the last bit, whatever their prompt: some workers keep old weights", o.step, 100*gapShare(slices.Concat(recur, unique)))
	default:
		return nil
	}
	return o
}

// stays says what a gap that grows from a step on means.
func stays(step int) string {
	return fmt.Sprintf("from step %d on the rollout engine has the weights of before step %d, as where no sync reaches it (reload them after every wake-up), or every sync misses a part of them", step, step)
}

// sizesByStep takes responses apart by step, in the order of steps; nil where a step or a prompt is unknown.
func sizesByStep(rows []*kept) (steps []stepSizes) {
	order := slices.Clone(rows)
	slices.SortStableFunc(order, func(a, b *kept) int { return a.step - b.step })
	seen := map[uint64]int{} // the first step of a prompt
	for _, k := range order {
		if k.step < 0 || !k.prompted {
			return nil
		}
		if n := len(steps); n == 0 || steps[n-1].step != k.step {
			steps = append(steps, stepSizes{step: k.step})
		}
		size, ok := sizeOf(k)
		if !ok {
			continue
		}
		s := &steps[len(steps)-1]
		if at, known := seen[k.prompt]; known && at < k.step {
			s.recur = append(s.recur, size)
		} else {
			seen[k.prompt], s.unique = k.step, append(s.unique, size)
		}
	}
	return steps
}

// sizeOf is the median |u| of a response with at least some tokens in doubt, in logits.
func sizeOf(k *kept) (float64, bool) {
	var size []float64
	for i, roll := range k.roll {
		if u, _, q := logitError(roll, k.old[i]); q >= leastDoubt {
			size = append(size, math.Abs(u))
		}
	}
	return medianOf(size), len(size) > 0
}

// gapShare is the share of sizes that are more than the last bits of fp32.
func gapShare(sizes []float64) float64 {
	n := 0
	for _, x := range sizes {
		n += count1(x >= finest)
	}
	return share(n, len(sizes))
}

// separated reports whether in every step nearly all responses have a gap, or nearly none.
func separated(shares []float64) bool {
	return !slices.ContainsFunc(shares, func(x float64) bool { return x > nearlyNone && x < nearlyAll })
}

// runOf is how many of the first steps have a gap.
func runOf(shares []float64) int {
	if n := slices.IndexFunc(shares, func(x float64) bool { return x < nearlyAll }); n >= 0 {
		return n
	}
	return len(shares)
}

// mixedFrom reports whether in every step some responses have a gap, and others none.
func mixedFrom(shares []float64) bool {
	return len(shares) >= leastSteps-1 && !slices.ContainsFunc(shares, func(x float64) bool { return x < 0.02 || x > nearlyAll })
}

// growth is the slope of the log of a step's median size on the log of the updates since the onset.
func growth(steps []stepSizes) float64 {
	var m moments
	for _, s := range steps {
		if x := medianOf(slices.Concat(s.recur, s.unique)); x > 0 {
			m.add(elementary.Log(float64(s.step-steps[0].step+1)), elementary.Log(x))
		}
	}
	if xx, _, xy := m.centred(); xx > 0 {
		return xy / xx
	}
	return 0
}

// span is a step, or the first and the last of several.
func span(from, to int) string {
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d to %d", from, to)
}
