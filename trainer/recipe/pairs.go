package recipe

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/model"
	"driftlab/trainer/method"
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/reward"
)

func (c *checker) pairs(r Recipe) {
	c.anchor(r)
	c.cluster(r)
	c.lengths(r)
	c.columns(r)
	c.counts(r)
	c.kinds(r)
	c.distillation(r)
	c.critic(r)
	c.countedTwice(r)
	c.prefixValues(r)
	c.layerTypes(r)
	c.weightSync(r)
	c.lora(r)
	c.that(r.Advantage.Name == "" || r.Advantage.Spec().Unit != method.Group || r.Rollout.Group != 1, "rollout.group",
		"1: the advantage %s compares the responses of a group, which takes at least 2", r.Advantage.Name)
	if m := r.Resolved().Model; m != (model.Config{}) && m.Dense() {
		c.that(r.Routing.Replay == ReplayNone, "routing.replay", "%s replays the choice of experts, and a dense model has none: use none", r.Routing.Replay)
		c.that(r.Routing.Router != RouterFrozen, "routing.router", "frozen, and a dense model has no router: use trained")
		c.that(!r.Needs(batch.RouterNow), "loss", "%s compares the routers of two policies, and a dense model has none: use ppo_clip", r.Loss.Name)
	}
	c.that(r.Routing.Gates != GatesRecorded || r.Routing.Replay != ReplayNone, "routing.gates",
		"recorded goes with replayed routes, and with replay none the router chooses and weighs: use live, or a replay")
	c.that(r.Routing.Predictor == nil || r.Routing.Replay == ReplayPr2, "routing.predictor",
		"is what the replay pr2 trains, and the replay is %s: set replay: pr2", r.Routing.Replay)
	c.that(!r.Routing.Released || r.Routing.FromRollout(), "routing.released",
		"true measures in addition to replayed routes, and with replay %s the learner's router chooses anyway when it scores: use r3", r.Routing.Replay)
	c.retention(r)
	c.that(r.perturbs() < 2, "terms", "%d of them put noise into the layers: leave one", r.perturbs())
	c.that(!r.Support.Replay || r.Rollout.LogProbs == ProcessedLogProbs, "support.replay",
		"true compares with the truncated rollout policy, and rollout.log_probs %s is not its log-prob: use processed", r.Rollout.LogProbs)
}

func (c *checker) counts(r Recipe) {
	least, group := r.Rollout.Group, "a group (rollout.group)"
	if p := r.Rollout.Pool; p != nil && least > p.least(least) {
		least, group = p.least(least), "the smallest group (rollout.pool.focus)"
	}
	if p := r.Rollout.Pool; p != nil && p.Focus == FocusAdaptive {
		const at = "rollout.pool.focus"
		c.that(r.Rollout.Group%AdaptiveStages == 0, at, "adaptive asks for a group in %d stages, and rollout.group is %d: use a multiple", AdaptiveStages, r.Rollout.Group)
		c.that(!r.lags() && r.Anchored() != AnchorBehaviour, at, "adaptive lends responses of any age, and the weights that sampled them are not kept: use schedule sync and another anchor than behaviour")
	}
	for i, part := range r.Reward {
		c.that(i > 0 || !reward.Follows(part.Params), join(r.Reward.path(i), "name"),
			"%s changes the reward of the parts before it, and stands first: write [exact, %s]", part.Name, part.Name)
		if p, ok := part.Params.(*reward.PassAtK); ok {
			c.that(p.K <= least, join(r.Reward.path(i), "k"),
				"%d is more than the %d responses of %s: pass_at_k draws k of them", p.K, least, group)
		}
		if m, ok := part.Params.(*reward.GroupMax); ok {
			c.that(m.K <= least, join(r.Reward.path(i), "k"), "%d is more than the %d responses of %s", m.K, least, group)
		}
		if a, ok := part.Params.(*reward.Anchor); ok && r.Rollout.Pool == nil {
			if err := a.Fresh(); err != nil {
				c.that(false, join(r.Reward.path(i), "by"), "%v", err)
			}
		}
	}
	if e, ok := r.Advantage.Params.(*advantage.GDPO); ok {
		c.that(len(e.Weights) == 0 || len(e.Weights) == len(r.Reward), "advantage.weights",
			"%d for %d parts of the reward: give one each, or leave them out for 1 each", len(e.Weights), len(r.Reward))
	}
}

// kinds checks what estimators that keep the kinds of reward separate find there.
func (c *checker) kinds(r Recipe) {
	name := r.Advantage.Name
	c.that(!r.PenalisesReward() || name != "gdpo" && name != "process", "kl.in",
		"reward is no kind of its own, and the advantage %s takes the kinds apart: use loss", name)
	if _, ok := r.Advantage.Params.(*advantage.Process); ok {
		placed := func(part Choice[reward.Shaper]) bool { _, ok := part.Params.(reward.Placer); return ok }
		c.that(slices.ContainsFunc(r.Reward, placed), "advantage.name",
			"process gives credit step by step, and no part of the reward judges steps: add {name: process} to reward, or use grpo")
	}
}

// PenalisesReward reports whether the KL term acts in the reward.
func (r Recipe) PenalisesReward() bool {
	switch kl := r.KL.Params.(type) {
	case *loss.KLTerm:
		return kl.In == loss.InReward
	case *loss.ExactKL:
		return kl.In == loss.InReward
	}
	return false
}

func (c *checker) retention(r Recipe) {
	sparse := r.Resolved().Model.HasLayer(model.SparseAttention)
	c.that(!r.ReplaysRetention() || r.Rollout.KVRetention != nil || sparse, "retention.replay",
		"true replays what a compressed KV cache kept, or what the index of model.layer_types sparse_attention chose, and the rollout engine keeps everything: add rollout.kv_retention, or use false")
	for i, t := range r.Terms {
		if _, dense := t.Params.(loss.DenseTerm); dense {
			c.that(r.ReplaysRetention(), fmt.Sprintf("terms[%d].name", i),
				"%s draws the dense policy after its shadow, which is there if masks are replayed: set retention.replay to true", t.Name)
		}
	}
}

// lengths checks that the longest sequence fits the model.
func (c *checker) lengths(r Recipe) {
	m := r.Resolved().Model
	if m == (model.Config{}) || method.Check(r.Task.Params) != nil {
		return
	}
	prompt := r.Task.Params.MaxPrompt()
	total, shown := prompt+r.Rollout.MaxTokens, prompt+r.Task.Params.MaxResponse()
	c.that(r.Rollout.MaxTokens <= 0 || m.Context <= 0 || total <= m.Context, "rollout.max_tokens",
		"%d after a prompt of up to %d tokens are %d, more than model.context %d", r.Rollout.MaxTokens, prompt, total, m.Context)
	c.that(r.Pretrain == nil || m.Context <= 0 || shown <= m.Context, "model.context",
		"%d is less than the task's longest demonstration, %d tokens with its prompt", m.Context, shown)
}

// chosen is a method that the recipe names, and where.
type chosen struct {
	path, name string
	params     any
	describe   func() method.Spec
}

// spec is the method's, empty where none was chosen.
func (m chosen) spec() (s method.Spec) {
	if m.name != "" {
		s = m.describe()
	}
	return s
}

// chosenIn are the methods of a list.
func chosenIn[T any](path string, list []Choice[T]) (all []chosen) {
	for i, c := range list {
		all = append(all, chosen{fmt.Sprintf("%s[%d]", path, i), c.Name, c.Params, c.Spec})
	}
	return all
}

// methods lists the methods that read columns of a batch, in the order in which
// a step meets them.
func (r Recipe) methods() []chosen {
	w := r.Correction.Weights
	all := append(chosenIn("reward", r.Reward), chosen{"correction.weights", w.Name, w.Params, w.Spec})
	all = append(all, chosenIn("correction.masks", r.Correction.Masks)...)
	all = append(all, chosen{"advantage", r.Advantage.Name, r.Advantage.Params, r.Advantage.Spec}, chosen{"loss", r.Loss.Name, r.Loss.Params, r.Loss.Spec})
	all = append(append(all, chosenIn("terms", r.Terms)...), chosen{"kl", r.KL.Name, r.KL.Params, r.KL.Spec})
	return append(all, chosenIn("guards", r.Guards)...)
}

// Needs reports whether any method of the recipe may read the column of
// batch.Batch. A method that reads it under some parameters only counts.
func (r Recipe) Needs(column batch.Column) bool {
	return slices.ContainsFunc(r.methods(), func(m chosen) bool {
		spec := m.spec()
		return spec.Reads(column) || slices.Contains(spec.Shows, column)
	})
}

func (c *checker) columns(r Recipe) {
	if p, ok := r.Loss.Params.(*loss.PrimeGeo); ok && r.Teacher == "" {
		c.that(p.TeacherTau == 0, "loss.teacher_tau", "%v needs a teacher: name a checkpoint under teacher, or use 0", p.TeacherTau)
	}
	c.that(r.Teacher == "" || r.Needs(batch.LogpTeacher) || r.Needs(batch.DistTeacher) || r.Distillation.replaces(), "teacher",
		"no method of the recipe reads a teacher's log-probs: add a section distillation, or leave it out")
	for i, t := range r.Terms {
		c.that(r.Teacher != "" || !t.Spec().Reads(batch.LogpTeacher) && !t.Spec().Reads(batch.DistTeacher), fmt.Sprintf("terms[%d].name", i),
			"%s draws the policy towards a teacher: name a checkpoint under teacher", t.Name)
	}
	greedy := r.Needs(batch.GreedyReward)
	for _, m := range r.methods() {
		spec := m.spec()
		if greedy && strings.HasPrefix(m.path, "reward") {
			c.that(spec.Unit != method.Group, join(m.path, "name"),
				"%s compares the responses of a group, and the advantage %s rewards one greedy response by itself", spec.Name, r.Advantage.Name)
		}
		both := slices.Contains(spec.Needs, batch.Anchor) && slices.Contains(spec.Needs, batch.LogpRoll)
		c.that(strings.HasPrefix(m.path, "correction") || !both || r.Mode() != correction.Bypass, join(m.path, "name"),
			"%s compares the learner's log-probs with the rollout engine's, which bypass mode puts in their place: use correction.mode decoupled", spec.Name)
		if slices.Contains(spec.Needs, batch.Group) && m.path == "loss" {
			c.that(r.Learner.Minibatches <= r.Rollout.Prompts, "learner.minibatches",
				"%d are more than the %d prompts of a step, and the loss %s reads whole groups", r.Learner.Minibatches, r.Rollout.Prompts, spec.Name)
		}
	}
}
