package schedule

import (
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/precision/elementary"
)

// Replay keeps prompt groups that were trained, and adds some of them to the fresh
// ones of every update (freshness-aware PER, 2604.16918; FIFO and uniform draws,
// 2604.08706). Its fields and formulas stand in trainer/recipe/fields.txt.
type Replay struct {
	Draws    int     `yaml:"draws" default:"8" range:"[0,2^20]"`
	Order    string  `yaml:"order" default:"fresh" oneof:"fresh priority uniform fifo"`
	Capacity int     `yaml:"capacity" default:"256" range:"[1,2^20]"`
	Tau      float64 `yaml:"tau" default:"500" range:"[1e-3,inf)"`
	Exponent float64 `yaml:"exponent" default:"0.6" range:"[0,1]"`
	Beta     float64 `yaml:"beta" default:"0.4" range:"[0,1]"`
	Clear    bool    `yaml:"clear"`
}

// Values of Replay.Order.
const (
	FreshFirst = "fresh"
	ByPriority = "priority"
	Uniformly  = "uniform"
	FirstIn    = "fifo"
)

// On reports whether anything is replayed.
func (p Replay) On() bool { return p.Draws > 0 }

// worthUnit is the worth of an absolute reward of 1, and WeightUnit a draw's weight
// of 1: the Core counts both in whole parts.
const (
	worthUnit  = 1_000_000
	WeightUnit = 1 << 32
)

// Worth is a mean absolute reward as an Outcome says it.
func Worth(reward float64) int {
	return int(math.Round(min(math.Abs(reward), 1<<32) * worthUnit))
}

func (p Replay) priority(worth, age int) float64 {
	if p.Order == Uniformly {
		return 1
	}
	x := elementary.Pow(float64(worth+1)/worthUnit, p.Exponent)
	if p.Order == FreshFirst {
		x *= elementary.Exp(-p.Exponent * float64(age) / p.Tau)
	}
	return x
}

func (p Replay) beta(step, steps int) float64 {
	return p.Beta + float64((1-p.Beta)*float64(step)/float64(max(steps-1, 1)))
}

// draw chooses entries of the buffer, with their weights.
func (p Replay) draw(buffer []*Sample, step, steps int, rng *rand.Rand) (drawn []*Sample, weights []int) {
	if p.Draws == 0 || len(buffer) < p.Draws {
		return nil, nil
	}
	if p.Order == FirstIn {
		drawn = slices.Clone(buffer)
		slices.SortStableFunc(drawn, func(a, b *Sample) int { return a.Uses - b.Uses })
		return drawn[:p.Draws], slices.Repeat([]int{WeightUnit}, p.Draws)
	}
	sums := make([]float64, len(buffer))
	total := 0.0
	for i, s := range buffer {
		total += p.priority(s.Worth, step-s.Step)
		sums[i] = total
	}
	if total == 0 { // all are too old for any number: then all are equal
		for i := range sums {
			sums[i] = float64(i + 1)
		}
		total = float64(len(sums))
	}
	beta, most := p.beta(step, steps), 0.0
	raw := make([]float64, p.Draws)
	for k := range raw {
		mass := (float64(k) + float64(rng.Float64())) * total / float64(p.Draws)
		i, _ := slices.BinarySearch(sums, math.Nextafter(mass, math.Inf(1)))
		i = min(i, len(sums)-1)
		share := sums[i]
		if i > 0 {
			share -= sums[i-1]
		}
		raw[k] = elementary.Pow(float64(len(buffer))*max(share, math.SmallestNonzeroFloat64)/total, -beta)
		drawn, most = append(drawn, buffer[i]), max(most, raw[k])
	}
	for _, w := range raw {
		weights = append(weights, int(math.Round(float64(w/most*WeightUnit))))
	}
	return drawn, weights
}

// replay adds what is drawn from the buffer to an update.
func (c *Core) replay(train *Command) {
	if !c.config.Replay.On() || !train.Update {
		return
	}
	rng := rand.New(rand.NewPCG(c.config.Seed, 0x9e3779b97f4a7c15*uint64(c.step+1)))
	drawn, weights := c.config.Replay.draw(c.buffer, c.step, c.config.Steps, rng)
	train.Weights = weights
	for _, s := range drawn {
		train.Replayed = append(train.Replayed, s.ID)
	}
	c.replayed = drawn
}

// remember keeps what is being trained, and forgets what is too much.
func (c *Core) remember() {
	if !c.config.Replay.On() {
		return
	}
	for _, s := range c.batch {
		s.Uses = 1
	}
	for _, s := range c.replayed {
		s.Uses++
	}
	c.replayed = nil
	c.buffer = append(c.buffer, c.batch...)
	if over := len(c.buffer) - c.config.Replay.Capacity; over > 0 {
		c.buffer = slices.Clone(c.buffer[over:])
	}
}

// Keeps reports whether a sample that was trained may be trained again.
func (c *Core) Keeps(id int) bool {
	return slices.ContainsFunc(c.buffer, func(s *Sample) bool { return s.ID == id })
}

// Reuse is how often the samples in the buffer were trained so far, on the average
// and at most; 0 where none are kept.
func (c *Core) Reuse() (mean float64, most int) {
	sum := 0
	for _, s := range c.buffer {
		sum, most = sum+s.Uses, max(most, s.Uses)
	}
	return float64(sum) / float64(max(len(c.buffer), 1)), most
}
