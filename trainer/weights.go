package trainer

import (
	"fmt"

	"driftlab/model"
	"driftlab/trainer/cluster"
	"driftlab/trainer/method/batch"
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
	p, err := openBeside(r, "teacher", r.Teacher)
	if err == nil && r.Needs(batch.DistTeacher) && p.Config.Vocab != r.Model.Vocab {
		err = recipe.Faults{{Path: "teacher", Problem: fmt.Sprintf("%s has a vocabulary of %d, the run of %d: a term that compares whole distributions takes equal ones", r.Teacher, p.Config.Vocab, r.Model.Vocab)}}
	}
	return p, err
}

// openBeside loads the weights of a model that reads a run's sequences beside the
// policy, which the recipe names at a field.
func openBeside(r recipe.Recipe, field, name string) (*model.Params, error) {
	fault := func(format string, args ...any) (*model.Params, error) {
		return nil, recipe.Faults{{Path: field, Problem: fmt.Sprintf(format, args...)}}
	}
	c, err := model.Open(name)
	if err != nil {
		return fault("%v", err)
	}
	t := c.Params.Config
	if longest := r.Task.Params.MaxPrompt() + r.Rollout.MaxTokens; t.Vocab < r.Model.Vocab || t.Context < longest {
		return fault("%s has a vocabulary of %d and a context of %d, the run takes %d and %d", name, t.Vocab, t.Context, r.Model.Vocab, longest)
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

// openPartner loads the weights of a model whose logits are mixed in; nil for none and
// for the policy itself.
func openPartner(r recipe.Recipe) (*model.Params, error) {
	f := r.Rollout.Fusion
	if f == nil || f.With == recipe.FusedWithSelf {
		return nil, nil
	}
	return openBeside(r, "rollout.fusion.with", f.With)
}

// Check opens the other models that a resolved recipe names, its teacher, its drafter
// and one whose logits are mixed in, and returns as recipe.Faults what is wrong with them, or with what its
// schedule asks of the rollout engines, so that it is said before any work starts.
func Check(r recipe.Recipe) error {
	if r.OnClock() {
		if err := cluster.Check(r); err != nil {
			return err
		}
	}
	if _, err := openTeacher(r); err != nil {
		return err
	}
	if _, err := openPartner(r); err != nil {
		return err
	}
	_, err := openDrafter(r)
	return err
}
