package learner_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/engine/reference"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
)

// compressed samples responses with a compressed KV cache.
func compressed(p *model.Params, n engine.Numerics, seed uint64, responses int, r rollout.Retention) *enginetest.Responses {
	e := rollout.New(p.Config, n, responses, 1)
	defer e.Close()
	e.SetRetention(r)
	e.Publish(p, 0)
	var list []rollout.Request
	for i, prompt := range enginetest.Sequences(seed, responses, p.Config.Vocab, 1, 9) {
		list = append(list, rollout.Request{Prompt: prompt, Seed: seed, Stream: uint64(i)})
	}
	var b enginetest.Responses
	e.Generate(&b.Sampled, list, rollout.Sampling{Temperature: temperature, TopP: 1, MaxTokens: 20, Distributions: true})
	return &b
}

// retentions give much up within a few tokens.
var retentions = []rollout.Retention{
	{Policy: rollout.Window, Keep: 0.5, Sinks: 2, Recent: 3},
	{Policy: rollout.HeavyHitter, Keep: 0.4, Sinks: 1, Recent: 2},
	{Policy: rollout.HeavyHitter, Budget: 5, Recent: 1},
}

// With equal engines and the retention masks replayed, scoring and gradient have
// the log-probs and distributions of the rollout bit for bit; without replay
// they have not.
func TestRetentionReplayAgrees(t *testing.T) {
	models := enginetest.Models(enginetest.Small)
	for i, n := range cases(t) {
		p := models[i%len(models)].Params
		b := compressed(p, n, uint64(i), 8, retentions[i%len(retentions)])
		l := learner.New(p, learner.Settings{Numerics: n}, 2)
		l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature, Retention: true}, Distributions: true})
		identical(t, n.Name+": Score", b, &b.Old)
		must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: temperature, Retention: true}, Distributions: true}))(t)
		identical(t, n.Name+": Gradient", b, &b.Now)
		l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature}})
		if slices.Equal(b.LogpRoll, b.Old.Logp) {
			t.Errorf("%s: full attention changes nothing", n.Name)
		}
		l.Close()
	}
}

// A mask that keeps everything changes no bit of a gradient, and the dense
// objective then finds the shadow equal to itself.
func TestFullRetentionChangesNothing(t *testing.T) {
	p := enginetest.Named("moe-grouped-softmax-first").Params
	for _, name := range []string{"fp32", "bf16", "fp32-batch-variant"} {
		n := preset(t, name)
		b := compressed(p, n, 3, 8, rollout.Retention{Policy: rollout.HeavyHitter, Keep: 1, Recent: 1})
		l := learner.New(p, learner.Settings{Numerics: n}, 1)
		o := learner.StepOptions{Policy: learner.Policy{Temperature: temperature}}
		must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, o))(t)
		want, logp := slices.Clone(l.Grad()), slices.Clone(b.Now.Logp)
		o.Retention, o.Dense = true, &divergence{0.1, &b.Now}
		r := must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, o))(t)
		if !slices.Equal(want, l.Grad()) || !slices.Equal(logp, b.Now.Logp) {
			t.Errorf("%s: a full mask changes the gradient", name)
		}
		if m := r.Metrics[len(r.Metrics)-1]; m.Name != "divergence" || m.Value != 0 {
			t.Errorf("%s: %+v", name, m)
		}
		l.Close()
	}
}

// The gradient with masks replayed equals that of the float64 reference that sees the same positions, and with the dense objective that of
//
//	Σ c·log shadow(token) + entropy + 0.7·Σ KL(dense‖shadow at the old weights)
func TestRetentionGradientsAreTheReferences(t *testing.T) {
	const warm = 0.7
	for i, m := range enginetest.Models(enginetest.Tiny) {
		p, c := m.Params, m.Params.Config
		b := halves(enginetest.Sequences(uint64(i+60), 2, c.Vocab, 6, 8))
		b.KVPlanes, b.KVWords = 1, 1
		if i%2 == 0 {
			b.KVPlanes = c.Layers * c.KVHeads
		}
		hold(b)
		o := &linear{coefficients(uint64(i), b.Tokens()), 0.3}
		l := learner.New(p, learner.Settings{Numerics: preset(t, "fp32")}, 1)
		routes := func(retention bool) *enginetest.Responses {
			scored := *b
			l.Score(&scored.Old, &scored.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: warm, Retention: retention}})
			return &scored
		}
		shadowRoutes, denseRoutes := routes(true), routes(false)
		r := reference.New(p)
		shadow := forward(r, shadowRoutes, b)
		coef := 0.7
		if i%3 == 2 {
			coef = 0
		}
		options := learner.StepOptions{Policy: learner.Policy{Temperature: warm, Retention: true}, Distributions: true, Entropy: true}
		if coef > 0 {
			options.Dense = &divergence{coef, &b.Now}
		}
		report := must.Get(l.Gradient(&b.Now, &b.Sampled, o, options))(t)
		if !slices.Equal(b.Now.Logp, shadowRoutes.Old.Logp) {
			t.Errorf("%s: the gradient leaves other log-probs than the shadow's", m.Name)
		}
		var log [][]float64 // of the shadow at the old weights, by token
		for i, p := range shadow {
			for _, logits := range p.Logits[len(b.Prompt[i])-1:] {
				log = append(log, reference.LogSoftmax(logits, warm))
			}
		}
		v := backward(r, b, shadow, o.of(b, warm), 0)
		if coef > 0 {
			v += backward(r, b, forward(r, denseRoutes, nil), func(n int, logits []float64) (sum float64) {
				for a, lp := range reference.LogSoftmax(logits, warm) {
					sum += coef * math.Exp(lp) * (lp - log[n][a])
				}
				return sum
			}, 0)
		}
		if math.Abs(report.Loss-v) > 1e-4*math.Abs(v)+1e-5 {
			t.Errorf("%s: loss %g, reference %g", m.Name, report.Loss, v)
		}
		enginetest.CompareGradients(t, fmt.Sprintf("%s, coefficient %g", m.Name, coef), p, l.Grad(), r.Grad, 1e-5)
		l.Close()
	}
}

// hold fills the masks of a batch: of the positions before its own, a row sees
// two of three, others in every plane, and equally many.
func hold(b *enginetest.Responses) {
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			row := len(b.Prompt[i]) + n - from - 1
			for plane := range b.KVPlanes {
				word := uint64(1) << row
				for k := range row - row/3 {
					word |= 1 << ((k + plane) % row)
				}
				b.KVKept = append(b.KVKept, word)
			}
		}
	}
}

// Masks that are not there, or that do not fit, are a programmer's fault.
func TestRetentionOfNothing(t *testing.T) {
	p := enginetest.Named("moe").Params
	s := learner.NewScorer(p.Config, preset(t, "fp32"), 1)
	defer s.Close()
	s.Publish(p, 0)
	for name, change := range map[string]func(b *enginetest.Responses){
		"no masks":       func(b *enginetest.Responses) { b.KVKept = nil },
		"own position":   func(b *enginetest.Responses) { b.KVKept[1] = 1 },
		"planes":         func(b *enginetest.Responses) { b.KVPlanes = 2 },
		"uneven planes":  func(b *enginetest.Responses) { b.KVPlanes, b.KVKept = 8, append(b.KVKept, make([]uint64, 14)...) },
		"words too many": func(b *enginetest.Responses) { b.KVWords = 2 },
	} {
		b := given([][]int32{{1, 2}}, [][]int32{{3, 4}})
		b.KVPlanes, b.KVWords, b.KVKept = 1, 1, []uint64{3, 7}
		s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1, Retention: true}})
		change(b)
		must.Panic(t, name, func() {
			s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1, Retention: true}})
		})
	}
}
