package learner

import (
	"fmt"

	"driftlab/engine/column"
	"driftlab/moe"
)

// Replay says whose routes a forward pass follows.
type Replay string

const (
	// ReplayNone lets the router choose.
	ReplayNone Replay = "none"
	// ReplayRollout follows the rollout engine's routes (R3, arXiv:2510.11370).
	ReplayRollout Replay = "r3"
	// ReplayOld follows the routes of the learner's own pass before the first
	// update (R2, arXiv:2507.18071).
	ReplayOld Replay = "r2"
)

// Gates says with which gate values a replay weighs the experts.
type Gates string

const (
	// LiveGates are computed from the current logits of the router, over the
	// replayed experts: what the sources of R2 and R3 do.
	LiveGates Gates = "live"
	// RecordedGates are those recorded with the routes. Their gradient is
	// straight-through, as engine.Options has it: the router learns from the
	// softmax of its current logits.
	RecordedGates Gates = "recorded"
)

// replayed lays recorded routes, and their gates unless those are live, out in
// the order of the pack's rows. It panics if the batch does not hold what is to
// be replayed: a pass without it would look like one with it.
func (s *Scorer) replayed(b *column.Sampled, earlier *column.Scored, p Policy) (replay []uint8, gates []float32) {
	r, g := p.Replay, p.Gates
	promptRoutes, routes, promptGates, routeGates := b.PromptRoutes, b.RoutesRoll, b.PromptGates, b.GatesRoll
	switch r {
	case ReplayOld:
		if earlier == nil {
			earlier = &column.Scored{} // which holds nothing to replay
		}
		promptRoutes, routes, promptGates, routeGates = earlier.PromptRoutes, earlier.Routes, earlier.PromptGates, earlier.Gates
	case ReplayRollout:
	case ReplayNone, "":
		return nil, nil
	default:
		panic(fmt.Sprintf("learner: unknown replay %q", r))
	}
	if s.config.Dense() {
		return nil, nil
	}
	s.replay = inRows(s, s.replay, b, promptRoutes, routes, moe.NoRoute, r)
	switch g {
	case LiveGates, "":
		return s.replay, nil
	case RecordedGates:
		for i, routes := range promptRoutes {
			if len(promptGates) != len(promptRoutes) || len(promptGates[i]) != len(routes) {
				panic(fmt.Sprintf("learner: replay %s of the gates of %d prompts that do not go with their routes", r, len(promptGates)))
			}
		}
		s.gates = inRows(s, s.gates, b, promptGates, routeGates, 0, r)
		return s.replay, s.gates
	}
	panic(fmt.Sprintf("learner: unknown gates %q", g))
}

// inRows lays a column of Layers*TopK entries per row out in the order of the
// pack's rows, in dst's memory. What was not recorded of a prompt is a hole, as
// is the last row of a prompt without a response.
func inRows[T any](s *Scorer, dst []T, b *column.Sampled, prompts [][]T, column []T, hole T, r Replay) []T {
	per := s.config.Layers * s.config.TopK
	if len(column) != b.Tokens()*per {
		panic(fmt.Sprintf("learner: replay %s of %d entries, %d tokens have %d", r, len(column), b.Tokens(), b.Tokens()*per))
	}
	dst = dst[:0]
	for i := range b.Len() {
		from, to := b.Span(i)
		known := 0
		if i < len(prompts) {
			dst = append(dst, prompts[i]...)
			known = len(prompts[i])
		}
		for range (len(b.Prompt[i])-1)*per - known {
			dst = append(dst, hole)
		}
		dst = append(dst, column[from*per:to*per]...)
		if from == to {
			for range per {
				dst = append(dst, hole)
			}
		}
	}
	return dst
}

// recordRoutes keeps the experts the pass visited and, if asked to, their gates.
func (s *Scorer) recordRoutes(dst *column.Scored, in *column.Sampled, gates bool) {
	dst.PromptRoutes, dst.Routes = fromRows(s, in, dst.PromptRoutes, dst.Routes, s.pass.Routes())
	if !gates {
		dst.PromptGates, dst.Gates = nil, nil
		return
	}
	dst.PromptGates, dst.Gates = fromRows(s, in, dst.PromptGates, dst.Gates, s.pass.Gates())
}

// fromRows is the inverse of inRows. What belongs to the prompts, slices of
// slices that a selection from the batch shares, is new memory, one piece.
func fromRows[T any](s *Scorer, b *column.Sampled, prompts [][]T, column, rows []T) ([][]T, []T) {
	per := s.config.Layers * s.config.TopK
	all := make([]T, 0, len(rows))
	prompts, column = prompts[:0], column[:0]
	for i := range b.Len() {
		from, to := s.pack.Offsets[i], s.pack.Offsets[i+1]
		prompt := from + len(b.Prompt[i]) - 1
		if b.Offsets[i] == b.Offsets[i+1] {
			to = prompt // the prompt's last row predicts a token that is not there
		}
		n := len(all)
		all = append(all, rows[from*per:prompt*per]...)
		prompts = append(prompts, all[n:len(all):len(all)])
		column = append(column, rows[prompt*per:to*per]...)
	}
	return prompts, column
}
