package trainer

import (
	"fmt"

	"driftlab/model"
	"driftlab/trainer/cluster"
	"driftlab/trainer/recipe"
)

// Prepare loads the first weights of a resolved recipe, scaled as it says.
func Prepare(r recipe.Recipe) (recipe.Recipe, *model.Params, error) {
	if r.Checkpoint == "" {
		r = r.Resolved()
		if err := r.Validate(); err != nil {
			return r, nil, err
		}
		p := model.New(r.Model)
		p.Init(r.Seed)
		scaleInvariant(p, r.InvariantScale)
		return r, p, nil
	}
	c, err := model.Open(r.Checkpoint)
	if err != nil {
		return r, nil, err
	}
	if r, err = r.ResolvedFor(c.Params.Config); err != nil {
		return r, nil, err
	}
	scaleInvariant(c.Params, r.InvariantScale)
	return r, c.Params, nil
}

// openTeacher loads the weights of a recipe's teacher, nil if it has none.
func openTeacher(r recipe.Recipe) (*model.Params, error) {
	if r.Teacher == "" {
		return nil, nil
	}
	fault := func(format string, args ...any) (*model.Params, error) {
		return nil, recipe.Faults{{Path: "teacher", Problem: fmt.Sprintf(format, args...)}}
	}
	c, err := model.Open(r.Teacher)
	if err != nil {
		return fault("%v", err)
	}
	t := c.Params.Config
	if longest := r.Task.Params.MaxPrompt() + r.Rollout.MaxTokens; t.Vocab < r.Model.Vocab || t.Context < longest {
		return fault("%s has a vocabulary of %d and a context of %d, the run takes %d and %d", r.Teacher, t.Vocab, t.Context, r.Model.Vocab, longest)
	}
	return c.Params, nil
}

// openDrafter loads the weights of a drafter that is another model; nil for none
// and for the policy itself.
func openDrafter(r recipe.Recipe) (*model.Params, error) {
	s := r.Rollout.Speculative
	if s == nil || s.Drafter == recipe.DrafterSelf {
		return nil, nil
	}
	c, err := model.Open(s.Drafter)
	if err == nil && c.Params.Config.Vocab != r.Model.Vocab {
		err = fmt.Errorf("%s has a vocabulary of %d, the run of %d", s.Drafter, c.Params.Config.Vocab, r.Model.Vocab)
	}
	if err != nil {
		return nil, recipe.Faults{{Path: "rollout.speculative.drafter", Problem: err.Error()}}
	}
	return c.Params, nil
}

// Check opens the other models that a resolved recipe names, its teacher and its
// drafter, and returns as recipe.Faults what is wrong with them, or with what its
// schedule asks of the rollout engines, so that it is said before any work starts.
func Check(r recipe.Recipe) error {
	if r.Constant() == nil {
		if err := cluster.Check(r); err != nil {
			return err
		}
	}
	if _, err := openTeacher(r); err != nil {
		return err
	}
	_, err := openDrafter(r)
	return err
}
