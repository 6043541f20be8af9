package recipe

import (
	"fmt"
	"strings"

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
	"Value":       "there is no critic",
	"LogpTeacher": "there is no teacher",
}

// columns checks that every method finds what it reads.
func (c *checker) columns(r Recipe) {
	for _, m := range []struct {
		path, name string
		spec       func() method.Spec
	}{
		{"advantage.name", r.Advantage.Name, r.Advantage.Spec},
		{"correction.weights.name", r.Correction.Weights.Name, r.Correction.Weights.Spec},
		{"loss.name", r.Loss.Name, r.Loss.Spec},
		{"kl.name", r.KL.Name, r.KL.Spec},
	} {
		if m.name != "" {
			c.needs(m.path, m.spec())
		}
	}
	for i, m := range r.Correction.Masks {
		c.needs(fmt.Sprintf("correction.masks[%d].name", i), m.Spec())
	}
}

// needs records a fault for each column of the list that no run records. An
// entry may add a remark in brackets; alternatives are the method's business.
func (c *checker) needs(path string, s method.Spec) {
	for _, column := range s.Needs {
		column, _, _ = strings.Cut(column, " (")
		if why, missing := unrecorded[column]; missing {
			c.that(false, path, "%s reads the column %s, which no run records: %s", s.Name, column, why)
		}
	}
}
