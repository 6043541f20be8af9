package learner

import (
	"fmt"
	"math"

	"driftlab/engine/column"
)

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

// checkForward returns an error if the log-probs of the last pass are not
// finite, naming the earliest tensor that is not.
func (l *Learner) checkForward() error {
	for _, x := range l.now.Logp {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return l.locateForward()
		}
	}
	return nil
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
	if x := l.out.Loss; math.IsNaN(x) || math.IsInf(x, 0) {
		return &NonFinite{"policy loss", nonFinite(x), cause}
	}
	for _, x := range l.out.DLogp {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return &NonFinite{"d loss/d logp", nonFinite(x), cause}
		}
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

func firstNonFinite(x []float32) string {
	for _, v := range x {
		if d := v - v; d != 0 || d != d {
			return nonFinite(float64(v))
		}
	}
	return ""
}

func nonFinite(x float64) string {
	if math.IsNaN(x) {
		return "NaN"
	}
	return "Inf"
}
