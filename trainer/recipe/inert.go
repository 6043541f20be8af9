package recipe

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"driftlab/trainer/advantage"
	"driftlab/trainer/batch"
	"driftlab/trainer/loss"
	"driftlab/trainer/schedule"
	"driftlab/trainer/task"
)

// Inert lists the parts of a resolved recipe that cannot act in it, each by its
// field with the reason and the remedy: a ratio that is 1 at every gradient, a
// correction of a gap that is exactly zero. The run is as good without them.
func (r Recipe) Inert() []string {
	var notes []string
	learns := r.Learner.Optimizer.LR > 0
	drift := learns && r.Learner.Updates() > 1 // the weights move within a step
	anchor := r.Anchored()
	lag := learns && r.lags()
	gap := lag || !r.sameEngine()
	// Whether pi and the anchor, and the anchor and mu, can differ.
	moves := drift || r.perturbs() > 0 || learns && anchor == AnchorEWMA || lag && anchor != AnchorOld || anchor == AnchorRollout && gap
	differs := gap && anchor != AnchorRollout || learns && anchor == AnchorEWMA
	if anchor == AnchorRollout {
		differs = gap || drift // of pi and mu, at every gradient
	}
	if a, ok := r.Advantage.Params.(*advantage.GRPO); ok && a.Std && len(r.Reward) == 1 && r.Reward[0].Name == "pass_at_k" {
		notes = append(notes, "reward pass_at_k: a group then has two rewards, one of right and one of wrong responses, and advantage grpo with std: true turns any two into the same "+
			"advantages as those of exact: set advantage.std to false")
	}
	if s := r.Loss.Spec(); !moves && s.Reads(batch.Anchor) && !onRollout(r.Loss.Params) {
		why, remedy := "one update per step", "set learner.minibatches above 1"
		switch {
		case !learns:
			why, remedy = "learner.optimizer.lr 0", "set anchor to rollout to see the engines' gap in it, or lr above 0"
		case lag:
			remedy += ", or anchor to behaviour or rollout"
		}
		notes = append(notes, fmt.Sprintf("loss %s: with anchor %s and %s its ratio is 1 at every gradient, so no clip or bound on it acts: %s", s.Name, anchor, why, remedy))
	}
	notes = append(notes, r.inertDistillation()...)
	if _, tool := r.Task.Params.(task.Tool); r.Rollout.LearnReplies && !tool {
		notes = append(notes, "rollout.learn_replies: no tool writes in the task "+r.Task.Name+": leave it out, or take the task lookup")
	}
	if differs {
		return notes
	}
	const same = "the two engines compute the same bits and the rollouts are as old as the learner, so every ratio is 1: change rollout.numerics or schedule, or leave it out"
	if name := r.Correction.Weights.Name; name != "" && name != "none" {
		notes = append(notes, fmt.Sprintf("correction.weights %s: %s", name, same))
	}
	for i, m := range r.Correction.Masks {
		if m.Name != "random_mask" {
			notes = append(notes, fmt.Sprintf("correction.masks[%d] %s: %s", i, m.Name, same))
		}
	}
	for i, g := range r.Guards {
		if n := g.Spec().Needs; slices.Contains(n, batch.LogpRoll) && !drift {
			notes = append(notes, fmt.Sprintf("guards[%d] %s: %s", i, g.Name, same))
		}
	}
	return notes
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
	_, skips := r.Schedule.Params.(schedule.Publisher)
	return skips || r.Schedule.Params.Bound() != 0
}

// sameEngine reports whether the rollout engine's log-probs are the learner's, bit
// for bit, at equal weights.
func (r Recipe) sameEngine() bool {
	o, n := r.Rollout, r.Rollout.Numerics
	return n.Equal(r.Learner.Numerics) && n.BatchInvariant() && n.Attention.PrefillIsDecode() && len(o.Fleet) == 0 && o.Noise.Start == 0 &&
		o.KVRetention == nil && o.Speculative == nil && o.Fusion == nil && o.KVScales.Prompts == 0 && o.TopP == 1 && o.TopK == 0 &&
		r.LearnerTemperature() == o.Temperature && (o.Temperature == 1 || o.LogProbs == ProcessedLogProbs)
}

// onRollout reports whether a loss has an anchor of its own, the rollout engine.
func onRollout(params any) bool {
	v := reflect.Indirect(reflect.ValueOf(params))
	if v.Kind() != reflect.Struct {
		return false
	}
	f := v.FieldByName("Anchor")
	return f.IsValid() && f.Kind() == reflect.String && strings.EqualFold(f.String(), string(loss.Roll))
}
