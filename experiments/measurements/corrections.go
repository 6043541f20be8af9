package measurements

import (
	"math"

	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
)

// factors makes real updates of chain-base on a rollout and records how far the merged ratio is
// from engine ratio times staleness ratio, and what a clip at [0.8, 1.2] cuts at the first
// gradient: of the staleness ratio, and of the merged one between equal engines.
type factors struct {
	Rollout, Learner format
	Groups           sizes
	Updates          int
	Rate             float64
}

func (m *factors) Measure(e *claim.Env, o *claim.Observation) {
	p := e.Base(192)
	l := measure.NewLearner(p, m.Learner.Numerics)
	defer l.Close()
	parts := minibatches(graded(e, p, m.Rollout.Numerics, m.Learner.Numerics, m.Groups.of(e)), 1)
	b := parts[0]
	var identity, first float64
	for round := range m.Updates {
		claim.StopOn(l.Update(parts, method.New[loss.PPOClip](), m.Rate, 1))
		staleness := stats.Differences(b.Now.Logp, b.Old.Logp)
		if round == 0 {
			first = outsideClip(staleness)
		}
		for n, engine := range logRatiosOf(b) {
			identity = max(identity, math.Abs(engine+staleness[n]-(b.Now.Logp[n]-b.LogpRoll[n])))
		}
	}
	twin, fresh := graded(e, p, m.Learner.Numerics, m.Learner.Numerics, 2), measure.NewLearner(p, m.Learner.Numerics)
	defer fresh.Close()
	claim.StopOn(fresh.Gradient(twin, method.New[loss.PPOClip]()))
	o.Set("identity", identity)
	o.Set("decoupled at the first gradient", first)
	o.Set("merged, equal engines", outsideClip(stats.Differences(twin.Now.Logp, twin.LogpRoll)))
}

// opsmSets compares what OPSM drops with what the one-sided geometric mask rejects among negative
// advantages, as updates of chain-base on a batch go on: counts of tokens over all of them.
type opsmSets struct {
	Rollout, Learner format
	Groups           sizes
	// Updates are those before each comparison, and Deltas the thresholds compared at.
	Updates []int
	Rate    float64
	Deltas  []float64
}

// Measure records the tokens in one set only, and those that OPSM drops by threshold.
func (m *opsmSets) Measure(e *claim.Env, o *claim.Observation) {
	p := e.Base(0)
	l := measure.NewLearner(p, m.Learner.Numerics)
	defer l.Close()
	parts := minibatches(graded(e, p, m.Rollout.Numerics, m.Learner.Numerics, m.Groups.of(e)), 1)
	different, masked := 0.0, make([]float64, len(m.Deltas))
	for _, rounds := range m.Updates {
		claim.StopOn(l.Update(parts, method.New[loss.PPOClip](), m.Rate, rounds))
		for k, delta := range m.Deltas {
			opsm := rejected(parts[0], &correction.OPSM{Delta: delta, Signs: correction.Negative})
			low := rejected(parts[0], &correction.Geometric{Low: elementary.Exp(-delta), High: math.Inf(1)})
			for n := range opsm {
				if opsm[n] != (low[n] && parts[0].Advantage[n] < 0) {
					different++
				}
				if opsm[n] {
					masked[k]++
				}
			}
		}
	}
	o.Set("tokens in one set only", different)
	o.Set("tokens masked", masked...)
}

// rejected says which tokens a mask removes from the policy term of the current
// weights, with the ratio taken against the rollout engine.
func rejected(b *batch.Batch, m correction.Masking) []bool {
	own := minibatches(b, 1)[0]
	correct(own, &correction.Pipeline{Mode: correction.Bypass, Masks: []correction.Masking{m}})
	out := make([]bool, own.Tokens())
	for n := range out {
		out[n] = !own.LossMask[n] || own.Gate != nil && !own.Gate[n]
	}
	return out
}

// correct applies a correction as the first gradient step of a batch does.
func correct(b *batch.Batch, p *correction.Pipeline) {
	claim.StopOn(p.Apply(b, correction.AtBatch))
	claim.StopOn(p.Apply(b, correction.AtStep))
}

// skew records the means of (r - 1)·A of the engine ratio r of chain-base over the tokens with
// positive and with negative advantage.
type skew struct {
	Figure           string
	Rollout, Learner format
	Groups           sizes
}

func (m *skew) Measure(e *claim.Env, o *claim.Observation) {
	p := e.Base(0)
	b := graded(e, p, m.Rollout.Numerics, m.Learner.Numerics, m.Groups.of(e))
	up, down := skews(b.Advantage, logRatiosOf(b))
	o.Set(m.Figure, up, down)
}

// skews are the means of (r - 1)·A over the tokens with positive and with
// negative advantage.
func skews(advantage, e []float64) (up, down float64) {
	var count [2]float64
	for n, a := range advantage {
		v := float64(elementary.Expm1(e[n]) * a)
		switch {
		case a > 0:
			up += v
			count[0]++
		case a < 0:
			down += v
			count[1]++
		}
	}
	return up / max(count[0], 1), down / max(count[1], 1)
}
