package trainer

import "driftlab/trainer/dump"

// dump writes the step's responses, one line each.
func (s *session) dump(step int) error {
	if s.options.Dump == nil {
		return nil
	}
	d := dump.Writer{To: s.options.Dump, Run: s.recipe.Name, Step: step + 1, Sampling: s.recipe.Rollout}
	return d.Write(&s.batch, s.prompts, s.verdicts, s.trained)
}
