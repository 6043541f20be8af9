package guard

import (
	"fmt"
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// LengthSurge halves the learning rate, and goes on halving it, once responses
// grow far beyond their early length: the surge that precedes collapse.
//
//	baseline = mean length over the first warmup steps
//	surge at the first step t_s with length ≥ factor·baseline
//	scale(t) = max(decay^floor((t − t_s)/(stretch·t_s)), floor)   after t_s, 1 before
//
// The rule ratio is the other published form: whenever the mean length exceeds
// factor times that of warmup steps ago, the scale is multiplied by decay, at
// most once in warmup steps. The rate never rises again.
//
// Source: arXiv 2602.01826, read in a reproduction recipe (factor 3, warmup 50,
// stretch 1.8, floor 0.1; t_s = 110 gives a period of 198).
type LengthSurge struct {
	// Rule is "baseline" or "ratio". Default baseline.
	Rule string `yaml:"rule"`
	// Factor is the growth that counts as a surge. Default 3; 1.2 with rule ratio.
	Factor float64 `yaml:"factor"`
	// Warmup is the number of steps of the baseline, or the distance of the ratio. Default 50.
	Warmup int `yaml:"warmup"`
	// Decay multiplies the scale. Default 0.5.
	Decay float64 `yaml:"decay"`
	// Stretch times the step of the surge is the period. Default 1.8.
	Stretch float64 `yaml:"stretch"`
	// Floor is the smallest scale. Default 0.1.
	Floor float64 `yaml:"floor"`

	lengths []float64 // mean length of every step so far
	counts  []float64 // gradient steps that make up each
	surge   int       // step of the surge plus one, or the last decay's; 0 for none
	scale   float64
}

// Guard scales the learning rate.
func (g *LengthSurge) Guard(_ []float32, in Input) (Decision, error) {
	if in.Step < len(g.lengths)-1 || in.Step < 0 {
		return Decision{}, fmt.Errorf("guard: length_surge saw step %d after step %d", in.Step, len(g.lengths)-1)
	}
	if g.scale == 0 {
		g.scale = 1
	}
	g.record(in)
	if g.Rule == "ratio" {
		g.byRatio(in.Step)
	} else {
		g.byBaseline(in.Step)
	}
	return Decision{Scale: g.scale}, nil
}

// record folds the minibatch's mean length into that of its step.
func (g *LengthSurge) record(in Input) {
	length := float64(masked.Count(in.Batch.Mask)) / float64(max(in.Batch.Len(), 1))
	for len(g.lengths) <= in.Step {
		g.lengths, g.counts = append(g.lengths, 0), append(g.counts, 0)
	}
	g.counts[in.Step]++
	g.lengths[in.Step] += (length - g.lengths[in.Step]) / g.counts[in.Step]
}

// byBaseline is the rule of the reproduction recipe.
func (g *LengthSurge) byBaseline(step int) {
	if g.surge == 0 && step >= g.Warmup {
		baseline := 0.0
		for _, l := range g.lengths[:g.Warmup] {
			baseline += l / float64(g.Warmup)
		}
		if g.lengths[step] >= g.Factor*baseline {
			g.surge = step + 1
		}
	}
	if g.surge > 0 {
		at := float64(g.surge - 1)
		periods := math.Floor((float64(step) - at) / (g.Stretch * max(at, 1)))
		g.scale = max(elementary.Pow(g.Decay, periods), g.Floor)
	}
}

// byRatio decays once whenever the length has grown within the window.
func (g *LengthSurge) byRatio(step int) {
	rested := g.surge == 0 || step-(g.surge-1) >= g.Warmup
	if step < g.Warmup || !rested {
		return
	}
	if before := g.lengths[step-g.Warmup]; before > 0 && g.lengths[step] > g.Factor*before {
		g.surge = step + 1
		g.scale = max(g.scale*g.Decay, g.Floor)
	}
}

// Metrics appends the scale and whether a surge has been seen.
func (g *LengthSurge) Metrics(dst []batch.Metric) []batch.Metric {
	seen := 0.0
	if g.surge > 0 {
		seen = 1
	}
	return append(dst, batch.Metric{Name: "guard/length_surge", Value: seen}, batch.Metric{Name: "guard/length_lr_scale", Value: g.scale})
}

// Validate checks the parameters.
func (g *LengthSurge) Validate() error {
	switch {
	case g.Rule != "baseline" && g.Rule != "ratio":
		return fmt.Errorf("rule is %q, must be \"baseline\" or \"ratio\"", g.Rule)
	case !(g.Factor > 1):
		return fmt.Errorf("factor is %v, must be above 1", g.Factor)
	case g.Warmup < 1:
		return fmt.Errorf("warmup is %d, must be at least 1", g.Warmup)
	case !(g.Decay > 0 && g.Decay < 1):
		return fmt.Errorf("decay is %v, must lie between 0 and 1", g.Decay)
	case !(g.Stretch > 0):
		return fmt.Errorf("stretch is %v, must be positive", g.Stretch)
	case !(g.Floor >= 0 && g.Floor <= 1):
		return fmt.Errorf("floor is %v, must lie between 0 and 1", g.Floor)
	}
	return nil
}

// AppendState appends the length history.
func (g *LengthSurge) AppendState(dst []byte) []byte {
	return method.AppendState(dst, g.surge, g.scale, g.lengths, g.counts)
}

// SetState takes what AppendState appended.
func (g *LengthSurge) SetState(state []byte) error {
	return method.ReadState(state, &g.surge, &g.scale, &g.lengths, &g.counts)
}
