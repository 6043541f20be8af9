package learner

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
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
	var b column.Sampled
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
	o := StepOptions{Policy: Policy{Temperature: 0.7, Replay: ReplayRollout}}
	var before column.Sampled
	b.Select(&before, []int{0, 1, 2, 3, 4})
	norms := must.Get(l.ScoreNorms(nil, &b, o))(t)
	if len(norms) != 5 || !reflect.DeepEqual(b, before) {
		t.Fatalf("%d norms, responses changed: %+v", len(norms), b)
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

// Norms under replay of an earlier pass take each response's own part of it:
// routes of the same weights are no replay, others give other norms, and what was
// replayed once is not replayed unasked.
func TestScoreNormsOfAnEarlierPass(t *testing.T) {
	fp32, _ := engine.Preset("fp32")
	c := model.Config{Layers: 2, DModel: 16, Heads: 2, Experts: 4, DFF: 16, Context: 32, Vocab: 12}.WithDefaults()
	p := model.New(c)
	p.Init(3)
	in := column.Sampled{Offsets: []int{0, 2, 4, 6}, Prompt: [][]int32{{1}, {2, 3}, {4, 5, 6}}, Token: []int32{7, 8, 9, 1, 2, 3}, Mask: slices.Repeat([]bool{true}, 6)}
	l := New(p, Settings{Numerics: fp32}, 1)
	defer l.Close()
	o := StepOptions{Policy: Policy{Temperature: 1}}
	var old column.Scored
	l.Score(&old, &in, ScoreOptions{Policy: o.Policy})
	norms := func(replay Replay) []float64 {
		o.Replay, o.Earlier = replay, &old
		if replay == ReplayNone {
			o.Earlier = nil
		}
		return must.Get(l.ScoreNorms(nil, &in, o))(t)
	}
	live := norms(ReplayNone)
	if got := norms(ReplayOld); !slices.Equal(live, got) {
		t.Errorf("norms %v, on the same routes replayed %v", live, got)
	}
	for i, e := range old.Routes {
		old.Routes[i] = (e + 1) % uint8(c.Experts)
	}
	if got := norms(ReplayOld); got[0] == live[0] || got[1] == live[1] || got[2] == live[2] {
		t.Errorf("norms %v, on other routes %v", live, got)
	}
	o.Earlier = nil
	must.Panic(t, "the routes of an earlier call are replayed", func() { l.ScoreNorms(nil, &in, o) })
}

// cutAndScore is Σ logp of response i, with its gradient left in Grad.
func (l *Learner) cutAndScore(t *testing.T, b *column.Sampled, i int, o StepOptions) float64 {
	t.Helper()
	scale, balance := l.scale, l.settings.Balance
	defer func() { l.scale, l.settings.Balance = scale, balance }()
	l.scale, l.settings.Balance = lossScaler{}, 0
	var one column.Sampled
	var now column.Scored
	b.Select(&one, []int{i})
	r := must.Get(l.Gradient(&now, &one, scoreOf{&one, nil}, o))(t)
	return r.Loss
}
