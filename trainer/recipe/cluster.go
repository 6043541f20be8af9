package recipe

import (
	"cmp"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/schedule"
)

// Cluster is where an asynchronous schedule runs, in virtual time.
type Cluster struct {
	Workers   int            `yaml:"workers" default:"3" range:"[1,2^16]"`
	Engine    int            `yaml:"engine" default:"1" range:"[1,1024]"`
	Trainers  int            `yaml:"trainers" default:"1" range:"[1,2^16]"`
	Behaviour string         `yaml:"behaviour" default:"system" oneof:"system snapshots dedicated interrupt"`
	Costs     schedule.Costs `yaml:"costs"`
}

// OnClock reports whether the run is on a virtual clock: its schedule is neither sync nor
// lag, or samples are refused or replayed.
func (r Recipe) OnClock() bool {
	switch r.Schedule.Params.(type) {
	case *schedule.Sync, *schedule.Lag:
		return r.graded()
	}
	return true
}

// Lag is how many updates the weights that sample are behind the learner's in a run
// that is not on a clock.
func (r Recipe) Lag() int {
	if l, ok := r.Schedule.Params.(*schedule.Lag); ok && !r.OnClock() {
		return l.Updates(r.Learner.Updates())
	}
	return 0
}

// graded says that what is sampled is judged as soon as it is done.
func (r Recipe) graded() bool { return r.Rollout.DynamicSampling != nil || r.Replay != nil }

// Clock is the cluster of an asynchronous schedule as its core takes it: prompts
// of a step are the samples of an update.
func (r Recipe) Clock() schedule.Config {
	k := r.Cluster
	if k == nil {
		k = method.New[Cluster]()
	}
	slots := cmp.Or(r.Rollout.Slots, (r.Rollout.Responses()+k.Workers-1)/max(k.Workers, 1))
	var again schedule.Replay
	if r.Replay != nil {
		again = *r.Replay
	}
	return schedule.Config{Workers: k.Workers, Engine: k.Engine, Slots: slots, Trainers: k.Trainers, Batch: r.Rollout.Prompts, Group: r.Rollout.Group,
		Prompt: 1, Steps: r.Steps, Graded: r.graded(), Old: r.oldOnClock(k.Behaviour), Replay: again, Seed: r.Seed, Costs: k.Costs}
}

// oldOnClock is where the recipe's anchor has its log-probs, as the clock charges it.
func (r Recipe) oldOnClock(behaviour string) schedule.Old {
	how, _ := schedule.LookupOld(behaviour)
	switch {
	case r.Anchored() != AnchorBehaviour:
		return map[AnchorPolicy]schedule.Old{
			AnchorOld: schedule.BatchStart, AnchorRollout: schedule.Rollout, AnchorSync: schedule.SyncStart,
			AnchorEWMA: schedule.MovingAverage, AnchorInterpolated: schedule.Interpolated, AnchorMixture: schedule.Mixture,
		}[r.Anchored()]
	case how != schedule.OfSystem:
		return how
	case r.Schedule.Params.Traits().Old == schedule.AtInterrupt:
		return schedule.AtInterrupt
	}
	return schedule.ByVersion
}

// cluster checks what a schedule on a clock goes with.
func (c *checker) cluster(r Recipe) {
	if r.Schedule.Name == "" {
		return
	}
	if !r.OnClock() {
		c.that(r.Cluster == nil, "cluster", "%s has no clock: leave the section out, or name another schedule", r.Schedule.Name)
		return
	}
	o, name := r.Rollout, r.Schedule.Name
	c.graded(r)
	c.that(r.MaxGeneratedTokens == 0, "max_generated_tokens", "%s plans all steps ahead, and a limit ends them: use 0, or schedule sync or lag", name)
	c.that(o.Speculative == nil, "rollout.speculative", "%s schedules decode steps of a token each, and drafts make several: leave it out, or use schedule sync or lag", name)
	c.that(o.Fusion == nil, "rollout.fusion", "%s has workers that load weights in the middle of responses, which the other model cannot do: leave it out, or use schedule sync or lag", name)
	c.that(o.PrefillChunk == 0, "rollout.prefill_chunk", "%d reads prompts in steps without a token, and %s counts a token per step: use 0", o.PrefillChunk, name)
	c.that(!o.LearnReplies, "rollout.learn_replies", "true goes over a batch before it is scored, and %s takes responses in parts: leave it out, or use schedule sync or lag", name)
	c.that(o.Pool == nil || o.Pool.Focus == "", "rollout.pool.focus", "the responses to a prompt follow from its last visit, and %s asks for prompts before that is graded: leave it out, or use schedule sync or lag", name)
	c.that(len(o.Fleet) == 0, "rollout.fleet", "%s has workers of one kind: leave it out, or use schedule sync or lag", name)
	c.that(o.KVScales.Prompts == 0, "rollout.kv_scales.prompts", "%d calibrates at the start of a step, when the workers of %s are in the middle of responses: use 0", o.KVScales.Prompts, name)
	c.that(o.Noise.Start == 0, "rollout.noise.start", "%v is drawn anew at every sync of a step, and %s loads weights at any time: use 0", o.Noise.Start, name)
}

// graded checks what refuses or replays samples.
func (c *checker) graded(r Recipe) {
	reads := "rollout.dynamic_sampling"
	if s := r.Rollout.DynamicSampling; s != nil {
		c.that(r.Rollout.Group > 1 || s.Refuse == RefuseSolved, "rollout.dynamic_sampling", "the one response of a group equals itself: use a rollout.group of 2 or more")
		if s.Refuse != RefuseEqualReward {
			reads = ""
		}
	}
	if p := r.Replay; p != nil {
		c.that(p.Draws <= p.Capacity, "replay.draws", "%d is more than the capacity of %d, and nothing would ever be replayed: use %[2]d or less", p.Draws, p.Capacity)
		c.that(!p.On() || p.Beta == 0 || p.Order == schedule.Uniformly || p.Order == schedule.FirstIn || r.Loss.Name == "" || r.Loss.Spec().Reads(batch.Advantage), "replay.beta",
			"%v weighs advantages, and the loss %s reads none: use 0", p.Beta, r.Loss.Name)
		reads = "replay"
	}
	for i, part := range r.Reward {
		_, remembers := part.Params.(method.Memory)
		c.that(!remembers || reads == "", r.Reward.path(i), "%s remembers what it has judged, and %s judges a sample once more, when it is done: leave one of the two out", part.Name, reads)
	}
}

// old is the anchor that the recipe's schedule wants: the old policy for one that
// says nothing, the sampler where samples are replayed.
func (r Recipe) old() AnchorPolicy {
	if r.Replay != nil && r.Replay.On() {
		return AnchorRollout
	}
	if r.Schedule.Params == nil || !r.OnClock() {
		return AnchorOld
	}
	return [...]AnchorPolicy{
		schedule.OfSystem: AnchorOld, schedule.BatchStart: AnchorOld, schedule.Rollout: AnchorRollout, schedule.SyncStart: AnchorSync,
		schedule.ByVersion: AnchorBehaviour, schedule.Dedicated: AnchorBehaviour, schedule.AtInterrupt: AnchorBehaviour,
		schedule.MovingAverage: AnchorEWMA, schedule.Interpolated: AnchorInterpolated, schedule.Mixture: AnchorMixture,
	}[r.Schedule.Params.Traits().Old]
}
