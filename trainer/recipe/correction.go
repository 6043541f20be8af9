package recipe

import (
	"reflect"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"

	"go.yaml.in/yaml/v4"
)

// Correction is the section that handles the gap between the engines.
type Correction struct {
	Mode           correction.Mode              `yaml:"mode" default:"decoupled" oneof:"decoupled bypass"`
	Weights        Choice[correction.Weighting] `yaml:"weights" default:"none"`
	BatchNormalize bool                         `yaml:"batch_normalize"`
	Masks          []Choice[correction.Masking] `yaml:"masks"`
	Clamp          float64                      `yaml:"clamp"`
	Order          correction.Order             `yaml:"order" default:"independent" oneof:"independent sequential"`
	WeightsAfter   int                          `yaml:"weights_after"`
	Denominator    correction.Denominator       `yaml:"denominator" default:"post" oneof:"post pre"`
	Names          string                       `yaml:"names" default:"verl" oneof:"verl skyrl nemo-rl miles"`
}

// Pipeline returns a fresh pipeline that does what the section says.
func (c Correction) Pipeline() *correction.Pipeline {
	p := &correction.Pipeline{
		Mode: c.Mode, BatchNormalize: c.BatchNormalize, Order: c.Order, Clamp: c.Clamp,
		WeightsAfter: c.WeightsAfter, Denominator: c.Denominator, Names: c.Names,
	}
	if c.Weights.Name != "none" {
		p.Weights = c.Weights.New()
	}
	for _, m := range c.Masks {
		p.Masks = append(p.Masks, m.New())
	}
	return p
}

func (c *Correction) read(d *decoder, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		c.preset(d, n, path)
		return
	}
	// The preset comes first wherever it stands: the other fields change it.
	if preset := find(n, "preset"); preset != nil {
		c.preset(d, preset, join(path, "preset"))
	}
	d.structure(n, path, reflect.ValueOf(c).Elem(), "preset")
}

// preset replaces the section by a published one.
func (c *Correction) preset(d *decoder, n *yaml.Node, path string) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		d.expected(n, path, "a mapping, or the name of a published correction")
		return
	}
	p, err := correction.LookupPreset(n.Value)
	if err != nil {
		d.fault(n, path, "%v", err)
		return
	}
	doc, err := readTree(n.Value, []byte(p.New().Recipe()))
	if err != nil {
		panic("recipe: preset " + n.Value + ": " + err.Error())
	}
	d.published = n
	*c = *method.New[Correction]()
	section := decoder{doc: doc}
	section.structure(find(doc.root, "correction"), path, reflect.ValueOf(c).Elem())
	if len(section.faults) > 0 {
		panic("recipe: preset " + n.Value + ": " + section.faults.Error())
	}
}

// countedTwice refuses a weight that the loss contains already: verl drops it
// there, and a run that multiplies it in corrects the gap a second time.
func (c *checker) countedTwice(r Recipe) {
	weights := r.Correction.Weights.Name
	w, ok := r.Correction.Weights.Params.(*correction.IcePop)
	if weights == "" || weights == "none" || ok && w.Binary || r.Loss.Name == "" {
		return
	}
	const path = "correction.weights.name"
	if v, ok := r.Loss.Params.(*loss.VESPO); ok {
		c.that(v.SequenceWeights || r.Correction.Weights.Params.Level() != method.Sequence, "loss.sequence_weights", "%s gives each response one weight, which vespo would take for each token again: set it to true", weights)
	}
	switch d := r.Loss.Params.(type) {
	case decoupled:
		c.that(d.Decoupled().Behave == "none", path, "the loss %s with behave %s weighs by exp(prox − roll) itself, and %s would count that twice: "+
			"set loss.behave to none, or use weights none", r.Loss.Name, d.Decoupled().Behave, weights)
	case *loss.ACR:
		c.that(false, path, "the loss %s weighs by min(exp(old − roll), cap) itself, and %s would count that twice: use weights none", r.Loss.Name, weights)
	default:
		c.that(r.Mode() != correction.Bypass || !r.Loss.Spec().Reads(batch.Anchor), path,
			"in bypass mode the ratio of the loss %s is that to the rollout engine, and %s would count it twice: use weights none, or loss reinforce",
			r.Loss.Name, weights)
	}
}

// decoupled is a loss with the parameters of decoupled PPO.
type decoupled interface{ Decoupled() *loss.DecoupledPPO }

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
	// AnchorMixture is the mixture of the versions that sampled the batch.
	AnchorMixture AnchorPolicy = "mixture"
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

// Decay is the decay of an anchor that is a moving average.
func (r Recipe) Decay() float64 {
	if r.AnchorDecay != nil {
		return *r.AnchorDecay
	}
	return defaultAnchorDecay
}

// mixture checks that nothing else divides by the probability under the version that sampled a token.
func (c *checker) mixture(r Recipe) {
	const twice = "%s divides by the probability under the version that sampled the token, and anchor mixture has the mixture of all versions in its place: %s"
	weights := r.Correction.Weights.Name
	c.that(weights == "" || weights == "none", "correction.weights.name", twice, weights, "use weights none")
	if p, ok := r.Loss.Params.(decoupled); ok {
		c.that(p.Decoupled().Behave == "none", "loss.behave", twice, p.Decoupled().Behave, "use none")
	} else if r.Loss.Name != "" {
		c.that(!r.Loss.Spec().Reads(batch.LogpRoll), "loss", twice, r.Loss.Name, "use ppo_clip or another loss that reads the anchor alone")
	}
	c.that(!r.Routing.FromRollout(), "anchor", "mixture scores each token with versions that did not sample it, whose expert choices are not on record: set routing.replay to none, or use anchor behaviour")
}

// anchor checks the anchor against the correction's mode.
func (c *checker) anchor(r Recipe) {
	if r.AnchorDecay != nil {
		c.that(r.Anchored() == AnchorEWMA, "anchor_decay", "only anchor ewma has a decay: set anchor to ewma, or leave it out")
	}
	if p, ok := r.Loss.Params.(*loss.PPOClip); ok {
		c.that(p.Centering == nil || r.Anchored() == AnchorOld, "loss.centering", "in ppo_clip its expectation has the old policy, and the anchor is %s: use anchor old and mode decoupled, or loss reinforce", r.Anchored())
	}
	if r.Anchor == nil {
		return
	}
	c.that(*r.Anchor != AnchorSync || r.Schedule.Name == "" || r.OnClock(), "anchor", "sync_start is the last publication of a schedule on a clock, and %s has none: use old", r.Schedule.Name)
	if *r.Anchor == AnchorMixture {
		c.mixture(r)
	}
	c.that(r.Correction.Mode != correction.Bypass || *r.Anchor == AnchorRollout, "anchor",
		"%s, and correction.mode bypass is anchor rollout: leave one of the two out", *r.Anchor)
}
