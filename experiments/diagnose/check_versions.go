package diagnose

import (
	"cmp"
	"fmt"
	"math"

	"driftlab/experiments/diagnose/reader"
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
	c.newer += count1(r.Tail > cmp.Or(r.Learner, r.Step))
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
	// leastShared is how many tokens after an equal prefix are needed, equalWithin a
	// spread that is none, and anotherContext one that no engine has by itself.
	leastShared    = 20
	equalWithin    = 1e-6
	anotherContext = 0.3
)

// samePrefix compares tokens after the same prompt and the same beginning: an
// engine that scores them differently depends on its batch or its cache.
func samePrefix(e *evidence) outcome {
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
