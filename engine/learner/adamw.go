package learner

import (
	"math"

	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/precision/elementary"
)

// AdamW are the settings of AdamW (arXiv:1711.05101) with clipping of the
// global gradient norm. The learning rate comes with each update.
type AdamW struct {
	// Beta1 and Beta2 are the decay rates of the two moments.
	Beta1, Beta2 float64
	// Eps is added to the root of the second moment.
	Eps float64
	// WeightDecay shrinks matrices by rate*decay per update, apart from the gradient.
	WeightDecay float64
	// ClipNorm bounds the norm of the whole gradient; 0 does not clip.
	ClipNorm float64
}

// adamW holds the moments, laid out like what is trained: the parameters, or the adapters
// next to them.
type adamW struct {
	settings AdamW
	runs     []run
	m, v     []float32
	updates  int
	now      adamStep
}

// run is a part of what is trained: matrices decay, norms do not, and frozen ones stay as
// they are.
type run struct {
	from, end       int
	decayed, frozen bool
}

func newAdamW(s AdamW, p *model.Params, frozenRouter bool) *adamW {
	n := len(p.Trained())
	a := &adamW{settings: s, m: make([]float32, n), v: make([]float32, n)}
	if p.LoRA != nil {
		a.runs = []run{{from: 0, end: n, decayed: true}}
		return a
	}
	for _, t := range p.Tensors() {
		a.runs = append(a.runs, run{t.Offset, t.End(), len(t.Shape) > 1, frozenRouter && t.Router() || t.Index()})
	}
	return a
}

// adamStep is one update, as a kernel.Job: what moves a parameter is a matter of
// that parameter alone, so each part has a share of them.
type adamStep struct {
	*adamW
	parts       int
	theta, grad []float32
	rate        float64
	numbers     kernel.AdamWStep // with the corrections of the biases; Keep differs by run
}

// step moves the parameters against the gradient scaled by clip, at the given
// rate. Bias corrections are float64.
func (a *adamW) step(team *kernel.Team, theta, grad []float32, clip, rate float64) {
	a.updates++
	s := a.settings
	correct1 := 1 - elementary.Pow(s.Beta1, float64(a.updates))
	correct2 := 1 - elementary.Pow(s.Beta2, float64(a.updates))
	a.now = adamStep{adamW: a, parts: team.Workers(), theta: theta, grad: grad, rate: rate, numbers: kernel.AdamWStep{
		Scale: float32(clip), Beta1: float32(s.Beta1), Beta2: float32(s.Beta2),
		Root2: float32(1 / math.Sqrt(correct2)), Eps: float32(s.Eps), Step: float32(rate / correct1)}}
	team.Run(a.now.parts, &a.now)
}

func (s *adamStep) Part(part int) {
	from, to := len(s.grad)*part/s.parts, len(s.grad)*(part+1)/s.parts
	for _, r := range s.runs {
		first, end := max(r.from, from), min(r.end, to)
		if r.frozen || first >= end {
			continue
		}
		numbers := s.numbers
		numbers.Keep = 1
		if r.decayed {
			numbers.Keep = float32(1 - float64(s.rate*s.settings.WeightDecay))
		}
		numbers.Update(s.theta[first:end], s.m[first:end], s.v[first:end], s.grad[first:end])
	}
}

// clearFrozen drops the gradient of what stays as it is.
func (a *adamW) clearFrozen(grad []float32) {
	for _, r := range a.runs {
		if r.frozen {
			clear(grad[r.from:r.end])
		}
	}
}

// norm returns the Euclidean norm of the gradient, summed in order in float64.
func norm(grad []float32) float64 {
	var sum float64
	for _, g := range grad {
		sum += float64(float64(g) * float64(g))
	}
	return math.Sqrt(sum)
}
