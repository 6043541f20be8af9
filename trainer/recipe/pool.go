package recipe

import ()

// Pool is a training set of a fixed size: prompts come back, every epoch in a new
// order, and how hard each is for the first weights can be known.
type Pool struct {
	// Prompts is its size, 1 or more.
	Prompts int `yaml:"prompts" default:"256" range:"[1,2^16]"`
	// Keep leaves out the prompts that the first weights solve less or more often than
	// this, as pass rates in [low, high]: the hard tail, or what is solved already.
	// Default [0, 1]: none is left out.
	Keep [2]float64 `yaml:"keep" default:"0 1" range:"[0,1]"`
	// From is the number of steps before that.
	From int `yaml:"from" range:"[0,2^24]"`
	// Samples is the number of responses to each prompt by which its pass rate is found,
	// in the learner's numerics, before the first step. Nothing is sampled if all are
	// kept.
	Samples int `yaml:"samples" default:"16" range:"[1,1024]"`
	// Focus gives hard prompts more of the responses: upsample (prompts
	// that were solved less at their last visit are drawn more often, with weight 1.1
	// less that pass rate), knapsack (each step's responses go where the next one adds
	// most to the sum of p(1-p)²·(1 - pⁿ - (1-p)ⁿ), p the pass rate at the last visit and n
	// the size of the group: Knapsack RL, 2509.25849), adaptive (a group comes in four
	// stages and ends with the first that has a right response; a group without one reuses
	// the last right response to its prompt in the place of a wrong one, with its recorded
	// log-probs: AR3PO, 2509.25808) or uniform (groups of one size, as without, with the
	// figures of the others). A group has 2 or more; a prompt that was never visited has a
	// rate of one half, and rates are smoothed by one response of either kind: inferred, as
	// are four stages. Default: none of these.
	Focus string `yaml:"focus" oneof:"upsample knapsack uniform adaptive"`
}

// Values of Pool.Focus.
const (
	FocusUpsample = "upsample"
	FocusKnapsack = "knapsack"
	FocusAdaptive = "adaptive"
)

// AdaptiveStages is the number of parts in which FocusAdaptive asks for a group.
const AdaptiveStages = 4

// LeastKnapsack is the smallest group of FocusKnapsack.
const LeastKnapsack = 2

// least is the size of the smallest group there can be, of groups of n.
func (p Pool) least(n int) int {
	switch p.Focus {
	case FocusKnapsack:
		return LeastKnapsack
	case FocusAdaptive:
		return n / AdaptiveStages
	}
	return n
}

// Sifts reports whether a prompt may be left out.
func (p Pool) Sifts() bool { return p.Keep != [2]float64{0, 1} }

// pool checks a training set of a fixed size.
func (c *checker) pool(r Rollout) {
	p := r.Pool
	if p == nil {
		return
	}
	c.that(p.Focus == "" || r.Group > 1, "rollout.pool.focus", "%s compares groups, and rollout.group is 1: use 2 or more", p.Focus)
	c.that(p.Focus != FocusUpsample || r.Prompts <= p.Prompts, "rollout.pool.focus", "a step draws %d different prompts, and the pool has %d: use fewer", r.Prompts, p.Prompts)
}
