package recipe

import (
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
)

// Distillation says which responses the teacher guides, and whether the teacher signal replaces their advantages.
type Distillation struct {
	Advantage string  `yaml:"advantage" default:"separate" oneof:"separate scaled raw joint none"`
	PassRate  float64 `yaml:"pass_rate" default:"1" range:"[0,1]"`
	Failed    bool    `yaml:"failed"`
	Horizon   int     `yaml:"horizon" range:"[0,2^16]"`
	Stop      string  `yaml:"stop" default:"same" oneof:"same other"`
	Random    bool    `yaml:"random"`
}

// Values of Distillation.Advantage.
const (
	DistilSeparate = "separate"
	DistilScaled   = "scaled"
	DistilJoint    = "joint"
	DistilNone     = "none"
	// StopOther is a value of Distillation.Stop.
	StopOther = "other"
)

// replaces reports whether the teacher signal replaces advantages.
func (o *Distillation) replaces() bool { return o != nil && o.Advantage != DistilNone }

func (c *checker) distillation(r Recipe) {
	o := r.Distillation
	if o == nil {
		return
	}
	c.that(r.Teacher != "", "distillation", "no teacher to distil from: name a checkpoint under teacher, such as one of simulate pretrain teacher-base")
	_, byTurn := r.Advantage.Params.(*advantage.TurnLevel)
	c.that(!o.replaces() || !r.Needs(batch.Value) && !byTurn, "distillation.advantage",
		"%s replaces advantages, and the advantage %s fits what it estimates to returns: use none, or grpo", o.Advantage, r.Advantage.Name)
}

func (n *inert) distillation(r Recipe) {
	if o := r.Distillation; o != nil {
		n.when(o.replaces() && r.Loss.Name != "" && !r.Loss.Spec().Reads(batch.Advantage),
			"distillation.advantage %s: the loss %s reads no advantages: take another loss, or advantage none", o.Advantage, r.Loss.Name)
		n.when(o.Random && o.PassRate == 1 && !o.Failed, "distillation.random: all responses are guided, and there is nothing to draw from: set failed or pass_rate")
		n.when(o.Horizon >= r.Rollout.MaxTokens, "distillation.horizon: no response is longer than rollout.max_tokens: set it lower, or 0")
	}
}
