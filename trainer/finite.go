package trainer

import (
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/trainer/engines"
)

// checkScored looks at the columns of the policies that score.
func (s *session) checkScored(options learner.ScoreOptions) error {
	b := &s.batch
	for _, c := range []struct {
		column string
		logp   []float64
		who    string
		scorer *learner.Scorer
		params *model.Params
	}{
		{"logp_old", b.Old.Logp, "the learner", &s.learner.Scorer, s.learner.Params()},
		{"logp_ref", b.Ref.Logp, "the reference", s.reference, s.initial},
		{"logp_teacher", b.Teacher.Logp, "the teacher", s.teacher, s.taught},
	} {
		if c.scorer == nil {
			continue
		}
		x := engines.LogProbs{Column: c.column, Values: c.logp, Who: c.who, Field: "learner.numerics", Numerics: s.recipe.Learner.Numerics,
			Params: c.params, Scales: c.scorer.KVScales(), Options: options}
		if c.scorer != &s.learner.Scorer {
			x.Options.Replay, x.Options.Retention = learner.ReplayNone, false
		}
		if err := x.Check(b, 0, b.Len()); err != nil {
			return err
		}
	}
	return nil
}
