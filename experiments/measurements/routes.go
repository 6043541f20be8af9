package measurements

import (
	"math"
	"slices"
	"strings"

	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/metrics"
)

// updated is a learner that has made updates on a batch, in as many minibatches.
func updated(b *batch.Batch, p *model.Params, rate float64, updates int) *measure.Learner {
	l := measure.NewLearner(p, numerics("fp32"))
	claim.StopOn(l.Update(minibatches(b, updates), method.New[loss.PPOClip](), rate, 1))
	return l
}

// rescored is a batch with the log-probs and routes of a learner's new weights,
// which replay keeps on the old routes.
func rescored(l *measure.Learner, b *batch.Batch, replay bool) *batch.Batch {
	now := minibatches(b, 1)[0]
	var along *batch.Scored
	if replay {
		along = &now.Old
	}
	var after batch.Scored
	l.Score(&after, now, along)
	now.Now.Logp, now.Old.Routes = after.Logp, after.Routes
	return now
}

// clips counts the tokens that GRPO's clip at 0.2 cuts and those of the
// responses that GSPO's clip cuts; spread is the mean |log-ratio| of the tokens.
func clips(b *batch.Batch) (clipped []float64, spread float64) {
	gspo := method.New[loss.GSPO]()
	token, sequence := 0.0, 0.0
	for i := range b.Len() {
		from, to := b.Span(i)
		sum := 0.0
		for n := from; n < to; n++ {
			e := b.Now.Logp[n] - b.Old.Logp[n]
			sum += e
			spread += math.Abs(e)
			if r, a := elementary.Exp(e), b.Advantage[n]; a > 0 && r > 1.2 || a < 0 && r < 0.8 {
				token++
			}
		}
		s := elementary.Exp(sum / float64(to-from))
		if a := b.Advantage[from]; a > 0 && s > 1+gspo.EpsHigh || a < 0 && s < 1-gspo.EpsLow {
			sequence += float64(to - from)
		}
	}
	return []float64{token, sequence}, spread / float64(b.Tokens())
}

// reroutes measures what updates of the learner change in routes and ratios, on graded batches of
// equal engines (GSPO, 2507.18071).
type reroutes struct {
	Models []struct {
		Name  string
		Model frozen
		// Rates are the learning rates of the single update; without any the model has no routes.
		Rates []float64
	}
	Groups sizes
	// Rate is the learning rate of the updates after which ratios are taken.
	Rate    float64
	Updates int
}

// Measure records, by model, shares of rerouted tokens, tokens that clips cut, and the mean
// |log-ratio| along the new routes and along the old ones.
func (m *reroutes) Measure(e *claim.Env, o *claim.Observation) {
	fp32 := numerics("fp32")
	for _, f := range m.Models {
		p := f.Model.params(e)
		b := graded(e, p, fp32, fp32, m.Groups.of(e))
		for _, rate := range f.Rates {
			l := updated(b, p, rate, 1)
			// The rollout's routes come from the first weights: engines are equal.
			o.Append(f.Name+" changed", metrics.Compare(rescored(l, b, false)).FlipToken)
			l.Close()
		}
		l := updated(b, p, m.Rate, m.Updates)
		now := rescored(l, b, false)
		clipped, spread := clips(now)
		o.Set(f.Name+" clipped", clipped...)
		o.Set(f.Name+" tokens", float64(now.Tokens()))
		o.Set(f.Name+" spread", spread)
		if f.Rates != nil {
			clipped, spread = clips(rescored(l, b, true))
			o.Set(f.Name+", old routes clipped", clipped...)
			o.Set(f.Name+", old routes spread", spread)
		}
		l.Close()
	}
}

// displacement is how far the router's weights and all others have moved.
func displacement(p, from *model.Params) (router, rest float64) {
	for i, t := range p.Tensors() {
		sum := 0.0
		for k, v := range t.Data {
			d := float64(v) - float64(from.Tensors()[i].Data[k])
			sum += float64(d * d)
		}
		if strings.Contains(t.Name, "gate.weight") {
			router += sum
		} else {
			rest += sum
		}
	}
	return math.Sqrt(router), math.Sqrt(rest)
}

// replayRuns trains chain-base without replay of routes and with it, and measures the gap of what
// was trained, along the rollout engine's routes and along free ones.
type replayRuns struct {
	Levels           []struct{ Name, Rollout string }
	Replay           []string
	Set              []string
	Steps, Responses sizes
}

// Measure records, by level, the visible and the true gap and how far the router's weights and the
// others moved, a value for each kind of replay.
func (m *replayRuns) Measure(e *claim.Env, o *claim.Observation) {
	first := e.Base(0)
	for _, d := range m.Levels {
		for _, arm := range m.Replay {
			_, p := e.Trained(nil, m.Steps.of(e), append(slices.Clone(m.Set), "rollout.numerics="+d.Rollout, "routing.replay="+arm)...)
			q := probe{Params: p, Rollout: numerics(d.Rollout), Sequences: m.Responses.of(e), Tokens: 32, Stops: true, Distributions: true}
			b, g := measuredGap(e, q, numerics("fp32"))
			router, others := displacement(p, first)
			o.Append(d.Name+" visible", replayed(b, p, numerics("fp32")).ExactKL)
			o.Append(d.Name+" true", g.ExactKL)
			o.Append(d.Name+" router moved", router)
			o.Append(d.Name+" rest moved", others)
		}
	}
}

// flipsByMargin counts flips and decisions by decile of the learner's router margin.
func flipsByMargin(b *batch.Batch, p *model.Params, learner engine.Numerics) [2][]float64 {
	var margins []float64
	var flipped []bool
	measure.States(b, p, learner, false, func(pass *engine.Pass, rows []int) {
		for i, m := range measure.RouterMargins(pass, p, rows) {
			margins, flipped = append(margins, m), append(flipped, metrics.Flipped(b, i/b.Layers, i%b.Layers))
		}
	})
	order := stats.Order(margins)
	flips, decisions := make([]float64, 10), make([]float64, 10)
	for k := range flips {
		part := order[k*len(order)/10 : (k+1)*len(order)/10]
		decisions[k] = float64(len(part))
		for _, i := range part {
			if flipped[i] {
				flips[k]++
			}
		}
	}
	return [2][]float64{flips, decisions}
}
