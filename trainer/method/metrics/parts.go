package metrics

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// Parts splits the gap of pi_old to mu at pi_v, the learner's numerics at the
// version that sampled (the α1 and α0 of the three-policy account): what the two
// engines make of the same weights, and what the weights have moved since. It
// needs the columns Behaviour in addition to those of Compare; the log-ratios of the two
// parts add up to the whole, token by token.
func Parts(b *batch.Batch) (engine, lag Gap) {
	view := *b
	view.Old, view.RoutesRoll = b.Behaviour, nil // routes are compared as a whole
	engine = Compare(&view)
	view.Old, view.LogpRoll, view.DistRoll = b.Old, b.Behaviour.Logp, b.Behaviour.Dist
	return engine, Compare(&view)
}

// Part appends the figures of one part of a gap under its name.
func (g *Gap) Part(dst []batch.Metric, name string) []batch.Metric {
	dst = append(dst, batch.Metric{Name: "gap/" + name + "_k3", Value: g.K3}, batch.Metric{Name: "gap/" + name + "_dlogp_mean", Value: g.MeanAbsDlogp})
	if g.HasExact {
		dst = append(dst, batch.Metric{Name: "gap/" + name + "_exact_kl", Value: g.ExactKL}, batch.Metric{Name: "gap/" + name + "_exact_tv", Value: g.ExactTV},
			batch.Metric{Name: "gap/" + name + "_exact_tv_max", Value: g.MaxTV})
	}
	return dst
}

// Update appends how far the updates of a step have moved the policy on its tokens (the α0
// of the three-policy account): from pi_old to what the learner says of them afterwards,
// with distributions.
func Update(dst []batch.Metric, b *batch.Batch, after batch.Scored) []batch.Metric {
	view := *b
	view.LogpRoll, view.DistRoll, view.RoutesRoll, view.Old = b.Old.Logp, b.Old.Dist, b.Old.Routes, after
	g := Compare(&view)
	sequence := 0.0
	for i := range b.Len() {
		before, now := 0.0, 0.0
		for n := range b.Where(i, b.Mask) {
			before += b.Old.Logp[n] - b.LogpRoll[n]
			now += after.Logp[n] - b.LogpRoll[n]
		}
		weight := func(sum float64) float64 { return elementary.Exp(min(max(sum, -clampLogRatio), clampLogRatio)) }
		sequence += math.Abs(weight(now) - weight(before))
	}
	dst = append(dst,
		batch.Metric{Name: "val/update_tv", Value: g.ExactTV},
		batch.Metric{Name: "val/update_tv_p95", Value: g.TailTV},
		batch.Metric{Name: "val/update_tv_max", Value: g.MaxTV},
		batch.Metric{Name: "val/update_tv_sequence", Value: sequence / float64(2*max(b.Len(), 1))})
	if g.HasRoutes {
		dst = append(dst, batch.Metric{Name: "val/update_flips", Value: g.FlipToken})
	}
	return dst
}

// TurnGap is the gap on what the policy wrote in one turn: before the first
// reply of a tool in turn 0, behind one in the others.
type TurnGap struct {
	// Turn counts from 0.
	Turn int `json:"turn"`
	// Tokens is how many were compared, Sequences how many responses have the turn.
	Tokens    int `json:"tokens"`
	Sequences int `json:"sequences"`
	// MeanLogp is the mean log-prob in the rollout engine, nats: how sure it is.
	MeanLogp float64 `json:"mean_logp"`
	// K3, MeanAbsDlogp and MaxAbsDlogp are those of Gap.
	K3           float64 `json:"k3"`
	MeanAbsDlogp float64 `json:"mean_abs_dlogp"`
	MaxAbsDlogp  float64 `json:"max_abs_dlogp"`
	// FirstAbsDlogp is mean |e| of the first token of the turn, nats.
	FirstAbsDlogp float64 `json:"first_abs_dlogp"`
}

// CompareTurns measures the gap of LogpOld to LogpRoll turn by turn. It returns
// nil where no response has a second turn, and panics if a column is missing.
func CompareTurns(b *batch.Batch) []TurnGap {
	if err := b.Require(batch.Mask, batch.Turn, batch.LogpOld, batch.LogpRoll); err != nil {
		panic("diagnose: " + err.Error())
	}
	var turns []TurnGap
	for i := range b.Len() {
		last := -1
		for n := range b.Where(i, b.Mask) {
			k := int(b.Turn[n])
			for len(turns) <= k {
				turns = append(turns, TurnGap{Turn: len(turns)})
			}
			t, e := &turns[k], b.Old.Logp[n]-b.LogpRoll[n]
			t.Tokens++
			t.MeanLogp += b.LogpRoll[n]
			t.K3 += k3(e)
			t.MeanAbsDlogp += math.Abs(e)
			t.MaxAbsDlogp = max(t.MaxAbsDlogp, math.Abs(e))
			if k != last {
				t.Sequences++
				t.FirstAbsDlogp += math.Abs(e)
				last = k
			}
		}
	}
	if len(turns) < 2 {
		return nil
	}
	for k := range turns {
		t := &turns[k]
		for _, mean := range []*float64{&t.MeanLogp, &t.K3, &t.MeanAbsDlogp} {
			*mean /= float64(max(t.Tokens, 1))
		}
		t.FirstAbsDlogp /= float64(max(t.Sequences, 1))
	}
	return turns
}

// ResponseGap is what one response adds to the k3 of a batch: few tokens carry
// most of it, so a mean over tokens is as certain as its responses make it.
type ResponseGap struct {
	// Tokens is how many were compared.
	Tokens int
	// K3 is the sum of exp(e) − 1 − e over them, Largest that of one token.
	K3, Largest float64
}

// CompareResponses measures the gap of LogpOld to LogpRoll, response by response.
func CompareResponses(b *batch.Batch) []ResponseGap {
	out := make([]ResponseGap, b.Len())
	for i := range out {
		for n := range b.Where(i, b.Mask) {
			x := k3(b.Old.Logp[n] - b.LogpRoll[n])
			out[i] = ResponseGap{out[i].Tokens + 1, out[i].K3 + x, max(out[i].Largest, x)}
		}
	}
	return out
}
