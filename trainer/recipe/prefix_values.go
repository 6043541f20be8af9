package recipe

import (
	"slices"

	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// PrefixValues has the policy itself value its responses, from the prompt alone to the end of the working.
type PrefixValues struct {
	By          string `yaml:"by" default:"log_prob" oneof:"log_prob probability completions"`
	Completions int    `yaml:"completions" default:"4" range:"[1,1024]"`
	At          string `yaml:"at" default:"generation" oneof:"generation training"`
	Markers     string `yaml:"markers" default:"? a b c d e f g h i j k l"`
	Longest     int    `yaml:"longest" default:"16" range:"[1,2^16]"`
	Force       string `yaml:"force" default:"#"`
}

// Values of PrefixValues.By.
const (
	ByLogProb     = "log_prob"
	ByProbability = "probability"
	ByCompletions = "completions"
)

// AtTraining is a value of PrefixValues.At.
const AtTraining = "training"

// prefixValues checks the section, and that it is there where it is read.
func (c *checker) prefixValues(r Recipe) {
	const path = "prefix_values"
	reads := slices.DeleteFunc(r.methods(), func(m chosen) bool { return !m.spec().Reads(batch.PrefixValue) })
	p := r.PrefixValues
	if p == nil {
		for _, m := range reads {
			c.that(false, join(m.path, "name"), "%s reads the policy's own values of prefixes: add the section prefix_values, which may be {}", m.name)
		}
		return
	}
	c.that(len(reads) > 0, path, "no method of the recipe reads them: add reward {name: marginal_utility}, or leave the section out")
	for _, words := range []struct{ field, text string }{{"markers", p.Markers}, {"force", p.Force}} {
		_, err := task.Parse(r.Task.Params.Vocab(), words.text)
		c.that(err == nil, join(path, words.field), "%v", err)
	}
	if _, ok := r.Task.Params.(task.Tool); ok {
		c.that(false, path, "prefixes are completed without tools, and the task %s has one: use another task", r.Task.Name)
	}
	const judged = "groups are judged as soon as they are sampled, before any prefix has a value: leave one of the two out"
	c.that(r.Rollout.DynamicSampling == nil, path, "rollout.dynamic_sampling: "+judged)
	c.that(r.Replay == nil, path, "replay: "+judged)
	c.that(!r.Needs(batch.GreedyReward), path, "the advantage %s rewards a greedy response, whose prefixes have no value: use another", r.Advantage.Name)
	c.that(r.Rollout.Speculative == nil && r.Rollout.Fusion == nil, path, "a rollout engine that drafts or mixes two models values nothing: leave rollout.speculative and rollout.fusion out")
	if _, ok := r.Advantage.Params.(*advantage.Vine); ok {
		c.that(p.By != ByLogProb, join(path, "by"), "log_prob is not on the scale of the outcome, which the advantage vine compares with: use completions or probability")
	}
}
