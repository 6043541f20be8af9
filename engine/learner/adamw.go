package learner

import (
	"fmt"
	"math"

	"driftlab/engine/column"
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
	// WeightDecay shrinks matrices by rate*decay per update, separately from the gradient.
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

// norm returns the Euclidean norm of the gradient, summed in order in float64.
func norm(grad []float32) float64 {
	var sum float64
	for _, g := range grad {
		sum += float64(float64(g) * float64(g))
	}
	return math.Sqrt(sum)
}

// LossScale are the settings of dynamic loss scaling (arXiv:1710.03740): the
// gradient is computed for a multiple of the loss, so that small fp16 gradients
// do not vanish, and divided again before the update.
type LossScale struct {
	// Initial is the first factor; 0 switches scaling off. 65536 is usual.
	Initial float64
	// Growth is the number of clean gradients after which the factor doubles.
	Growth int
}

// lossScaler is the factor and its history.
type lossScaler struct {
	settings LossScale
	scale    float64
	clean    int
}

func (s *lossScaler) active() bool { return s.settings.Initial > 0 }

func (s *lossScaler) factor() float64 {
	if !s.active() {
		return 1
	}
	return s.scale
}

// overflow halves the factor, down to 1: the gradient was not finite and is
// thrown away. It returns false where there is nothing left to halve, and the
// fault is not the factor's.
func (s *lossScaler) overflow() bool {
	if s.factor() <= 1 {
		return false
	}
	s.scale, s.clean = max(s.scale/2, 1), 0
	return true
}

// fine counts a finite gradient and doubles the factor when there were enough.
func (s *lossScaler) fine() {
	if !s.active() {
		return
	}
	if s.clean++; s.settings.Growth > 0 && s.clean >= s.settings.Growth {
		s.scale, s.clean = s.scale*2, 0
	}
}

// NonFinite says where a NaN or an infinity first appeared. It stops a run.
type NonFinite struct {
	// Tensor names the first tensor, in the order of the computation, that is not finite.
	Tensor string
	// Value is "NaN" or "Inf".
	Value string
	// Cause is the likely reason, with what to do.
	Cause string
}

// Error is one line: the tensor, the value and the likely cause.
func (e *NonFinite) Error() string {
	return fmt.Sprintf("%s in %s: %s", e.Value, e.Tensor, e.Cause)
}

// CheckWeights returns a NonFinite that names the first parameter that is not
// finite, or nil.
func (l *Learner) CheckWeights() error {
	for _, t := range l.params.Tensors() {
		if bad := firstNonFinite(t.Data); bad != "" {
			return &NonFinite{t.Name, bad, "the weights themselves are not finite; the update before was too large, lower learner.optimizer.lr"}
		}
	}
	return nil
}

// locateForward walks the tensors in the order they are computed.
func (l *Learner) locateForward() error {
	if err := l.CheckWeights(); err != nil {
		return err
	}
	if tensor, bad := l.firstTensor(); tensor != "" {
		return &NonFinite{tensor, bad, fmt.Sprintf("the activations left the range of %s; use bf16, or a smaller learner.optimizer.lr", l.settings.Numerics.Activations)}
	}
	return &NonFinite{"log-probs", "Inf", "a sampled token has probability zero in the learner; the engines are too far apart, use finer rollout.numerics"}
}

// firstTensor names the first tensor of the last pass, in the order of the
// computation, that is not finite, and the value; empty if all are. The pass must
// have been saved.
func (s *Scorer) firstTensor() (tensor, value string) {
	if bad := firstNonFinite(s.pass.Embedded()); bad != "" {
		return "embed", bad
	}
	for layer := range s.config.Layers {
		if bad := firstNonFinite(s.pass.Middle(layer)); bad != "" {
			return fmt.Sprintf("layers.%d.attention", layer), bad
		}
		if bad := firstNonFinite(s.pass.Out(layer)); bad != "" {
			return fmt.Sprintf("layers.%d.ffn", layer), bad
		}
	}
	if bad := firstNonFinite(s.pass.Logits()); bad != "" {
		return "logits", bad
	}
	return "", ""
}

// Locate scores responses as Score does, and names the first tensor on the way
// that is not finite, and the value; empty if all are.
func (s *Scorer) Locate(in *column.Sampled, o ScoreOptions) (tensor, value string) {
	s.save = true
	s.Score(&column.Scored{}, in, o)
	s.save = false
	return s.firstTensor()
}

// checkLoss returns an error if the loss or its gradient is not finite.
func (l *Learner) checkLoss() error {
	cause := "an importance ratio overflowed; lower the lag or learner.optimizer.lr, or bound the ratio with a correction"
	if bad := firstNonFinite([]float64{l.out.Loss}); bad != "" {
		return &NonFinite{"policy loss", bad, cause}
	}
	if bad := firstNonFinite(l.out.DLogp); bad != "" {
		return &NonFinite{"d loss/d logp", bad, cause}
	}
	return nil
}

// nonFiniteGradient names the first parameter whose gradient is not finite.
func (l *Learner) nonFiniteGradient() error {
	for _, t := range l.grad.Tensors() {
		if bad := firstNonFinite(t.Data); bad != "" {
			return &NonFinite{"gradient of " + t.Name, bad,
				fmt.Sprintf("the backward pass left the range of %s; use learner.loss_scale with fp16, or coarser-ranged learner.numerics.gradients", l.settings.Numerics.Gradients)}
		}
	}
	return &NonFinite{"gradient norm", "Inf", "the gradient is too large to square; lower learner.optimizer.lr"}
}

// firstNonFinite is "NaN" or "Inf", whichever is the first among the numbers, and empty if all are finite.
func firstNonFinite[T float32 | float64](x []T) string {
	for _, v := range x {
		switch {
		case v != v:
			return "NaN"
		case v-v != 0:
			return "Inf"
		}
	}
	return ""
}
