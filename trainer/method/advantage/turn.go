package advantage

import (
	"fmt"
	"math"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// TurnLevel gives every turn of a response its own advantage: the reward from
// that turn on, relative to the same turn of the group, or to the value at its start.
//
// All generated tokens of a turn share its advantage. A turn that no other response
// has keeps R_k, with mean 0; with std: true a tie gets 0.
type TurnLevel struct {
	Asymmetry `yaml:",inline"`
	// Gamma is the discount per turn.
	Gamma float64 `yaml:"gamma" default:"1" range:"[0,1]"`
	// Baseline is "group" or "value".
	Baseline string `yaml:"baseline" default:"group" oneof:"group value"`
	// Std divides by the standard deviation over the siblings.
	Std bool `yaml:"std" default:"true"`
	// Eps is added to the standard deviation.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`

	groups groups
	turns  int
	// toCome is R_k, [response][turn]; NaN where the response has no such turn.
	toCome, value, column []float64
}

var turnLevelSpec = method.Spec{
	Name: "turn_level", Unit: method.Turn,
	Does:           "Gives each turn its own advantage: the reward from that turn on, relative to the same turn of the group.",
	When:           "Use it in multi-turn runs with rewards per turn.",
	Source:         "arXiv 2511.20718, read through notes",
	Formula:        "A_k = (R_k − mean_g)/(std_g + eps) over siblings with turn k, R_k = Σ_{j≥k} gamma^(j−k)·r_j; or R_k − V",
	Needs:          batch.Columns{batch.TokenReward, batch.Turn, batch.Group},
	Reconstruction: "group form of the published A_k = R_k − V(s_k), which baseline: value selects",
}

// Estimate fills b.Return and b.Advantage from TokenReward and Turn.
func (e *TurnLevel) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.TokenReward, batch.Turn); err != nil {
		return err
	}
	if e.Baseline == "value" {
		if err := b.Require(batch.Value); err != nil {
			return err
		}
	}
	if err := e.groups.find(b); err != nil {
		return err
	}
	if err := e.collect(b); err != nil {
		return err
	}
	for g := range e.groups.Len() {
		for k := range e.turns {
			e.turn(e.groups.Rows(g), k)
		}
	}
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for i := range b.Len() {
		for n := range b.Where(i, b.Mask) {
			b.Advantage[n] = e.value[i*e.turns+int(b.Turn[n])]
		}
	}
	e.apply(b)
	return nil
}

// collect sums rewards per turn and from every turn on, and fills b.Return.
func (e *TurnLevel) collect(b *batch.Batch) error {
	e.turns = 0
	for n, k := range b.Turn {
		if k < 0 {
			return fmt.Errorf("advantage: token %d has turn %d", n, k)
		}
		e.turns = max(e.turns, int(k)+1)
	}
	size := b.Len() * e.turns
	e.toCome, e.value, b.Return = batch.Zeroed(e.toCome, size), batch.Zeroed(e.value, size), batch.Zeroed(b.Return, b.Tokens())
	e.column = batch.Zeroed(e.column, b.Len())
	for i := range b.Len() {
		from, to := b.Span(i)
		row, start := e.toCome[i*e.turns:(i+1)*e.turns], e.value[i*e.turns:(i+1)*e.turns]
		for k := range start {
			start[k] = math.NaN()
		}
		for n := from; n < to; n++ {
			k := b.Turn[n]
			row[k] += b.TokenReward[n]
			if b.Mask[n] && math.IsNaN(start[k]) {
				start[k] = 0
				if e.Baseline == "value" {
					start[k] = b.Value[n]
				}
			}
		}
		for k := e.turns - 2; k >= 0; k-- {
			row[k] += float64(e.Gamma * row[k+1])
		}
		for n := from; n < to; n++ {
			b.Return[n] = row[b.Turn[n]]
		}
	}
	return nil
}

// turn replaces e.value by the advantages of turn k for the responses of a group.
func (e *TurnLevel) turn(rows []int, k int) {
	have := e.column[:0]
	for _, i := range rows {
		if at := i*e.turns + k; !math.IsNaN(e.value[at]) {
			have = append(have, e.toCome[at])
		}
	}
	m, scale := centre(have), 1.0
	if e.Std && len(have) > 1 {
		scale = deviation(have) + e.Eps
	}
	tie := len(have) > 1 && constant(have)
	for _, i := range rows {
		at := i*e.turns + k
		switch {
		case math.IsNaN(e.value[at]):
		case e.Baseline == "value":
			e.value[at] = e.toCome[at] - e.value[at]
		case tie:
			e.value[at] = 0
		default:
			e.value[at] = (e.toCome[at] - m) / scale
		}
	}
}
