package trainer

import (
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/trainer/engines"
)

// checkScored looks at what a policy that scores in the learner's numerics recorded.
func (s *Session) checkScored(x engines.LogProbs) error {
	x.Field, x.Numerics = "learner.numerics", s.recipe.Learner.Numerics
	return x.Check(&s.batch, 0, s.batch.Len())
}

// checkFrozen is checkScored of a policy that does not learn.
func (s *Session) checkFrozen(column, who string, logp []float64, scorer *learner.Scorer, p *model.Params) error {
	o := s.scoring()
	o.Replay, o.Retention = learner.ReplayNone, false
	return s.checkScored(engines.LogProbs{Column: column, Values: logp, Who: who, Params: p, Scales: scorer.KVScales(), Options: o})
}
