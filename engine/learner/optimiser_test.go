package learner_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/precision/must"
)

// adamW is the optimiser in float64, from arXiv:1711.05101, algorithm 2, with
// the learning rate multiplying the decay, as in PyTorch:
//
//	m ← β1 m + (1-β1) g,  v ← β2 v + (1-β2) g²
//	θ ← θ - lr·λ·θ - lr·(m/(1-β1^t)) / (√(v/(1-β2^t)) + ε)
type adamW struct {
	learner.AdamW
	theta, m, v []float64
	decayed     []bool
	t           int
}

func newAdamW(s learner.AdamW, p *model.Params) *adamW {
	a := &adamW{AdamW: s, m: make([]float64, len(p.Theta)), v: make([]float64, len(p.Theta))}
	for _, x := range p.Theta {
		a.theta = append(a.theta, float64(x))
	}
	for _, t := range p.Tensors() {
		for range t.Data {
			a.decayed = append(a.decayed, len(t.Shape) == 2)
		}
	}
	return a
}

func (a *adamW) step(grad []float32, rate float64) {
	var squares float64
	for _, g := range grad {
		squares += float64(g) * float64(g)
	}
	clip := 1.0
	if n := math.Sqrt(squares); a.ClipNorm > 0 && n > a.ClipNorm {
		clip = a.ClipNorm / n
	}
	a.t++
	for i := range a.theta {
		g := clip * float64(grad[i])
		a.m[i] = a.Beta1*a.m[i] + (1-a.Beta1)*g
		a.v[i] = a.Beta2*a.v[i] + (1-a.Beta2)*g*g
		if a.decayed[i] {
			a.theta[i] -= rate * a.WeightDecay * a.theta[i]
		}
		m, v := a.m[i]/(1-math.Pow(a.Beta1, float64(a.t))), a.v[i]/(1-math.Pow(a.Beta2, float64(a.t)))
		a.theta[i] -= rate * m / (math.Sqrt(v) + a.Eps)
	}
}

// Updates follow AdamW in float64, with and without decay and clipping, at
// rates that change. The gradient is the learner's own each time, so errors do
// not hide each other; single precision leaves 1e-6 per step.
func TestAdamW(t *testing.T) {
	for _, test := range []struct {
		name     string
		settings learner.AdamW
	}{
		{"plain", learner.AdamW{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}},
		{"clipped", learner.AdamW{Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, ClipNorm: 0.5}},
		{"not clipped", learner.AdamW{Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, ClipNorm: 1e6}},
		{"decayed", learner.AdamW{Beta1: 0.8, Beta2: 0.99, Eps: 1e-4, WeightDecay: 0.3, ClipNorm: 1}},
		{"without momentum", learner.AdamW{Beta2: 0.5, Eps: 1e-3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := enginetest.Models(enginetest.Tiny)[2].Params.Clone()
			b := halves(enginetest.Sequences(1, 3, p.Config.Vocab, 4, 6))
			l := learner.New(p, learner.Settings{Numerics: preset(t, "fp32"), AdamW: test.settings}, 1)
			defer l.Close()
			want := newAdamW(test.settings, p)
			for step := range 6 {
				r := must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}}))(t)
				if test.name == "clipped" && r.GradNorm < 0.5 || test.name == "not clipped" && r.GradNorm > 1e6 {
					t.Fatalf("gradient norm %g", r.GradNorm)
				}
				rate := 0.01 / float64(1+step)
				grad := slices.Clone(l.Grad())
				l.Update(rate)
				if !slices.Equal(grad, l.Grad()) {
					t.Fatal("an update changes the gradient")
				}
				want.step(grad, rate)
				for i, x := range p.Theta {
					if off := math.Abs(float64(x) - want.theta[i]); !(off < 2e-6*float64(1+step)) {
						t.Fatalf("step %d: parameter %d is %g, in float64 %g", step, i, x, want.theta[i])
					}
				}
			}
			if l.Updates() != 6 {
				t.Errorf("%d updates", l.Updates())
			}
		})
	}
}

// Guards may edit the gradient between Gradient and Update: the norm that is
// clipped is the norm of the edited gradient.
func TestUpdateReadsTheGradientAsItIs(t *testing.T) {
	p := enginetest.Models(enginetest.Tiny)[0].Params.Clone()
	before := slices.Clone(p.Theta)
	l := learner.New(p, learner.Settings{Numerics: preset(t, "fp32"), AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.9, Eps: 1e-8, ClipNorm: 1}}, 1)
	defer l.Close()
	b := halves(enginetest.Sequences(1, 2, p.Config.Vocab, 4, 6))
	must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}}))(t)
	clear(l.Grad())
	l.Update(0.1)
	if !slices.Equal(before, p.Theta) {
		t.Error("a cleared gradient moves the weights")
	}
}

// A share of the parameters that ends inside a tensor moves them as ever, and a
// frozen router stays, on any number of workers.
func TestUpdateOnAnyWorkers(t *testing.T) {
	b := halves(enginetest.Sequences(1, 3, enginetest.Models(enginetest.Tiny)[2].Params.Config.Vocab, 4, 6))
	updated := func(frozen bool, workers int) []float32 {
		p := enginetest.Models(enginetest.Tiny)[2].Params.Clone()
		l := learner.New(p, learner.Settings{Numerics: preset(t, "fp32"), FrozenRouter: frozen,
			AdamW: learner.AdamW{Beta1: 0.8, Beta2: 0.99, Eps: 1e-4, WeightDecay: 0.3, ClipNorm: 1}}, workers)
		defer l.Close()
		for range 3 {
			must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}}))(t)
			l.Update(0.01)
		}
		return p.Theta
	}
	for _, frozen := range []bool{false, true} {
		want := updated(frozen, 1)
		for _, workers := range []int{2, 3, 7} {
			if !slices.Equal(want, updated(frozen, workers)) {
				t.Errorf("frozen router %t: %d workers give other parameters", frozen, workers)
			}
		}
	}
}

// A loss scale changes an fp32 gradient by nothing, being a power of two, and
// saves fp16 gradients that would vanish.
func TestLossScale(t *testing.T) {
	p := enginetest.Models(enginetest.Tiny)[2].Params.Clone()
	b := halves(enginetest.Sequences(1, 3, p.Config.Vocab, 4, 6))
	gradient := func(numerics string, scale, coefficient float64) []float32 {
		l := learner.New(p, learner.Settings{Numerics: preset(t, numerics), LossScale: learner.LossScale{Initial: scale, Growth: 1000}, Balance: coefficient}, 1)
		defer l.Close()
		c := make([]float64, b.Tokens())
		for i := range c {
			c[i] = coefficient
		}
		r, err := l.Gradient(&b.Now, &b.Sampled, &linear{c: c}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}})
		if err != nil || r.Skipped {
			t.Fatal(err, r.Skipped)
		}
		if want := max(scale, 1); r.Scale != want {
			t.Fatalf("scale %g, want %g", r.Scale, want)
		}
		return slices.Clone(l.Grad())
	}
	want := gradient("fp32", 0, 1)
	if !slices.Equal(want, gradient("fp32", 1024, 1)) {
		t.Error("scale 1024 changes an fp32 gradient")
	}
	// Coefficients of 2^-26: fp16 has no number below 2^-24 but zero.
	const small = 1.0 / (1 << 26)
	want = gradient("fp32", 0, small)
	lost, saved := relative(gradient("fp16", 0, small), want), relative(gradient("fp16", 1<<16, small), want)
	if lost < 0.3 || saved > 0.05 {
		t.Errorf("without a scale the gradient is %.3g away, with 65536 %.3g", lost, saved)
	}
}

// relative is |a-b|/|b|.
func relative(a, b []float32) float64 {
	var off, all float64
	for i := range a {
		off += (float64(a[i]) - float64(b[i])) * (float64(a[i]) - float64(b[i]))
		all += float64(b[i]) * float64(b[i])
	}
	return math.Sqrt(off / all)
}

// An overflow halves the scale and is skipped; enough clean gradients double
// it. At scale 1 there is nothing to halve, and the run stops.
func TestDynamicLossScale(t *testing.T) {
	p := enginetest.Models(enginetest.Tiny)[0].Params.Clone()
	b := halves(enginetest.Sequences(1, 2, p.Config.Vocab, 4, 6))
	l := learner.New(p, learner.Settings{Numerics: preset(t, "fp16"), LossScale: learner.LossScale{Initial: 1 << 20, Growth: 3}}, 1)
	defer l.Close()
	step := func(coefficient float64) (learner.Report, error) {
		c := make([]float64, b.Tokens())
		for i := range c {
			c[i] = coefficient
		}
		return l.Gradient(&b.Now, &b.Sampled, &linear{c: c}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}})
	}
	// The largest fp16 number is 65504: at scale 2^20 even one token's gradient
	// overflows, and the scale comes down by halves until it fits.
	scale, skipped := float64(1<<20), 0
	for {
		r := must.Get(step(1))(t)
		if r.Scale != scale {
			t.Fatalf("scale %g, want %g", r.Scale, scale)
		}
		if !r.Skipped {
			break
		}
		skipped++
		scale /= 2
	}
	if skipped < 4 || scale < 1024 {
		t.Fatalf("%d skipped, scale %g", skipped, scale)
	}
	// That was the first clean gradient; two more double it.
	for range 2 {
		if r, err := step(0.01); err != nil || r.Skipped || r.Scale != scale {
			t.Fatal(r, err)
		}
	}
	if r, err := step(0.01); err != nil || r.Scale != 2*scale {
		t.Fatalf("scale %g after three clean gradients, want %g (%v)", r.Scale, 2*scale, err)
	}
	// The count starts again: the next two leave it.
	for range 2 {
		if r, err := step(0.01); err != nil || r.Scale != 2*scale {
			t.Fatalf("scale %g, want %g (%v)", r.Scale, 2*scale, err)
		}
	}
	// A gradient that overflows by itself is not the scale's fault.
	for range 40 {
		r, err := step(1e9)
		if err != nil {
			var bad *learner.NonFinite
			if !errors.As(err, &bad) || !strings.HasPrefix(bad.Tensor, "gradient of ") || l.State().Scale != 1 {
				t.Fatalf("at scale %g: %v", l.State().Scale, err)
			}
			return
		}
		if !r.Skipped {
			t.Fatal("an overflow counts as clean")
		}
	}
	t.Error("a gradient that always overflows is skipped for ever")
}

// A learner restored from its state and parameters goes on bit for bit.
func TestStateRestores(t *testing.T) {
	for _, numerics := range []string{"fp32", "fp16"} {
		settings := learner.Settings{
			Numerics: preset(t, numerics), AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, WeightDecay: 0.01, ClipNorm: 1},
			LossScale: learner.LossScale{Initial: 256, Growth: 2}, Balance: 0.01,
		}
		start := enginetest.Models(enginetest.Tiny)[2].Params
		b := halves(enginetest.Sequences(1, 3, start.Config.Vocab, 4, 6))
		steps := func(l *learner.Learner, n int) {
			for range n {
				if r, err := l.Gradient(&b.Now, &b.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}}); err != nil || r.Skipped {
					t.Fatal(err, r.Skipped)
				}
				l.Update(0.01)
			}
		}
		whole := learner.New(start.Clone(), settings, 1)
		steps(whole, 7)

		first := learner.New(start.Clone(), settings, 1)
		steps(first, 3)
		saved, theta := first.State(), slices.Clone(first.Params().Theta)
		saved.First, saved.Second = slices.Clone(saved.First), slices.Clone(saved.Second)
		steps(first, 1) // what comes after the snapshot is lost

		p := start.Clone()
		second := learner.New(p, settings, 2)
		steps(second, 1) // a learner with a past of its own
		copy(p.Theta, theta)
		must.Do(t, second.SetState(saved))
		steps(second, 4)
		if !slices.Equal(whole.Params().Theta, p.Theta) || whole.State().Scale != second.State().Scale || second.Updates() != 7 {
			t.Errorf("%s: restored, the run ends elsewhere", numerics)
		}
		if err := second.SetState(learner.State{First: saved.First[1:], Second: saved.Second}); err == nil {
			t.Error("a state of another model is accepted")
		}
		for _, l := range []*learner.Learner{whole, first, second} {
			l.Close()
		}
	}
}

// A scorer holds a copy of the weights and their version; the learner follows
// its own updates.
func TestPublishCopies(t *testing.T) {
	p := enginetest.Models(enginetest.Tiny)[2].Params.Clone()
	n := preset(t, "fp8-w8a8")
	b := halves(enginetest.Sequences(1, 3, p.Config.Vocab, 4, 6))
	frozen := learner.NewScorer(p.Config, n, 1)
	defer frozen.Close()
	frozen.Publish(p, 0)
	l := learner.New(p, learner.Settings{Numerics: n, AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.9, Eps: 1e-8}}, 1)
	defer l.Close()

	var ref column.Scored
	reference := learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}, Distributions: true}
	frozen.Score(&ref, &b.Sampled, reference)
	before := slices.Clone(ref.Logp)
	l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}})
	if !slices.Equal(before, b.Old.Logp) {
		t.Error("learner and reference differ before the first update")
	}
	must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}}))(t)
	l.Update(0.01)
	frozen.Score(&ref, &b.Sampled, reference)
	if !slices.Equal(before, ref.Logp) {
		t.Error("training changes published weights")
	}
	l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}})
	if slices.Equal(before, b.Old.Logp) {
		t.Error("the learner scores with the weights of before its update")
	}
}

// failing is a loss that cannot be computed.
type failing struct{ err error }

func (f failing) Eval(*column.Grad, *column.Scored) error { return f.err }

// The objective's error comes back as it is, and the learner works on.
func TestObjectiveError(t *testing.T) {
	p := enginetest.Models(enginetest.Tiny)[0].Params.Clone()
	b := halves(enginetest.Sequences(1, 2, p.Config.Vocab, 4, 6))
	l := learner.New(p, learner.Settings{Numerics: preset(t, "fp32")}, 1)
	defer l.Close()
	o := learner.StepOptions{Policy: learner.Policy{Temperature: 1}}
	must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, o))(t)
	want := slices.Clone(l.Grad())
	cause := errors.New("column Advantage is missing")
	if _, err := l.Gradient(&b.Now, &b.Sampled, failing{cause}, o); !errors.Is(err, cause) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	if _, err := l.Gradient(&b.Now, &b.Sampled, &linear{}, o); err != nil || !slices.Equal(want, l.Grad()) {
		t.Errorf("the gradient after an error differs (%v)", err)
	}
}
