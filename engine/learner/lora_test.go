package learner_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/engine/reference"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/precision/must"
)

// adapted is a model with adapters, of random values, next to all its projections.
func adapted(p *model.Params) *model.Params {
	p = p.Clone()
	p.AddLoRA(3, 4, func(name string) bool {
		return strings.Contains(name, "self_attn") || strings.Contains(name, "expert") || strings.Contains(name, "mlp")
	}, 5)
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range p.Trained() {
		p.Trained()[i] = float32(rng.Float64()-0.5) / 4
	}
	p.Merge()
	return p
}

// unmerged is a preset with unmerged adapters.
func unmerged(t testing.TB, name string) engine.Numerics {
	n := preset(t, name)
	n.Adapters.Unmerged = true
	return n
}

// The gradient of the adapters equals the float64 reference's, merged
// and unmerged, for every variant of the architecture; an update moves nothing else.
func TestLoRAGradientsAreTheReferences(t *testing.T) {
	for i, m := range enginetest.Models(enginetest.Tiny) {
		for k, n := range []engine.Numerics{preset(t, "fp32"), unmerged(t, "fp32")} {
			if k != i%2 && !*exhaustive {
				continue
			}
			p := adapted(m.Params)
			b := halves(enginetest.Sequences(uint64(i+20), 2, p.Config.Vocab, 4, 6))
			o := &linear{coefficients(uint64(i), b.Tokens()), 0.3}
			l := learner.New(p, learner.Settings{Numerics: n, AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, WeightDecay: 0.1}}, 1)
			l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 0.7}})
			report := must.Get(l.Gradient(&b.Now, &b.Sampled, o, learner.StepOptions{Policy: learner.Policy{Temperature: 0.7}, Distributions: true, Entropy: true}))(t)
			if len(l.Grad()) != len(p.LoRA.Theta) || len(l.State().First) != len(p.LoRA.Theta) {
				t.Fatalf("%s: %d gradients and %d moments of %d adapter weights", m.Name, len(l.Grad()), len(l.State().First), len(p.LoRA.Theta))
			}
			r := reference.New(p)
			backward(r, b, forward(r, b, nil), o.of(b, 0.7), 0)
			want, grad := make([]float32, len(l.Grad())), model.New(p.Config)
			for j, g := range r.Grad {
				grad.Theta[j] = float32(g)
			}
			p.LoRA.Gradient(want, grad)
			var off, all, norm float64
			for j, g := range l.Grad() {
				off += (float64(g) - float64(want[j])) * (float64(g) - float64(want[j]))
				all += float64(want[j]) * float64(want[j])
				norm += float64(g) * float64(g)
			}
			if d := math.Sqrt(off / all); !(d < 1e-4) || all == 0 {
				t.Errorf("%s, adapters %s: the gradient is %.3g away", m.Name, n.Adapters, d)
			}
			if math.Abs(report.GradNorm-math.Sqrt(norm)) > 1e-9*report.GradNorm {
				t.Errorf("%s: norm %g, of the adapters %g", m.Name, report.GradNorm, math.Sqrt(norm))
			}
			before, base := p.Clone(), slices.Clone(p.LoRA.Base.Theta)
			l.Update(1e-2)
			for j, tensor := range p.Tensors() {
				target := slices.ContainsFunc(p.LoRA.Adapters, func(a model.Adapter) bool { return a.Target == j })
				if moved := !slices.Equal(tensor.Data, before.Tensors()[j].Data); moved != target {
					t.Errorf("%s: %s moves: %t", m.Name, tensor.Name, moved)
				}
			}
			if !slices.Equal(base, p.LoRA.Base.Theta) {
				t.Errorf("%s: the frozen weights move", m.Name)
			}
			l.Close()
		}
	}
}

// An engine with unmerged adapters gives the same bits as it decodes and as it scores, in
// every format, also where what a pass keeps for the gradient is dequantised; another
// format of the product gives others; in fp32 merged and unmerged differ by rounding alone.
func TestUnmergedDecodesAsItScores(t *testing.T) {
	for _, m := range enginetest.Models(enginetest.Tiny)[:3] {
		p := adapted(m.Params)
		for _, name := range []string{"fp32", "bf16", "fp8-w8a8", "int8-w8a8", "bf16-tp4"} {
			n := unmerged(t, name)
			b := sampled(p, n, 3, 6, 4)
			l := learner.New(p, learner.Settings{Numerics: n}, 2)
			l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature}})
			if !slices.Equal(b.LogpRoll, b.Old.Logp) {
				t.Errorf("%s, %s: two engines with unmerged adapters differ", m.Name, name)
			}
			must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{c: coefficients(1, b.Tokens())}, learner.StepOptions{Policy: learner.Policy{Temperature: temperature}}))(t)
			if !slices.Equal(b.Now.Logp, b.Old.Logp) {
				t.Errorf("%s, %s: the gradient's forward pass has other bits", m.Name, name)
			}
			l.Close()
			for _, other := range []engine.Adapters{{}, {Unmerged: true, Format: precision.FP32}} {
				q := n
				q.Adapters = other
				s := learner.NewScorer(p.Config, q, 1)
				s.Publish(p, 0)
				var scored column.Scored
				s.Score(&scored, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature}})
				s.Close()
				if same := slices.Equal(scored.Logp, b.Old.Logp); same != q.Equal(n) {
					t.Errorf("%s, %s: adapters %s against unmerged, equal bits: %t", m.Name, name, other, same)
				}
				for i, x := range scored.Logp {
					if name == "fp32" && math.Abs(x-b.Old.Logp[i]) > 1e-4 {
						t.Fatalf("%s, adapters %s: token %d differs by %g in fp32", m.Name, other, i, x-b.Old.Logp[i])
					}
				}
			}
		}
	}
}
