package recipe

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/engine"
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/guard"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/task"
)

// sameBits is why there is nothing to correct or to replay.
const sameBits = "the two engines compute the same bits and the rollouts are as old as the learner"

// inert collects why parts of a recipe cannot act.
type inert []string

// when notes a reason that is true of the recipe.
func (n *inert) when(holds bool, format string, args ...any) {
	if holds {
		*n = append(*n, fmt.Sprintf(format, args...))
	}
}

// Inert lists the parts of a resolved recipe that cannot act in it, or act twice, each by its
// field with the reason and what to set: a ratio that is 1 at every gradient, a
// correction of a gap that is exactly zero, a weight that the loss contains.
func (r Recipe) Inert() []string {
	var n inert
	learns := r.Learner.Optimizer.LR > 0
	drift := learns && r.Learner.Updates() > 1 // the weights move within a step
	anchor := r.Anchored()
	lag := learns && r.lags()
	gap := lag || !r.SameEngine()
	// Whether pi and the anchor, and the anchor and mu, can differ.
	updates := drift || r.perturbs() > 0
	moves := updates || learns && anchor == AnchorEWMA || lag && anchor != AnchorOld || anchor == AnchorRollout && gap
	differs := gap && anchor != AnchorRollout || learns && anchor == AnchorEWMA
	if anchor == AnchorRollout {
		differs = gap || drift // of pi and mu, at every gradient
	}
	grpo, ok := r.Advantage.Params.(*advantage.GRPO)
	n.when(ok && grpo.Std && len(r.Reward) == 1 && r.Reward[0].Name == "pass_at_k", "reward pass_at_k: a group then has two rewards, one of right and one of wrong responses, and "+
		"advantage grpo with std: true turns any two into the same advantages as those of exact: set advantage.std to false")
	n.when(r.Advantage.Name == "spo" && r.Rollout.Pool == nil,
		"advantage spo: without rollout.pool every prompt is a fresh one without a success rate of its own, and the baseline is 0.5 for all: set rollout.pool")
	n.when(anchor == AnchorMixture && !r.OnClock(),
		"anchor mixture: schedule %s samples a batch with one version of the weights, and the mixture is anchor behaviour: use a schedule on a clock, such as areal", r.Schedule.Name)
	n.loss(r, moves, updates || gap)
	n.replay(r, lag || !r.sameNumerics(), updates)
	n.lora(r)
	n.when(r.Rollout.RecomputedRoutes && !(r.OnClock() && schedule.Continues(r.Schedule.Params) == schedule.Reprefill),
		"rollout.recomputed_routes: schedule %s reads no partial response again: use one that does, such as areal, or leave it out", r.Schedule.Name)
	n.when(r.inertSync() != "", "%s", r.inertSync())
	n.distillation(r)
	n.critic(r)
	n.forms(r)
	_, tool := r.Task.Params.(task.Tool)
	n.when(r.Rollout.LearnReplies && !tool, "rollout.learn_replies: no tool writes in the task %s: leave it out, or take the task lookup", r.Task.Name)
	tis, ok := r.Correction.Weights.Params.(*correction.TokenTIS)
	n.when(ok && tis.FromTurn > 0 && !tool,
		"correction.weights token_tis: the task %s has one turn, so from_turn leaves every token with weight 1: set it to 0, or take the task lookup", r.Task.Name)
	for i, g := range r.Guards {
		surge, ok := g.Params.(*guard.LengthSurge)
		n.when(ok && surge.Reject && len(r.Correction.Masks) == 0,
			"guards[%d] length_surge: reject has no mask to switch on: name one under correction.masks, or leave it out", i)
	}
	_, ok = r.Loss.Params.(*loss.MIPU)
	n.when(ok && r.sameNumerics(),
		"loss mipu: both engines compute the same bits, so T_post is 0 and no step is taken back: change rollout.numerics, or set loss to decoupled_ppo")
	weights := r.Correction.Weights.Name
	weighted := weights != "" && weights != "none"
	advantages := r.Loss.Params == nil || r.Loss.Spec().Reads(batch.Advantage)
	_, otb := r.Advantage.Params.(*advantage.OTB)
	if weighted && !(otb && advantages) {
		weighted = loss.TakesWeights(r.Loss.Params)
		n.when(!weighted, "correction.weights %s: importance weights have no effect in loss %s: use weights none, or another loss", weights, r.Loss.Name)
	}
	switch r.Loss.Params.(type) {
	case *loss.Kimi, *loss.IWOPD: // mu stands in a penalty, or in the advantage
	default:
		n.when(weighted && differs && loss.WeighsByRoll(r.Loss.Params), "correction.weights %s: loss %s has a ratio to the rollout engine itself, and the weight counts the gap a second time: use weights none, or another loss", weights, r.Loss.Name)
	}
	same, once := sameBits+", so every ratio is 1: change rollout.numerics or schedule, or leave it out", !differs // at the batch stage
	if differs && anchor == AnchorBehaviour && r.SameEngine() && schedule.Continues(r.Schedule.Params) != schedule.KeepStale {
		same, once = "anchor behaviour is the policy that sampled, bit for bit, so every ratio is 1: change rollout.numerics or anchor, or leave it out", true
	}
	n.when(weighted && once, "correction.weights %s: %s", weights, same)
	gates := loss.TakesGates(r.Loss.Params)
	const closed = "it closes gates, which have no effect in loss %s: leave it out, or choose another loss"
	judged := advantages // by the loss or by a mask
	for i, m := range r.Correction.Masks {
		closes := r.Correction.Denominator == correction.Pre || correction.AtEveryStep(m.Params)
		n.when(!gates && closes, "correction.masks[%d] %s: "+closed, i, m.Name, r.Loss.Name)
		_, compares := m.Params.(*correction.TVDivergence) // the anchor with mu, the other masks of every step the current policy
		moves := correction.AtEveryStep(m.Params) && !compares && (gap || updates)
		n.when(once && !moves && m.Spec().Reads(batch.LogpRoll), "correction.masks[%d] %s: %s", i, m.Name, same)
		judged = judged || m.Spec().Reads(batch.Advantage)
		n.when(compares && r.Mode() == correction.Bypass, "correction.masks[%d] %s: it compares the anchor with the rollout engine, which is the anchor: set another anchor, or leave it out", i, m.Name)
	}
	n.when(!judged && r.PenalisesReward(), "kl: in the reward it changes advantages, which loss %s does not read: set kl.in to loss", r.Loss.Name)
	for i, t := range r.Terms {
		n.when(!gates && t.Name == "top_entropy", "terms[%d] %s: "+closed, i, t.Name, r.Loss.Name)
		n.when(!advantages && (t.Name == "rlsd" || t.Name == "opd_topk"), "terms[%d] %s: it changes advantages, which loss %s does not read: leave it out, or choose another loss", i, t.Name, r.Loss.Name)
	}
	for i, g := range r.Guards {
		n.when(!differs && !drift && slices.Contains(g.Spec().Needs, batch.LogpRoll), "guards[%d] %s: %s", i, g.Name, same)
	}
	return n
}

// loss says that the ratio of the loss is 1 at every gradient: to the anchor unless
// moves, to the rollout engine unless differs. Which of the two the loss takes, its
// parameters say.
func (n *inert) loss(r Recipe, moves, differs bool) {
	s := r.Loss.Spec()
	old, roll := r.LossReads(batch.Anchor), r.LossReads(batch.LogpRoll)
	switch {
	case old && !moves:
		why, fix, rest := "one update per step", "set learner.minibatches above 1", ""
		switch {
		case r.Learner.Optimizer.LR == 0:
			why, fix = "learner.optimizer.lr 0", "set anchor to rollout to see the engines' gap in it, or lr above 0"
		case r.lags():
			fix += ", or anchor to behaviour or rollout"
		}
		if roll && differs {
			rest = " (what it takes of the rollout engine's log-probs does)"
		}
		n.when(true, "loss %s: with anchor %s and %s its ratio is 1 at every gradient, so no clip or bound on it acts%s: %s", s.Name, r.Anchored(), why, rest, fix)
	case roll && !old && !differs:
		n.when(true, "loss %s: "+sameBits+", so its ratio to the rollout engine is 1 at every gradient: "+
			"change rollout.numerics or schedule, or set learner.minibatches above 1", s.Name)
	}
}

// LossReads reports whether the gradient of the loss depends on a column; what cannot be
// evaluated without a run is taken to read what its Spec names.
func (r Recipe) LossReads(column batch.Column) bool {
	if r.Loss.Params == nil || !r.Loss.Spec().Reads(column) {
		return false
	}
	depends, _ := loss.DependsOn(r.Loss.Params, column) // the error is nil
	return depends
}

// replay says what there is to replay where nothing can differ from it: routes of
// the same engine at the same weights, a support that is the whole vocabulary.
func (n *inert) replay(r Recipe, gap, updates bool) {
	// The other policies that follow the rollout engine's routes have other weights.
	others := r.Routing.FromRollout() && (r.Teacher != "" || r.Routing.Replay == ReplayR3 && (r.KL.Name != "none" || r.Needs(batch.LogpRef)))
	same, replay := !updates && !others, r.Routing.Replay
	n.when(same && (replay == ReplayR2 || replay == ReplayPr2),
		"routing.replay %s: the weights do not move within a step, so the routes of the scoring pass are those of the gradient anyway: set learner.minibatches above 1, or replay to none", replay)
	n.when(same && r.Routing.FromRollout() && !gap,
		"routing.replay %s: "+sameBits+", so both engines choose the same experts: change rollout.numerics or schedule, or set replay to none", replay)
	n.when(r.Support.Replay && r.Rollout.TopP == 1 && r.Rollout.TopK == 0,
		"support.replay: the rollout engine samples from the whole vocabulary: set rollout.top_p below 1 or rollout.top_k, or leave it out")
}

// perturbs is the number of terms that put noise into the policy whose gradient is taken.
func (r Recipe) perturbs() (n int) {
	for _, t := range r.Terms {
		if _, ok := t.Params.(loss.Perturber); ok {
			n++
		}
	}
	return n
}

// lags reports whether rollouts may be older than the learner: not under a system
// that promises no lag of any sample and publishes every update.
func (r Recipe) lags() bool {
	t := r.Schedule.Params.Traits()
	return t.Interval > 0 || t.Bound != 0
}

// SameEngine reports whether the rollout engine's log-probs are the learner's, bit
// for bit, at equal weights; those of a tool's replies, which it did not draw, are not.
func (r Recipe) SameEngine() bool {
	_, tool := r.Task.Params.(task.Tool)
	return r.sameNumerics() && !(r.Rollout.LearnReplies && tool)
}

// sameNumerics reports whether both engines compute the same bits at equal weights.
func (r Recipe) sameNumerics() bool {
	o, n, l := r.Rollout, r.Rollout.Numerics, r.Learner.Numerics
	if r.LoRA == nil {
		n.Adapters, l.Adapters = engine.Adapters{}, engine.Adapters{}
	}
	return n.Equal(l) && n.BatchInvariant() && n.Attention.PrefillIsDecode() && len(o.Fleet) == 0 && o.Noise.Start == 0 &&
		o.KVRetention == nil && o.Speculative == nil && o.Fusion == nil && o.KVScales.Prompts == 0 && !o.StalePrefixes() && (o.WeightSync == nil || r.inertSync() != "") && o.TopP == 1 && o.TopK == 0 &&
		r.LearnerTemperature() == o.Temperature && (o.Temperature == 1 || o.LogProbs == ProcessedLogProbs)
}

// NoEffect is a part of recipes that cannot act, and of which recipes.
type NoEffect struct {
	// Where names the recipes, or the points of a sweep by their factors.
	Where string
	// Note is Recipe.Inert's: the part, the reason and what to set.
	Note string
}

// String is a line.
func (n NoEffect) String() string { return n.Where + ": " + n.Note }

// OfUsualLoss reports whether the note is about the clip of the loss that every recipe starts with. With one update per step that
// loss is the plain policy gradient, which most runs want.
func (n NoEffect) OfUsualLoss() bool {
	return strings.HasPrefix(n.Note, "loss "+Default().Loss.Name+": ")
}

// NoEffects are the parts of recipes that cannot act, each once with the names of its
// recipes.
func NoEffects(recipes ...Recipe) []NoEffect {
	var list []NoEffect
	for _, r := range recipes {
		for _, note := range r.Inert() {
			at := slices.IndexFunc(list, func(n NoEffect) bool { return n.Note == note })
			if at < 0 {
				list = append(list, NoEffect{r.Name, note})
			} else if !slices.Contains(strings.Split(list[at].Where, ", "), r.Name) {
				list[at].Where += ", " + r.Name
			}
		}
	}
	return list
}
