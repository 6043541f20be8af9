package metrics

import (
	"math"

	"driftlab/trainer/method/batch"
)

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
