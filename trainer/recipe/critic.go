package recipe

import "driftlab/trainer/method/batch"

// Critic is what values states for an advantage that reads values, such as gae. Without the section it
// is ridge.
type Critic struct {
	// Name is trained (a transformer of its own with a value head, which starts as a copy of the
	// policy and is trained by AdamW) or ridge (a linear function of the policy's final hidden state,
	// solved anew after every step).
	Name string `yaml:"name" default:"trained" oneof:"trained ridge"`
	// Optimizer is the critic's own. SAO (2607.07508) has five times the policy's learning rate.
	Optimizer Optimizer `yaml:"optimizer"`
	// Updates is the number of critic updates, each on the whole batch, per update of the policy. SAO has 2.
	Updates int `yaml:"updates" default:"1" range:"[1,64]"`
	// Clip bounds how far an update may move a value from the one that the advantages were made of, in
	// the loss max((V-R)², (clip(V)-R)²)/2; 0, the default, is no bound.
	Clip float64 `yaml:"clip" range:"[0,inf)"`
	// Warmup is the number of first steps in which the critic alone is trained.
	Warmup int `yaml:"warmup" range:"[0,2^16]"`
	// Bounded keeps values between low and high by V = low + (high-low)·(1/2 + atan(z)/π)
	// (BPCO, 2608.23566).
	Bounded bool `yaml:"bounded"`
	// Confidence lets the critic see the probabilities of the tokens so far, in the old policy: the least one and their
	// product. ridge has them among its features; to a trained critic's value a ridge on them is added.
	Confidence bool `yaml:"confidence"`
	// Low is the least reward that there is, of bounded values.
	Low float64 `yaml:"low"`
	// High is the largest reward that there is, of bounded values. Default 1.
	High float64 `yaml:"high" default:"1"`
}

// Trained reports whether the values come from a trained critic.
func (c *Critic) Trained() bool { return c != nil && c.Name == "trained" }

func (c *checker) critic(r Recipe) {
	if r.Critic == nil {
		return
	}
	c.that(r.Needs(batch.Value), "critic", "the advantage %s reads no values: set advantage: gae", r.Advantage.Name)
	c.that(r.Critic.Low < r.Critic.High, "critic.high", "%v is not above critic.low, %v", r.Critic.High, r.Critic.Low)
	c.that(!r.Critic.Trained() || !r.Critic.Confidence || !r.Critic.Bounded, "critic.bounded", "bounds keep the trained part alone, and with confidence the value is a sum: set bounded: false, or confidence: false")
	c.that(!r.Critic.Trained() || r.LoRA == nil, "critic.name", "a trained critic has all its weights trained, and the recipe has adapters: remove lora, or use ridge")
	c.that(!r.Critic.Trained() || r.Critic.Warmup < r.Steps, "critic.warmup", "%d steps without an update of the policy, of %d: set it lower", r.Critic.Warmup, r.Steps)
}

func (r Recipe) inertCritic() (notes []string) {
	c := r.Critic
	if c == nil {
		return nil
	}
	if !c.Trained() && (c.Clip > 0 || c.Warmup > 0 || c.Bounded || c.Updates > 1) {
		notes = append(notes, "critic: ridge is solved and has no clip, warmup, bounds or updates: set name: trained")
	}
	if c.Trained() && c.Clip > 0 && c.Updates*r.Learner.Updates() == 1 {
		notes = append(notes, "critic.clip: with one update a step no value has moved when the loss is taken: set updates above 1")
	}
	return notes
}
