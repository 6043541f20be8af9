package learner_test

import (
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/kernel"
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/precision/must"
)

// direct computes the gradient of linear without Gorgonia: the stages of the
// pass, called in order.
func direct(p *model.Params, n engine.Numerics, b *enginetest.Responses, c []float64, temperature, balance float64) []float32 {
	var pack engine.Pack
	pack.Reset()
	pack.Targets = []int32{}
	targets := []int32{}
	for i := range b.Len() {
		from, to := b.Span(i)
		for k := range to - from {
			targets = append(targets, int32(pack.Rows()+len(b.Prompt[i])-1+k))
		}
		pack.Add(0, b.Prompt[i], b.Token[from:max(to-1, from)])
	}
	pack.Targets = targets
	w := engine.NewWeights(p.Config, n)
	w.Publish(p, 0)
	pass := engine.NewPass(p.Config, 1)
	defer pass.Close()
	pass.Begin(w, &pack, engine.Options{Save: true})
	pass.Forward()

	v := p.Config.Vocab
	dlogits := make([]float32, len(targets)*v)
	kernel.LogSoftmaxRows(dlogits, pass.Logits(), len(targets), v, float32(1/temperature))
	kernel.Exp(dlogits, dlogits)
	for t := range targets {
		scaled := float32(c[t] * (1 / temperature))
		row := dlogits[t*v : (t+1)*v]
		for a, prob := range row {
			row[a] = float32(-scaled * prob)
		}
		row[b.Token[t]] += scaled
	}
	grad := model.New(p.Config)
	pass.BeginBackward(grad, balance)
	pass.BackwardHead(dlogits)
	for l := range p.Config.Layers {
		pass.BackwardExperts(p.Config.Layers - 1 - l)
		pass.BackwardAttention(p.Config.Layers - 1 - l)
	}
	pass.BackwardEmbed()
	return grad.Theta
}

// Gorgonia adds nothing and loses nothing: the graph's gradient equals that of the
// stages called directly, bit for bit, for one worker and two, and also when
// one learner runs batches of different sizes, scores a larger one in between,
// and has to build its graph again.
func TestGraphIsTheDirectGradient(t *testing.T) {
	for i, m := range enginetest.Models(enginetest.Small) {
		for _, name := range []string{"fp32", "bf16", "fp8-w8a8"} {
			t.Run(m.Name+"/"+name, func(t *testing.T) {
				p, n := m.Params, preset(t, name)
				for _, workers := range []int{1, 2} {
					l := learner.New(p, learner.Settings{Numerics: n, Balance: 0.2}, workers)
					for _, size := range []int{4, 3, 40, 5} {
						b := halves(enginetest.Sequences(uint64(i*100+size), size, p.Config.Vocab, 3, 12))
						c := coefficients(uint64(size), b.Tokens())
						must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{c: c}, learner.StepOptions{Policy: learner.Policy{Temperature: 0.8}}))(t)
						if !slices.Equal(l.Grad(), direct(p, n, b, c, 0.8, 0.2)) {
							t.Errorf("%d workers, %d responses: the graph has another gradient", workers, size)
						}
						larger := halves(enginetest.Sequences(1, 60, p.Config.Vocab, 8, 12))
						l.Score(&larger.Old, &larger.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}})
					}
					l.Close()
				}
			})
		}
	}
}

// What a gradient allocates is Gorgonia's: a few times per node of its graph,
// which has five blocks in this model. Nothing grows with the rows.
func TestAllocationsPerGradient(t *testing.T) {
	for _, name := range []string{"fp32", "fp8-w8a8"} {
		for _, workers := range []int{1, 2} {
			p := enginetest.Named("moe").Params
			l := learner.New(p, learner.Settings{Numerics: preset(t, name), AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, ClipNorm: 1}, Balance: 0.1}, workers)
			counts := map[int]float64{}
			for _, size := range []int{30, 3} {
				b := sampled(p, preset(t, name), 1, size, size)
				o := learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}, Distributions: true}
				loss := &linear{}
				gradient := func() {
					must.Get(l.Gradient(&b.Now, &b.Sampled, loss, learner.StepOptions{Policy: learner.Policy{Temperature: 1}, Distributions: true, Entropy: true}))(t)
				}
				l.Score(&b.Old, &b.Sampled, o)
				gradient()
				counts[size] = testing.AllocsPerRun(3, gradient)
				// One piece of memory for the prompts' routes.
				if got := testing.AllocsPerRun(3, func() { l.Score(&b.Old, &b.Sampled, o) }); got > 1 {
					t.Errorf("%s, %d workers: scoring allocates %v times", name, workers, got)
				}
				if got := testing.AllocsPerRun(3, func() { l.Update(1e-9) }); got != 0 {
					t.Errorf("%s, %d workers: an update allocates %v times", name, workers, got)
				}
			}
			if counts[30] > counts[3]+10 || counts[3] > 100 {
				t.Errorf("%s, %d workers: a gradient of 30 responses allocates %v times, of 3 %v times", name, workers, counts[30], counts[3])
			}
			l.Close()
		}
	}
}
