package correction

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// RandomMask drops tokens at random: a placebo, not a correction. An arm with
// it at the rate of another mask shows what dropping that many tokens does
// whichever they are, so what is left between the two arms is due to the choice.
//
//	keep_t = 1[u_t ≥ rate],  u_t uniform on [0, 1) from (seed, step, t)
//
// The draw reads nothing but the run's seed, the training step and the place of
// the token in the batch: a run repeats it, and no log-prob acts on it. In bypass
// mode, where masks are drawn at every gradient step, places count within the
// minibatch.
type RandomMask struct {
	// Rate is the probability of dropping a token, 0 to 1. Default 0.001: the
	// published share of IcePop is one to two per mille (arXiv 2510.18855).
	Rate float64 `yaml:"rate"`
}

// randomStream keeps the draws apart from other random streams of a run.
const randomStream = 0x706c616365626f // "placebo"

// Reject clears tokens by the draw.
func (m *RandomMask) Reject(keep []bool, in *Input) error {
	var rng rand.PCG
	rng.Seed(in.Seed^randomStream, uint64(in.Step))
	below := uint64(math.Ldexp(m.Rate, 53))
	for n, counts := range in.Mask {
		// Every place takes one number, masked or not.
		if u := rng.Uint64() >> 11; counts && u < below {
			keep[n] = false
		}
	}
	return nil
}

// Validate checks the rate.
func (m *RandomMask) Validate() error {
	if !(m.Rate >= 0 && m.Rate <= 1) {
		return fmt.Errorf("rate is %v, must be in [0, 1]", m.Rate)
	}
	return nil
}
