package measure

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"driftlab/trainer"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/recipe"
)

// exactLimit is the largest number of mechanisms whose every mixture is scored
// unless a request says otherwise: plain formats differ in seven, and 2^8
// scorings of the default recipe take some seconds on one core.
const exactLimit = 8

// AttributeRequest asks which of the differences between two engines makes how
// much of the gap between them.
type AttributeRequest struct {
	// Recipe gives checkpoint, task and sampling, and the seed.
	Recipe recipe.Recipe
	// Pair are the engines; the zero value means the recipe's.
	Pair Pair
	// Workers is the number of cores; 0 means one.
	Workers int
	// ExactLimit is the largest number of mechanisms for which every mixture is
	// scored, which Shapley shares need; 0 means 8.
	ExactLimit int
	// Progress is called after each scoring.
	Progress func(done, scorings int)
}

// GapSize is the size of a gap, or a part of one: a part may be negative.
type GapSize struct {
	// K3 is mean(exp(e) − 1 − e) over tokens, nats, with e = learner − other.
	K3 float64 `json:"k3"`
	// MeanAbsDlogp is mean |e|, nats.
	MeanAbsDlogp float64 `json:"mean_abs_dlogp"`
}

func (g GapSize) plus(h GapSize) GapSize {
	return GapSize{g.K3 + h.K3, g.MeanAbsDlogp + h.MeanAbsDlogp}
}

func (g GapSize) minus(h GapSize) GapSize {
	return GapSize{g.K3 - h.K3, g.MeanAbsDlogp - h.MeanAbsDlogp}
}

// MechanismPart is what one mechanism contributes.
type MechanismPart struct {
	// Name is the name of the field of the numerics, or wire (the format of partial
	// sums in an all-reduce), batching (what a batch-variant engine makes of its
	// company) or log_probs (which log-prob the engine records).
	Name string `json:"name"`
	// Rollout and Learner are the values that differ.
	Rollout string `json:"rollout"`
	Learner string `json:"learner"`
	// Alone is the gap with this mechanism alone at the rollout engine's value.
	Alone GapSize `json:"alone"`
	// AloneReplayed is what is left of Alone when the learner follows the routes
	// of that mixture: the rest came by way of the router. It is nil for a dense
	// model.
	AloneReplayed *GapSize `json:"alone_replayed,omitempty"`
	// FlipToken is the share of tokens whose routes this mechanism alone changes.
	FlipToken float64 `json:"flip_token"`
	// Removed is what giving this mechanism alone the learner's value takes from
	// the gap.
	Removed GapSize `json:"removed"`
	// Shapley is its Shapley share: the mean, over all orders in which the
	// mechanisms may be switched on, of what it adds. The shares sum to the total.
	// It is nil if not every mixture was scored.
	Shapley *GapSize `json:"shapley,omitempty"`
}

// PairPart is the interaction of two mechanisms: the gap of both less those of
// each alone.
type PairPart struct {
	A           string  `json:"a"`
	B           string  `json:"b"`
	Interaction GapSize `json:"interaction"`
}

// Attribution is the gap between two engines, split into mechanisms.
type Attribution struct {
	// Checkpoint, Task and Seed say what was sampled.
	Checkpoint string `json:"checkpoint"`
	Task       string `json:"task"`
	Seed       uint64 `json:"seed"`
	// Rollout and Learner name the numerics.
	Rollout string `json:"rollout"`
	Learner string `json:"learner"`
	// Tokens is how many were compared.
	Tokens int `json:"tokens"`
	// Total is the gap, as Gaps has it.
	Total GapSize `json:"total"`
	// Routing is what replaying the rollout engine's routes (R3,
	// arXiv:2510.11370) takes from the total; nil for a dense model. It is a path
	// on which mechanisms act, not one of them: their parts include it.
	Routing *GapSize `json:"routing,omitempty"`
	// Mechanisms are the ways in which the engines differ, the largest first; by
	// Shapley share if there is one, else by Removed. Others add exactly nothing.
	Mechanisms []MechanismPart `json:"mechanisms"`
	// Interaction is Total less the sum of every Alone.
	Interaction GapSize `json:"interaction"`
	// Pairs are the interactions of two that are not zero, the largest |K3| first.
	Pairs []PairPart `json:"pairs"`
	// Exact says that all mixtures were scored, and there are Shapley shares.
	Exact bool `json:"exact"`
	// Scorings is how many mixtures were.
	Scorings int `json:"scorings"`
}

// Attribute splits the gap between two engines into the mechanisms by which
// they differ. The rollout engine samples once. Its tokens are then scored in
// mixtures: the learner's numerics with some mechanisms at the rollout engine's
// value. The gap v(S) of a set S of mechanisms is the gap of its mixture to the
// learner, so v of none is 0 and v of all the measured gap.
//
// That the mixture with all mechanisms gives the recorded log-probs and routes
// bit for bit is checked each time; the error says where it does not. It is the
// zero-update test (VeXact, arXiv:2605.14220): same weights, same tokens.
//
// Mixtures are scored on the rollout engine's samples, so k3 of a mixture is the
// size of its log-ratios there, and an estimate of a divergence only for S of all.
func Attribute(ctx context.Context, q AttributeRequest) (*Attribution, error) {
	r, p, err := trainer.Prepare(q.Recipe)
	if err != nil {
		return nil, err
	}
	pair, err := q.Pair.of(r)
	if err != nil {
		return nil, err
	}
	if k := r.Rollout.KVScales; k.Prompts > 0 && k.Every > 1 {
		return nil, recipe.Faults{{Path: "rollout.kv_scales.every", Problem: fmt.Sprintf(
			"%d: a gap is attributed at equal weights, where no scales are stale: use 1", k.Every)}}
	}
	if r.Rollout.Speculative != nil && !pair.Rollout.DecodesAsScored() {
		return nil, fmt.Errorf("numerics %s: drafts change which rows share a pass, on which these numerics depend: leave rollout.speculative out", pair.Rollout.Name)
	}
	w, err := trainer.BeforeMeasurement(r, p, max(q.Workers, 1))
	if err != nil {
		return nil, err
	}
	return attribute(ctx, newMixer(r, w, pair, max(q.Workers, 1)), q)
}

// attribute scores every mixture that the request needs and splits the gap. It
// closes the mixer.
func attribute(ctx context.Context, m *mixer, q AttributeRequest) (*Attribution, error) {
	defer m.close()
	if m.fault != nil {
		return nil, m.fault
	}
	n := len(m.mechanisms)
	exact := n <= cmp.Or(q.ExactLimit, exactLimit)
	plan := mixtures(n, exact)
	gaps := make(map[subset]mixed, len(plan))
	for i, s := range plan {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g, err := m.gap(s)
		if err != nil {
			return nil, err
		}
		gaps[s] = g
		if q.Progress != nil {
			q.Progress(i+1, len(plan))
		}
	}
	a := split(m.mechanisms, func(s subset) mixed { return gaps[s] }, exact)
	a.Checkpoint, a.Task, a.Seed = m.Recipe.Checkpoint, m.Recipe.Task.Name, m.Recipe.Seed
	a.Rollout, a.Learner = m.pair.Rollout.Name, m.pair.Learner.Name
	a.Tokens, a.Scorings = masked.Count(m.batch.Mask), len(plan)
	return a, nil
}

// mixtures lists the sets of n mechanisms to score: every one, or none, singles,
// pairs, all but one, and all.
func mixtures(n int, exact bool) []subset {
	all := subset(1)<<n - 1
	var list []subset
	if exact {
		for s := range all + 1 {
			list = append(list, s)
		}
		return list
	}
	list = append(list, 0, all)
	for i := range n {
		list = append(list, only(i), all.without(i))
		for j := range i {
			list = append(list, only(i)|only(j))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// split turns the gaps of mixtures into parts.
func split(list []mechanism, v func(subset) mixed, exact bool) *Attribution {
	n := len(list)
	all := subset(1)<<n - 1
	a := &Attribution{Exact: exact, Mechanisms: []MechanismPart{}, Pairs: []PairPart{}}
	total := v(all)
	a.Total, a.Interaction = total.free, total.free
	if total.replayed != nil {
		a.Routing = new(total.free.minus(*total.replayed))
	}
	for i, m := range list {
		alone := v(only(i))
		part := MechanismPart{Name: m.name, Rollout: m.rollout, Learner: m.learner, Alone: alone.free, AloneReplayed: alone.replayed,
			FlipToken: alone.flips, Removed: total.free.minus(v(all.without(i)).free)}
		if exact {
			part.Shapley = new(shapley(n, i, func(s subset) GapSize { return v(s).free }))
		}
		a.Mechanisms = append(a.Mechanisms, part)
		a.Interaction = a.Interaction.minus(alone.free)
		for j := range i {
			together := v(only(i) | only(j)).free.minus(alone.free).minus(v(only(j)).free)
			if together != (GapSize{}) {
				a.Pairs = append(a.Pairs, PairPart{list[j].name, m.name, together})
			}
		}
	}
	slices.SortStableFunc(a.Mechanisms, func(x, y MechanismPart) int {
		if exact {
			return cmp.Compare(y.Shapley.K3, x.Shapley.K3)
		}
		return cmp.Compare(y.Removed.K3, x.Removed.K3)
	})
	slices.SortStableFunc(a.Pairs, func(x, y PairPart) int {
		return cmp.Compare(math.Abs(y.Interaction.K3), math.Abs(x.Interaction.K3))
	})
	return a
}

// shapley returns the Shapley share of player i in a game of n (Shapley, A value
// for n-person games, 1953):
//
//	φ_i = Σ_{S∌i} |S|!·(n−1−|S|)!/n! · (v(S∪i) − v(S))
func shapley(n, i int, v func(subset) GapSize) GapSize {
	// weight[k] is k!·(n−1−k)!/n!.
	weight := make([]float64, n)
	weight[0] = 1 / float64(n)
	for k := 1; k < n; k++ {
		weight[k] = weight[k-1] * float64(k) / float64(n-k)
	}
	var share GapSize
	for s := range subset(1) << n {
		if !s.has(i) {
			added, w := v(s|only(i)).minus(v(s)), weight[s.count()]
			share = share.plus(GapSize{float64(added.K3 * w), float64(added.MeanAbsDlogp * w)})
		}
	}
	return share
}
