package recipe

import (
	"fmt"

	"driftlab/model"
	"driftlab/trainer/method"
)

// pairs checks fields against each other.
func (c *checker) pairs(r Recipe) {
	c.lengths(r)
	c.columns(r)
	if r.Advantage.Name != "" && r.Advantage.Spec().Unit == method.Group && r.Rollout.Group == 1 {
		c.that(false, "rollout.group", "1: the advantage %s compares the responses of a group, which takes at least 2", r.Advantage.Name)
	}
	if m := r.Resolved().Model; m != (model.Config{}) && m.Dense() && r.Routing.Replay != ReplayNone {
		c.that(false, "routing.replay", "%s replays the choice of experts, and a dense model has none: use none", r.Routing.Replay)
	}
}

// lengths checks that the longest sequence fits the model.
func (c *checker) lengths(r Recipe) {
	m := r.Resolved().Model
	if m == (model.Config{}) || r.Task.Params.Validate() != nil {
		return
	}
	prompt := r.Task.Params.MaxPrompt()
	if total := prompt + r.Rollout.MaxTokens; r.Rollout.MaxTokens > 0 && m.Context > 0 && total > m.Context {
		c.that(false, "rollout.max_tokens", "%d after a prompt of up to %d tokens are %d, more than model.context %d",
			r.Rollout.MaxTokens, prompt, total, m.Context)
	}
	if total := prompt + r.Task.Params.MaxResponse(); r.Pretrain != nil && m.Context > 0 && total > m.Context {
		c.that(false, "model.context", "%d is less than the task's longest demonstration, %d tokens with its prompt", m.Context, total)
	}
}

// unrecorded are the columns of a batch that no stage of a run fills, with the reason.
var unrecorded = map[string]string{
	"Value":        "there is no critic",
	"LogpTeacher":  "there is no teacher",
	"GreedyReward": "there are no greedy responses in a batch",
	"ScoreNorm":    "gradients are not taken per response",
	"Turn":         "every task has a single turn",
}

// columns checks that every method finds what it reads.
func (c *checker) columns(r Recipe) {
	reference := r.KL.Name != "none"
	add := func(path, name string, spec func() method.Spec) {
		if name != "" {
			c.needs(path, spec(), reference)
		}
	}
	for i, part := range r.Reward {
		add(r.Reward.path(i), part.Name, part.Spec)
	}
	add("advantage", r.Advantage.Name, r.Advantage.Spec)
	add("correction.weights", r.Correction.Weights.Name, r.Correction.Weights.Spec)
	for i, m := range r.Correction.Masks {
		add(fmt.Sprintf("correction.masks[%d]", i), m.Name, m.Spec)
	}
	add("loss", r.Loss.Name, r.Loss.Spec)
	add("kl", r.KL.Name, r.KL.Spec)
}

// needs records a fault for each column that the run will not have. Entries
// that are more than a column's name depend on the method's parameters: the
// method itself reports those.
func (c *checker) needs(path string, s method.Spec, reference bool) {
	for _, column := range s.Needs {
		why, missing := unrecorded[column]
		if column == "LogpRef" && !reference {
			why, missing = "it takes a KL term, if only kl: {name: k3, coef: 0}", true
		}
		if missing {
			c.that(false, join(path, "name"), "%s reads the column %s, which this run does not record: %s", s.Name, column, why)
		}
	}
}
