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
	"driftlab/engine/reference"
	"driftlab/model"
	"driftlab/precision/must"
)

// returning is a loss that gives a set value and slope.
type returning struct{ value, slope float64 }

func (r returning) Eval(out *column.Grad, now *column.Scored) error {
	out.Reset(len(now.Logp))
	out.Loss = r.value
	for n := range out.DLogp {
		out.DLogp[n] = r.slope
	}
	return nil
}

// Poison in one place, found by the name of that place: the first tensor, in
// the order of the computation, that is not finite. Afterwards the learner is
// as good as new.
func TestNonFiniteNamesTheTensor(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	poison := func(name string, value float64) func(*model.Params) {
		return func(p *model.Params) { p.Tensor(name).Data[3] = float32(value) }
	}
	// scaled makes a tensor so large that fp16 cannot hold what comes of it.
	scaled := func(name string) func(*model.Params) {
		return func(p *model.Params) {
			for i := range p.Tensor(name).Data {
				p.Tensor(name).Data[i] *= 1e5
			}
		}
	}
	const expert = "model.layers.1.block_sparse_moe.experts.2.w1.weight"
	for _, test := range []struct {
		name, numerics string
		poison         func(*model.Params)
		objective      learner.Objective
		tensor, value  string
	}{
		{"a weight", "fp32", poison(expert, nan), &linear{}, expert, "NaN"},
		{"an infinite weight", "fp32", poison("model.layers.0.self_attn.k_proj.weight", inf), &linear{}, "model.layers.0.self_attn.k_proj.weight", "Inf"},
		{"embedding beyond fp16", "fp16", scaled("model.embed_tokens.weight"), &linear{}, "embed", "Inf"},
		{"attention beyond fp16", "fp16", scaled("model.layers.0.self_attn.o_proj.weight"), &linear{}, "layers.0.attention", "Inf"},
		{"experts beyond fp16", "fp16", scaled("model.layers.1.block_sparse_moe.experts.0.w2.weight"), &linear{}, "layers.1.ffn", "Inf"},
		{"logits beyond fp16", "fp16", scaled("lm_head.weight"), &linear{}, "logits", "Inf"},
		{"the loss", "fp32", nil, returning{nan, 1}, "policy loss", "NaN"},
		{"a ratio in the gradient", "fp32", nil, returning{1, inf}, "d loss/d logp", "Inf"},
		{"backward beyond fp16", "fp16", nil, returning{1, 1e7}, "gradient of ", "Inf"},
		{"the norm", "fp32", nil, returning{1, 1e30}, "", ""}, // float64 holds its square
	} {
		t.Run(test.name, func(t *testing.T) {
			good := enginetest.Models(enginetest.Tiny)[2].Params
			p := good.Clone()
			sequences := enginetest.Sequences(1, 8, p.Config.Vocab, 6, 8)
			b := halves(sequences)
			if test.poison != nil {
				test.poison(p)
			}
			l := learner.New(p, learner.Settings{Numerics: preset(t, test.numerics)}, 1)
			defer l.Close()
			_, err := l.Gradient(&b.Now, &b.Sampled, test.objective, learner.StepOptions{Policy: learner.Policy{Temperature: 1}})
			if test.tensor == "" {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			bad, ok := errors.AsType[*learner.NonFinite](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			if !strings.HasPrefix(bad.Tensor, test.tensor) || bad.Value != test.value && test.tensor != "gradient of " {
				t.Errorf("%s in %s, want %s in %s", bad.Value, bad.Tensor, test.value, test.tensor)
			}
			if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, bad.Tensor) || bad.Cause == "" {
				t.Errorf("message %q", text)
			}

			// The learner recovers with the weights.
			p.CopyFrom(good)
			must.Do(t, l.SetState(l.State()))
			clean := halves(sequences)
			must.Get(l.Gradient(&clean.Now, &clean.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}}))(t)
			if !slices.Equal(l.Grad(), direct(p, preset(t, test.numerics), clean, slices.Repeat([]float64{1}, clean.Tokens()), 1, 0)) {
				t.Error("another gradient after the error")
			}
		})
	}
}

// A token the learner gives no probability: its log-prob is -Inf although every
// logit is finite.
func TestNonFiniteLogProb(t *testing.T) {
	p := enginetest.Models(enginetest.Tiny)[0].Params.Clone()
	// Token 0's logit is the first entry of the last norm's output times a
	// factor, token 1's is its negative: 2.5e38 each, and they differ by 5e38.
	clear(p.Head)
	p.Head[0] = 1
	for i := range p.FinalNorm {
		p.FinalNorm[i] = 100
	}
	prompt := []int32{1, 2, 3}
	logit := reference.New(p).Forward(prompt, nil).Logits[2][0]
	p.Head[0] = float32(2.5e38 / math.Abs(logit))
	p.Head[p.Config.DModel] = -p.Head[0]
	unlikely := int32(0)
	if logit > 0 {
		unlikely = 1
	}
	l := learner.New(p, learner.Settings{Numerics: preset(t, "fp32")}, 1)
	defer l.Close()
	gradient := func(token int32) error {
		b := given([][]int32{prompt}, [][]int32{{token}})
		_, err := l.Gradient(&b.Now, &b.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}})
		return err
	}
	err := gradient(unlikely)
	if bad, ok := errors.AsType[*learner.NonFinite](err); !ok || bad.Tensor != "log-probs" || bad.Value != "Inf" {
		t.Errorf("error %v", err)
	}
	if err := gradient(1 - unlikely); err != nil {
		t.Errorf("the likely token: %v", err)
	}
}
