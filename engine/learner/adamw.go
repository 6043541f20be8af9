package learner

import (
	"fmt"
	"math"

	"driftlab/model"
)

// Optimizer are the settings of AdamW (arXiv:1711.05101) with clipping of the
// global gradient norm.
type Optimizer struct {
	// LR is the learning rate at full strength. Default 1e-3.
	LR float64 `yaml:"lr" json:"lr"`
	// Beta1 and Beta2 are the decay rates of the two moments. Defaults 0.9 and
	// 0.99: short runs, so a shorter memory than the usual 0.999.
	Beta1 float64 `yaml:"beta1" json:"beta1"`
	Beta2 float64 `yaml:"beta2" json:"beta2"`
	// Eps is added to the root of the second moment. Default 1e-8.
	Eps float64 `yaml:"eps" json:"eps"`
	// WeightDecay shrinks matrices by lr*decay per step, apart from the
	// gradient. Default 0.
	WeightDecay float64 `yaml:"weight_decay" json:"weight_decay"`
	// ClipNorm bounds the norm of the whole gradient; 0 does not clip. Default 1.
	ClipNorm float64 `yaml:"clip_norm" json:"clip_norm"`
	// Warmup is the number of updates over which the rate rises linearly. Default 5.
	Warmup int `yaml:"warmup" json:"warmup"`
	// Decay is the shape after warm-up: "constant", or "linear" down to
	// FinalShare over the last DecayShare of the run. Default constant.
	Decay string `yaml:"decay" json:"decay"`
	// DecayShare is the share of the run the linear decay takes. Default 0.4.
	DecayShare float64 `yaml:"decay_share" json:"decay_share"`
	// FinalShare is the rate at the end of the decay, as a share of LR. Default 0.1.
	FinalShare float64 `yaml:"final_share" json:"final_share"`
}

// DefaultOptimizer returns the documented defaults.
func DefaultOptimizer() Optimizer {
	return Optimizer{LR: 1e-3, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, ClipNorm: 1, Warmup: 5,
		Decay: "constant", DecayShare: 0.4, FinalShare: 0.1}
}

// Rate returns the learning rate of an update, counted from 0, in a run of
// total updates.
func (o Optimizer) Rate(update, total int) float64 {
	rate := o.LR
	if update < o.Warmup {
		rate *= float64(update+1) / float64(o.Warmup)
	}
	if o.Decay == "linear" && total > 0 {
		start := float64(total) * (1 - o.DecayShare)
		if past := (float64(update) - start) / (float64(total) * o.DecayShare); past > 0 {
			rate *= 1 - min(past, 1)*(1-o.FinalShare)
		}
	}
	return rate
}

// adamW holds the moments, laid out like the parameters.
type adamW struct {
	settings Optimizer
	decayed  []bool // by tensor: matrices decay, norms do not
	m, v     []float32
	updates  int
}

func newAdamW(s Optimizer, p *model.Params) *adamW {
	a := &adamW{settings: s, m: make([]float32, len(p.Theta)), v: make([]float32, len(p.Theta))}
	for _, t := range p.Tensors() {
		a.decayed = append(a.decayed, len(t.Shape) > 1)
	}
	return a
}

// step moves the parameters against the gradient scaled by clip, at the given
// rate. Bias corrections are float64; everything per element is float32 and in
// order.
func (a *adamW) step(p *model.Params, grad []float32, clip, rate float64) {
	a.updates++
	s := a.settings
	correct1 := 1 - math.Pow(s.Beta1, float64(a.updates))
	correct2 := 1 - math.Pow(s.Beta2, float64(a.updates))
	b1, b2 := float32(s.Beta1), float32(s.Beta2)
	stepSize, root2 := float32(rate/correct1), float32(1/math.Sqrt(correct2))
	eps, scale := float32(s.Eps), float32(clip)
	for i, t := range p.Tensors() {
		keep := float32(1)
		if a.decayed[i] {
			keep = float32(1 - rate*s.WeightDecay)
		}
		theta, g := p.Theta[t.Offset:t.End()], grad[t.Offset:t.End()]
		m, v := a.m[t.Offset:t.End()], a.v[t.Offset:t.End()]
		for j, x := range g {
			x *= scale
			m[j] = float32(b1*m[j]) + float32((1-b1)*x)
			v[j] = float32(b2*v[j]) + float32(float32((1-b2)*x)*x)
			denominator := float32(float32(math.Sqrt(float64(v[j])))*root2) + eps
			theta[j] = float32(keep*theta[j]) - float32(stepSize*m[j])/denominator
		}
	}
}

// state returns the moments and the count, for resuming a run.
func (a *adamW) state() (m, v []float32, updates int) { return a.m, a.v, a.updates }

// setState restores what state returned.
func (a *adamW) setState(m, v []float32, updates int) error {
	if len(m) != len(a.m) || len(v) != len(a.v) {
		return fmt.Errorf("optimiser state has %d and %d values, the model has %d parameters", len(m), len(v), len(a.m))
	}
	copy(a.m, m)
	copy(a.v, v)
	a.updates = updates
	return nil
}

// norm returns the Euclidean norm of the gradient, summed in order in float64.
func norm(grad []float32) float64 {
	var sum float64
	for _, g := range grad {
		sum += float64(g) * float64(g)
	}
	return math.Sqrt(sum)
}
