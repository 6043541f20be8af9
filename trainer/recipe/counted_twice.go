package recipe

import (
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
)

// countedTwice refuses a weight that the loss contains already: verl drops it
// there, and a run that multiplies it in corrects the gap a second time.
func (c *checker) countedTwice(r Recipe) {
	binary := false
	if w, ok := r.Correction.Weights.Params.(*correction.IcePop); ok {
		binary = w.Binary
	}
	if r.Correction.Weights.Name == "" || r.Correction.Weights.Name == "none" || binary || r.Loss.Name == "" {
		return
	}
	const path = "correction.weights.name"
	switch p := r.Loss.Params.(type) {
	case *loss.DecoupledPPO:
		c.that(p.Behave == "none", path, "the loss %s with behave %s weighs by exp(prox − roll) itself, and %s would count that twice: "+
			"set loss.behave to none, or use weights none", r.Loss.Name, p.Behave, r.Correction.Weights.Name)
	case *loss.ACR:
		c.that(false, path, "the loss %s weighs by min(exp(old − roll), cap) itself, and %s would count that twice: use weights none",
			r.Loss.Name, r.Correction.Weights.Name)
	default:
		c.that(r.Mode() != correction.Bypass || !r.Loss.Spec().Reads(batch.Anchor), path,
			"in bypass mode the ratio of the loss %s is that to the rollout engine, and %s would count it twice: use weights none, or loss reinforce",
			r.Loss.Name, r.Correction.Weights.Name)
	}
}

// publishedLoss refuses verl's policy-gradient presets with another kind of
// loss: by its name a preset promises one, and the section cannot bring it.
func (d *decoder) publishedLoss(r Recipe) {
	if d.published == nil || r.Loss.Name == "" {
		return
	}
	p, err := correction.LookupPreset(d.published.Value)
	if err == nil && p.Loss == "reinforce" && r.Loss.Spec().Reads(batch.Anchor) {
		d.fault(d.published, "correction", "%s is verl's policy gradient without a ratio, and the loss is %s: set loss to reinforce", p.Name, r.Loss.Name)
	}
}
