package reward

import "driftlab/trainer/method/batch"

// Ramp is embedded in every penalty on length: it lets the penalty begin late and
// rise slowly. Kimi k1.5 (arXiv:2501.12599) trains without one at first, since it
// slows the start down.
type Ramp struct {
	// From is the training step, counted from 0, at which the part begins to act.
	From int `yaml:"from" range:"[0,1e6]"`
	// Warmup is the number of steps over which it then rises to its full size; 0 is
	// at once.
	Warmup int `yaml:"warmup" range:"[0,1e6]"`
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
