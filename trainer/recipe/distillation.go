package recipe

import (
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
)

// Distillation says which responses the teacher guides, and whether the teacher signal
// replaces their advantages. It reads no others: their teacher's log-probs are the learner's
// own, so that no method finds a gap there. Source: a practitioner's account of
// on-policy distillation combined with reinforcement learning; KDRL, 2506.08946.
type Distillation struct {
	// Advantage replaces the advantages of guided tokens by log p_teacher - log p_old (k1
	// as an advantage): separate (centred and scaled over the guided tokens), scaled
	// (divided by their root mean square, so that every sign stays), raw (as they are),
	// joint (as they are, and all advantages of the batch centred and scaled together: the
	// mistake to compare with) or none (the estimator's stay; a term, distill_k2 or gkd,
	// reads the teacher).
	Advantage string `yaml:"advantage" default:"separate" oneof:"separate scaled raw joint none"`
	// PassRate is the greatest share of right responses in a group whose prompt counts
	// as hard; only hard prompts are guided. Default 1: all.
	PassRate float64 `yaml:"pass_rate" default:"1" range:"[0,1]"`
	// Failed guides wrong responses only.
	Failed bool `yaml:"failed"`
	// Horizon is the number of tokens of a response, from its first on, that are guided; 0
	// for all.
	Horizon int `yaml:"horizon" range:"[0,2^16]"`
	// Stop is same, or other: a teacher that ends its responses with padding, an id at which the rollout engine does not stop
	// (2609.20511). Then it finds every end of the learner's unlikely, and lengths grow to the limit
	// where a term has its distributions; the sampled token alone has almost no gradient at an end that is certain. The fix is to map one stop id to the
	// other, which is same.
	Stop string `yaml:"stop" default:"same" oneof:"same other"`
	// Random guides as many responses as the rule says, drawn at random: what the rule is
	// worth at the same number of calls.
	Random bool `yaml:"random"`
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

func (r Recipe) inertDistillation() (notes []string) {
	o := r.Distillation
	if o == nil {
		return nil
	}
	if o.replaces() && r.Loss.Name != "" && !r.Loss.Spec().Reads(batch.Advantage) {
		notes = append(notes, "distillation.advantage "+o.Advantage+": the loss "+r.Loss.Name+" reads no advantages: take another loss, or advantage none")
	}
	if o.Random && o.PassRate == 1 && !o.Failed {
		notes = append(notes, "distillation.random: all responses are guided, and there is nothing to draw from: set failed or pass_rate")
	}
	if o.Horizon >= r.Rollout.MaxTokens {
		notes = append(notes, "distillation.horizon: no response is longer than rollout.max_tokens: set it lower, or 0")
	}
	return notes
}
