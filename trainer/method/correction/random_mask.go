package correction

import (
	"math"
	"math/rand/v2"

	"driftlab/trainer/method"
	"driftlab/trainer/method/trace"
)

// RandomMask drops tokens at random: a placebo, not a correction. An arm with
// it at the rate of another mask shows what dropping that many tokens does
// whichever they are, so what is left between the two arms is due to the choice.
//
// The draw reads nothing but the run's seed, the training step and the place of
// the token in the batch: a run repeats it, and no log-prob acts on it. In bypass
// mode, where masks are drawn at every gradient step, places count within the
// minibatch.
type RandomMask struct {
	// Rate is the probability of dropping a token, 0 to 1. The
	// published share of IcePop is one to two per mille (arXiv 2510.18855).
	Rate float64 `yaml:"rate" default:"1e-3" range:"[0,1]"`
	// Low and High are the band that sets the number instead of the rate; 0 and 0 is none.
	Low  float64 `yaml:"low" range:"[0,high]"`
	High float64 `yaml:"high" range:"[0,inf]"`
}

var randomMaskSpec = method.Spec{
	Name: "random_mask", Aliases: []string{"placebo"}, Unit: method.Token,
	Does:    "Drops tokens at random, at a given rate or at the rate of a given band.",
	When:    "Use it as the placebo of another mask: the remaining difference is due to which tokens that mask drops.",
	Source:  "none: a control arm, to be run at the rate of the mask it is compared with",
	Formula: "keep_t = 1[u_t ≥ rate],  u_t uniform from (seed, step, t): independent of every ratio; with a band, as many as lie outside it",
}

// randomStream separates the draws from other random streams of a run.
const randomStream = 0x706c616365626f // "placebo"

// Reject clears tokens by the draw.
func (m *RandomMask) Reject(keep []bool, in *Input) error {
	var rng rand.PCG
	rng.Seed(in.Seed^randomStream, uint64(in.Step))
	if m.banded() {
		m.rejectAsMany(keep, in, &rng)
		return nil
	}
	below := uint64(math.Ldexp(m.Rate, 53))
	for n, counts := range in.Mask {
		// Every place takes one number, masked or not.
		if u := rng.Uint64() >> 11; counts && u < below {
			keep[n] = false
		}
	}
	return nil
}

func (m *RandomMask) banded() bool { return m.Low != 0 || m.High != 0 }

// rejectAsMany clears as many tokens as lie outside the band: each in turn with
// the share of those to go among those left (Knuth's selection sampling).
func (m *RandomMask) rejectAsMany(keep []bool, in *Input, rng *rand.PCG) {
	left, outside := 0.0, 0.0
	for n, counts := range in.Mask {
		if !counts {
			continue
		}
		left++
		if !within(in.ratio(in.LogRatio[n]), m.Low, m.High) {
			outside++
		}
	}
	for n, counts := range in.Mask {
		if !counts {
			continue
		}
		if u := math.Ldexp(float64(rng.Uint64()>>11), -53); u*left < outside {
			keep[n] = false
			outside--
		}
		left--
	}
}

// rule has no formula: the decision is drawn.
func (m *RandomMask) rule(*Input) rule { return rule{lines: []trace.Line{trace.Given("rate", m.Rate)}} }
