package learner_test

import (
	"slices"
	"testing"

	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/precision/must"
)

// The index of sparse attention has no gradient, and keeps its bits under weight decay.
func TestIndexIsFrozen(t *testing.T) {
	start := enginetest.Sparse(enginetest.Small)[1].Params
	b := sampled(start, preset(t, "fp32"), 6, 16, 16)
	p := start.Clone()
	l := learner.New(p, learner.Settings{Numerics: preset(t, "fp32"), AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.9, Eps: 1e-8, WeightDecay: 0.1}}, 1)
	defer l.Close()
	must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: temperature, Retention: true}}))(t)
	l.Update(1e-2)
	for _, tensor := range start.Tensors() {
		if same := slices.Equal(tensor.Data, p.Theta[tensor.Offset:tensor.End()]); same != tensor.Index() {
			t.Errorf("%s keeps its bits: %t", tensor.Name, same)
		}
	}
}

// A frozen router keeps its bits, weight decay or not, and has no part in the
// norm; every other tensor gets the gradient it has without.
func TestFrozenRouter(t *testing.T) {
	start := enginetest.Named("moe").Params
	b := sampled(start, preset(t, "fp32"), 6, 16, 16)
	settings := learner.Settings{Numerics: preset(t, "fp32"), AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.9, Eps: 1e-8, WeightDecay: 0.1}, Balance: 0.1}
	p, q := start.Clone(), start.Clone()
	free := learner.New(p, settings, 1)
	defer free.Close()
	settings.FrozenRouter = true
	frozen := learner.New(q, settings, 1)
	defer frozen.Close()
	norms := [2]float64{}
	for i, l := range []*learner.Learner{free, frozen} {
		r := must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: temperature}}))(t)
		norms[i] = r.GradNorm
		l.Update(1e-2)
	}
	if !(norms[1] < norms[0]) {
		t.Errorf("norm %g with the router frozen, %g without", norms[1], norms[0])
	}
	routers := 0
	for i, tensor := range start.Tensors() {
		at, end := tensor.Offset, tensor.End()
		moved := !slices.Equal(tensor.Data, q.Theta[at:end])
		if tensor.Router() {
			routers++
			if moved || slices.ContainsFunc(frozen.Grad()[at:end], func(g float32) bool { return g != 0 }) {
				t.Errorf("%s moves", tensor.Name)
			}
			if slices.Equal(tensor.Data, p.Theta[at:end]) {
				t.Errorf("%s does not move where it is trained", tensor.Name)
			}
			continue
		}
		if !moved || !slices.Equal(free.Grad()[at:end], frozen.Grad()[at:end]) || !slices.Equal(p.Tensors()[i].Data, q.Tensors()[i].Data) {
			t.Errorf("%s is not trained as it is beside a free router", tensor.Name)
		}
	}
	if routers != start.Config.Layers {
		t.Errorf("%d routers in %d layers", routers, start.Config.Layers)
	}
}
