package trainer

import (
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
)

// checkScored looks at what a policy that scores in the learner's numerics recorded.
func (s *Session) checkScored(x engines.LogProbs) error {
	x.Field, x.Numerics = "learner.numerics", s.recipe.Learner.Numerics
	return x.Check(&s.batch, 0, s.batch.Len())
}

// checkFrozen is checkScored of a policy that does not learn, for responses of the
// batch or all of it.
func (s *Session) checkFrozen(column, who string, in *batch.Sampled, logp []float64, scorer *learner.Scorer, p *model.Params) error {
	o := s.scoring()
	o.Replay, o.Retention = learner.ReplayNone, false
	x := engines.LogProbs{Column: column, Field: "learner.numerics", Numerics: s.recipe.Learner.Numerics,
		Values: logp, Who: who, Params: p, Scales: scorer.KVScales(), Options: o}
	return x.Check(&batch.Batch{Sampled: *in}, 0, in.Len())
}
