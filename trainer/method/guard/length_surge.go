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
// The baseline is the mean length over the first warmup steps. The rule ratio is the other
// published form: whenever the mean length exceeds factor times that of warmup steps ago,
// the scale is multiplied by decay, at most once in warmup steps. The rate never rises
// again.
type LengthSurge struct {
	// Rule says what a surge is, against the first steps or the last.
	Rule string `yaml:"rule" default:"baseline" oneof:"baseline ratio"`
	// Factor is the growth that counts as a surge; rule ratio is published with 1.2.
	Factor float64 `yaml:"factor" default:"3" range:"(1,inf]"`
	// Warmup is the number of steps of the baseline, or the distance of the ratio.
	Warmup int `yaml:"warmup" default:"50" range:"[1,inf]"`
	// Decay multiplies the scale.
	Decay float64 `yaml:"decay" default:"0.5" range:"(0,1)"`
	// Stretch times the step of the surge is the period.
	Stretch float64 `yaml:"stretch" default:"1.8" range:"(0,inf]"`
	// Floor is the smallest scale.
	Floor float64 `yaml:"floor" default:"0.1" range:"[0,1]"`
	// Reject has the masks of the recipe's correction act only once a surge has been seen,
	// and from then on.
	Reject bool `yaml:"reject"`

	lengths []float64 // mean length of every step so far
	counts  []float64 // gradient steps that make up each
	surge   int       // step of the surge plus one, or the last decay's; 0 for none
	scale   float64
}

var lengthSurgeSpec = method.Spec{
	Name: "length_surge", Aliases: []string{"length_decay"}, Unit: method.Optimiser,
	Does:           "Lowers the learning rate step by step after the mean response length has grown far beyond its early level.",
	When:           "Use it in long runs in which a surge of response length precedes collapse.",
	Source:         "arXiv 2602.01826, read in a reproduction recipe; rejection from the surge on: a survey's decision tree, cause F",
	Formula:        "lr ← lr·max(decay^floor((t − t_s)/(stretch·t_s)), floor) after the first t_s with length ≥ factor·baseline",
	Reconstruction: "baseline rule of the reproduction recipe; rule: ratio is the other reading (growth within warmup steps, decay once)",
}

// Withholds implements Withholder.
func (g *LengthSurge) Withholds() bool { return g.Reject && g.surge == 0 }

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

// AppendState appends the length history.
func (g *LengthSurge) AppendState(dst []byte) []byte {
	return method.AppendState(dst, g.surge, g.scale, g.lengths, g.counts)
}

// SetState takes what AppendState appended.
func (g *LengthSurge) SetState(state []byte) error {
	return method.ReadState(state, &g.surge, &g.scale, &g.lengths, &g.counts)
}
