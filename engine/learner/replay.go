package learner

import (
	"fmt"
	"slices"

	"driftlab/engine/column"
	"driftlab/moe"
	"driftlab/precision/elementary"
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
	// ReplayPredicted is ReplayOld, where that pass ranked the experts as a RoutePredictor
	// expects them to rank in the updates to come (Pr2, arXiv:2606.00395).
	ReplayPredicted Replay = "pr2"
)

// OfOld reports whether the routes are those of the learner's own earlier pass.
func (r Replay) OfOld() bool { return r == ReplayOld || r == ReplayPredicted }

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

// replay is what a pass is to follow, as it was recorded: the routes, and the gates
// unless those are live.
type replay struct {
	of           Replay
	gates        Gates
	promptRoutes [][]uint8
	routes       []uint8
	promptGates  [][]float32
	routeGates   []float32
}

func recorded(b *column.Sampled, earlier *column.Scored, p Policy) replay {
	r := replay{of: p.Replay, gates: p.Gates}
	switch r.of {
	case ReplayOld, ReplayPredicted:
		if earlier == nil {
			earlier = &column.Scored{} // which holds nothing to replay
		}
		r.promptRoutes, r.routes, r.promptGates, r.routeGates = earlier.PromptRoutes, earlier.Routes, earlier.PromptGates, earlier.Gates
	case ReplayRollout:
		r.promptRoutes, r.routes, r.promptGates, r.routeGates = b.PromptRoutes, b.RoutesRoll, b.PromptGates, b.GatesRoll
	case ReplayNone, "":
		return replay{}
	default:
		panic(fmt.Sprintf("learner: unknown replay %q", r.of))
	}
	if r.gates != RecordedGates {
		r.promptGates, r.routeGates = nil, nil
	}
	return r
}

func (r *replay) samePrompt(i, j int) bool {
	return slices.Equal(of(r.promptRoutes, i), of(r.promptRoutes, j)) && slices.Equal(of(r.promptGates, i), of(r.promptGates, j))
}

// of is what was recorded of a response's prompt: nothing, in a column that ends before.
func of[T any](prompts [][]T, i int) []T {
	if i < len(prompts) {
		return prompts[i]
	}
	return nil
}

// replayed lays a replay out in the order of the pack's rows. It panics if the
// batch does not hold what is to be replayed: a pass without it would look like one
// with it.
func (s *Scorer) replayed(b *column.Sampled, r replay) (routes []uint8, gates []float32) {
	if r.of == "" || s.config.Dense() {
		return nil, nil
	}
	s.replay = inRows(s, s.replay, b, r.promptRoutes, r.routes, moe.NoRoute, r.of)
	switch r.gates {
	case LiveGates, "":
		return s.replay, nil
	case RecordedGates:
		for i, routes := range r.promptRoutes {
			if len(r.promptGates) != len(r.promptRoutes) || len(r.promptGates[i]) != len(routes) {
				panic(fmt.Sprintf("learner: replay %s of the gates of %d prompts that do not go with their routes", r.of, len(r.promptGates)))
			}
		}
		s.gates = inRows(s, s.gates, b, r.promptGates, r.routeGates, 0, r.of)
		return s.replay, s.gates
	}
	panic(fmt.Sprintf("learner: unknown gates %q", r.gates))
}

// inRows lays a column of Layers*TopK entries per row out in the order of the
// pack's rows, in dst's memory. What was not recorded of a prompt is a hole, as
// is the last row of a prompt without a response.
func inRows[T any](s *Scorer, dst []T, b *column.Sampled, prompts [][]T, entries []T, hole T, r Replay) []T {
	per := s.config.Layers * s.config.TopK
	if len(entries) != b.Tokens()*per {
		panic(fmt.Sprintf("learner: replay %s of %d entries, %d tokens have %d", r, len(entries), b.Tokens(), b.Tokens()*per))
	}
	dst = column.Resized(dst, s.pack.Rows()*per)
	for i := range dst {
		dst[i] = hole
	}
	for i := range b.Len() {
		from, to := b.Span(i)
		copy(dst[s.layout.prompt[i]*per:], of(prompts, i))
		copy(dst[s.layout.first[i]*per:], entries[from*per:to*per])
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

// routerLogp returns the log-probs of experts, given in the order of Routes, under the softmax of the routers'
// logits over all experts, or nil if they are not wanted or there are no routers.
func (s *Scorer) routerLogp(dst []float64, in *column.Sampled, experts []uint8, wanted bool) []float64 {
	if !wanted || s.config.Dense() {
		return nil
	}
	layers, top, e := s.config.Layers, s.config.TopK, s.config.Experts
	dst = column.Resized(dst, len(experts))
	for i := range in.Len() {
		from, to := in.Span(i)
		for at := from * layers; at < to*layers; at++ {
			logits := s.pass.Router()[(s.layout.first[i]*layers+at-from*layers)*e:][:e]
			norm := logNorm(logits)
			for rank := at * top; rank < (at+1)*top; rank++ {
				dst[rank] = float64(logits[experts[rank]]) - norm
			}
		}
	}
	return dst
}

// responseRows are the rows of the pack from which a response's tokens are predicted.
func (s *Scorer) responseRows(b *column.Sampled, i int) (from, to int) {
	from = s.layout.first[i]
	return from, from + b.Offsets[i+1] - b.Offsets[i]
}

// logNorm is the logarithm of the sum of the exponentials of logits.
func logNorm[T float32 | float64](logits []T) float64 {
	largest, sum := float64(slices.Max(logits)), 0.0
	for _, x := range logits {
		sum += elementary.Exp(float64(x) - largest)
	}
	return largest + elementary.Log(sum)
}

// fromRows is the inverse of inRows. What belongs to the prompts, slices of
// slices that a selection from the batch shares, is new memory, one piece, in
// which responses that share a prompt have the same slice.
func fromRows[T any](s *Scorer, b *column.Sampled, prompts [][]T, column, rows []T) ([][]T, []T) {
	per := s.config.Layers * s.config.TopK
	all := make([]T, 0, len(rows))
	prompts, column = prompts[:0], column[:0]
	for i := range b.Len() {
		if family := s.layout.family[i]; family < i {
			prompts = append(prompts, prompts[family])
		} else {
			n, from := len(all), s.layout.prompt[i]
			all = append(all, rows[from*per:(from+len(b.Prompt[i])-1)*per]...)
			prompts = append(prompts, all[n:len(all):len(all)])
		}
		from, to := s.responseRows(b, i)
		column = append(column, rows[from*per:to*per]...)
	}
	return prompts, column
}
