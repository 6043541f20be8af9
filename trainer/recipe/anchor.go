package recipe

import "driftlab/trainer/method/correction"

// AnchorPolicy is the policy in the place of the old one.
type AnchorPolicy string

// The anchors.
const (
	AnchorOld       AnchorPolicy = "old"
	AnchorBehaviour AnchorPolicy = "behaviour"
	AnchorRollout   AnchorPolicy = "rollout"
	AnchorEWMA      AnchorPolicy = "ewma"
	// AnchorSync is the learner at the last publication.
	AnchorSync AnchorPolicy = "sync_start"
	// AnchorInterpolated is A-3PO's mixture.
	AnchorInterpolated AnchorPolicy = "interpolated"
)

// defaultAnchorDecay has its centre of mass at 8 steps.
const defaultAnchorDecay = 0.889

// Anchored is the recipe's anchor: what it says, or what the mode of its
// correction means, or what its schedule does.
func (r Recipe) Anchored() AnchorPolicy {
	switch {
	case r.Anchor != nil:
		return *r.Anchor
	case r.Correction.Mode == correction.Bypass:
		return AnchorRollout
	}
	return r.old()
}

// Mode says when the correction compares which policies: bypass, the current
// policy with mu at every gradient step, where mu is the anchor.
func (r Recipe) Mode() correction.Mode {
	if r.Anchored() == AnchorRollout {
		return correction.Bypass
	}
	return correction.Decoupled
}

// Decay is that of an anchor that is a moving average.
func (r Recipe) Decay() float64 {
	if r.AnchorDecay != nil {
		return *r.AnchorDecay
	}
	return defaultAnchorDecay
}

// anchor checks the anchor against the correction's mode.
func (c *checker) anchor(r Recipe) {
	if r.AnchorDecay != nil {
		c.that(r.Anchored() == AnchorEWMA, "anchor_decay", "only anchor ewma has a decay: set anchor to ewma, or leave it out")
	}
	if r.Anchor == nil {
		return
	}
	c.that(*r.Anchor != AnchorSync || r.Schedule.Name == "" || r.OnClock(), "anchor", "sync_start is the last publication of a schedule on a clock, and %s has none: use old", r.Schedule.Name)
	c.that(r.Correction.Mode != correction.Bypass || *r.Anchor == AnchorRollout, "anchor",
		"%s, and correction.mode bypass is anchor rollout: leave one of the two out", *r.Anchor)
}
