package learner

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/engine"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/batch"
)

// TestScoreNorms holds the norms against finite differences of the log-prob
// along the gradient, g·∇/‖g‖, and checks that they leave no trace.
func TestScoreNorms(t *testing.T) {
	fp32, _ := engine.Preset("fp32")
	c := model.Config{Layers: 1, DModel: 16, Heads: 2, Experts: 4, TopK: 2, DFF: 16, Context: 32, Vocab: 12}.WithDefaults()
	p := model.New(c)
	p.Init(3)
	sampler := rollout.New(c, fp32, 4, 1)
	defer sampler.Close()
	sampler.Publish(p, 0)
	var b batch.Batch
	rng := rand.New(rand.NewPCG(1, 1))
	var requests []rollout.Request
	for i := range 5 {
		prompt := []int32{0, int32(rng.IntN(12)), int32(rng.IntN(12))}
		requests = append(requests, rollout.Request{Prompt: prompt[:1+i%3], Seed: 4, Stream: uint64(i)})
	}
	sampler.Generate(&b, requests, rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: 6, Stop: 0})
	b.Mask[1] = false

	l := New(p, Settings{Numerics: fp32, Balance: 0.1, LossScale: LossScale{Initial: 1024, Growth: 1}}, 1)
	defer l.Close()
	o := StepOptions{Temperature: 0.7, Replay: ReplayRollout}
	norms, err := l.ScoreNorms(nil, &b, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(norms) != 5 || len(b.Logp) != 0 || len(b.Entropy) != 0 {
		t.Fatalf("%d norms, batch changed: %v", len(norms), b.Logp)
	}
	if s := l.State(); s.Scale != 1024 || s.Clean != 0 || l.settings.Balance != 0.1 {
		t.Errorf("the loss scale moved: %+v", s)
	}
	again, _ := l.ScoreNorms(nil, &b, o)
	theta := p.Clone()
	for i, n := range norms {
		if again[i] != n {
			t.Errorf("response %d: %v, then %v", i, n, again[i])
		}
		// Along g/‖g‖ the derivative is ‖g‖.
		one := l.cutAndScore(t, &b, i, o)
		g := append([]float32(nil), l.Grad()...)
		const h = 2e-3
		var ends [2]float64
		for k, sign := range []float64{1, -1} {
			for j := range p.Theta {
				p.Theta[j] = theta.Theta[j] + float32(sign*h/n*float64(g[j]))
			}
			l.stale = true
			ends[k] = l.cutAndScore(t, &b, i, o)
		}
		p.CopyFrom(theta)
		l.stale = true
		if got := (ends[0] - ends[1]) / (2 * h); math.Abs(got-n) > 2e-3*n {
			t.Errorf("response %d: norm %v, difference quotient %v (at %v)", i, n, got, one)
		}
	}
}

// cutAndScore is Σ logp of response i, with its gradient left in Grad.
func (l *Learner) cutAndScore(t *testing.T, b *batch.Batch, i int, o StepOptions) float64 {
	t.Helper()
	scale, balance := l.scale, l.settings.Balance
	defer func() { l.scale, l.settings.Balance = scale, balance }()
	l.scale, l.settings.Balance = lossScaler{}, 0
	var one batch.Batch
	b.Select(&one, []int{i})
	r, err := l.Gradient(&one, score{}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r.Loss
}
