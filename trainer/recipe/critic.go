package recipe

import "driftlab/trainer/method/batch"

// Critic is what values states for an advantage that reads values, such as gae.
type Critic struct {
	Name       string    `yaml:"name" default:"trained" oneof:"trained ridge"`
	Optimizer  Optimizer `yaml:"optimizer"`
	Updates    int       `yaml:"updates" default:"1" range:"[1,64]"`
	Clip       float64   `yaml:"clip" range:"[0,inf)"`
	Warmup     int       `yaml:"warmup" range:"[0,2^16]"`
	Bounded    bool      `yaml:"bounded"`
	Confidence bool      `yaml:"confidence"`
	Low        float64   `yaml:"low"`
	High       float64   `yaml:"high" default:"1"`
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

func (n *inert) critic(r Recipe) {
	if c := r.Critic; c != nil {
		n.when(!c.Trained() && (c.Clip > 0 || c.Warmup > 0 || c.Bounded || c.Updates > 1),
			"critic: ridge is solved and has no clip, warmup, bounds or updates: set name: trained")
		n.when(c.Trained() && c.Clip > 0 && c.Updates*r.Learner.Updates() == 1,
			"critic.clip: with one update a step no value has moved when the loss is taken: set updates above 1")
	}
}
