package recipe

// Pool is a training set of a fixed size.
type Pool struct {
	Prompts int        `yaml:"prompts" default:"256" range:"[1,2^16]"`
	Keep    [2]float64 `yaml:"keep" default:"0 1" range:"[0,1]"`
	From    int        `yaml:"from" range:"[0,2^24]"`
	Samples int        `yaml:"samples" default:"16" range:"[1,1024]"`
	Focus   string     `yaml:"focus" oneof:"upsample knapsack uniform adaptive"`
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
