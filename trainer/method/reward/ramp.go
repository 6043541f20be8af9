package reward

import (
	"errors"

	"driftlab/trainer/method/batch"
)

// Ramp is embedded in every penalty on length: it lets the penalty begin late and
// rise slowly. Kimi k1.5 (arXiv:2501.12599) trains without one at first, since it
// slows the start down.
type Ramp struct {
	// From is the training step, counted from 0, at which the part begins to act.
	From int `yaml:"from"`
	// Warmup is the number of steps over which it then rises to its full size; 0 is
	// at once.
	Warmup int `yaml:"warmup"`
}

// Validate checks the steps.
func (r Ramp) Validate() error {
	return errors.Join(within("from", float64(r.From), 0, maxScale), within("warmup", float64(r.Warmup), 0, maxScale))
}

// share is how much of the part acts in the batch's step.
func (r Ramp) share(b *batch.Batch) float64 {
	at := b.Step - r.From
	switch {
	case at < 0:
		return 0
	case at < r.Warmup:
		return float64(at+1) / float64(r.Warmup+1)
	}
	return 1
}
