package measurements

import (
	"context"
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

func (m *factors) Measure(ctx context.Context, e *claim.Env, o *claim.Observation) error {
	p, err := e.Base(ctx, 192)
	if err != nil {
		return err
	}
	l := measure.NewLearner(p, m.Learner.Numerics)
	defer l.Close()
	parts := minibatches(graded(e, p, m.Rollout.Numerics, m.Learner.Numerics, m.Groups.of(e)), 1)
	b := parts[0]
	var identity, first float64
	for round := range m.Updates {
		if err := l.Update(parts, method.New[loss.PPOClip](), m.Rate, 1); err != nil {
			return err
		}
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
	if err := fresh.Gradient(twin, method.New[loss.PPOClip]()); err != nil {
		return err
	}
	o.Set("identity", identity)
	o.Set("decoupled at the first gradient", first)
	o.Set("merged, equal engines", outsideClip(stats.Differences(twin.Now.Logp, twin.LogpRoll)))
	return nil
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
func (m *opsmSets) Measure(ctx context.Context, e *claim.Env, o *claim.Observation) error {
	p, err := e.Base(ctx, 0)
	if err != nil {
		return err
	}
	l := measure.NewLearner(p, m.Learner.Numerics)
	defer l.Close()
	parts := minibatches(graded(e, p, m.Rollout.Numerics, m.Learner.Numerics, m.Groups.of(e)), 1)
	different, masked := 0.0, make([]float64, len(m.Deltas))
	for _, rounds := range m.Updates {
		if err := l.Update(parts, method.New[loss.PPOClip](), m.Rate, rounds); err != nil {
			return err
		}
		for k, delta := range m.Deltas {
			alone, dropped, err := compareOPSM(parts[0], delta)
			if err != nil {
				return err
			}
			different += alone
			masked[k] += dropped
		}
	}
	o.Set("tokens in one set only", different)
	o.Set("tokens masked", masked...)
	return nil
}

// compareOPSM counts the tokens in one of the two sets only, and those that
// OPSM drops.
func compareOPSM(b *batch.Batch, delta float64) (alone, dropped float64, err error) {
	opsm, err := rejected(b, &correction.OPSM{Delta: delta, Signs: correction.Negative})
	if err != nil {
		return 0, 0, err
	}
	low, err := rejected(b, &correction.Geometric{Low: elementary.Exp(-delta), High: math.Inf(1)})
	if err != nil {
		return 0, 0, err
	}
	for n := range opsm {
		if opsm[n] != (low[n] && b.Advantage[n] < 0) {
			alone++
		}
		if opsm[n] {
			dropped++
		}
	}
	return alone, dropped, nil
}

// rejected says which tokens a mask removes from the policy term of the current
// weights, with the ratio taken against the rollout engine.
func rejected(b *batch.Batch, m correction.Masking) ([]bool, error) {
	own := minibatches(b, 1)[0]
	p := correction.Pipeline{Mode: correction.Bypass, Masks: []correction.Masking{m}}
	for _, s := range []correction.Stage{correction.AtBatch, correction.AtStep} {
		if err := p.Apply(own, s); err != nil {
			return nil, err
		}
	}
	out := make([]bool, own.Tokens())
	for n := range out {
		out[n] = !own.LossMask[n] || own.Gate != nil && !own.Gate[n]
	}
	return out, nil
}

// skew records the means of (r - 1)·A of the engine ratio r of chain-base over the tokens with
// positive and with negative advantage.
type skew struct {
	Figure           string
	Rollout, Learner format
	Groups           sizes
}

func (m *skew) Measure(ctx context.Context, e *claim.Env, o *claim.Observation) error {
	p, err := e.Base(ctx, 0)
	if err != nil {
		return err
	}
	b := graded(e, p, m.Rollout.Numerics, m.Learner.Numerics, m.Groups.of(e))
	up, down := skews(b.Advantage, logRatiosOf(b))
	o.Set(m.Figure, up, down)
	return nil
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
