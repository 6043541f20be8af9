package measurements

import (
	"slices"

	"driftlab/engine/learner"
	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// updateGradients compares the policy gradients that recipes take of the same responses, those of chain-base in the rollout engine
// for a learner some updates ahead, with the gradient of the learner's own responses.
type updateGradients struct {
	// Level begins the names of the figures.
	Level                    string
	Rollout, Learner         format
	Groups, Truth, Responses sizes
	Updates                  int
	Rate                     float64
	// Arms are changes of the recipe headline: advantage, correction and loss of each. A loss of other changes is for what no recipe may have.
	Arms []struct {
		Name      string
		Set, Loss []string
	}
}

// Measure records, for each arm, the squared bias and the variance of an update's gradient over the square of the exact one, and its efficiency.
func (m *updateGradients) Measure(e *claim.Env, o *claim.Observation) {
	p := e.Base(0)
	l := measure.NewLearner(p, m.Learner.Numerics)
	defer l.Close()
	first := minibatches(graded(e, p, m.Rollout.Numerics, m.Learner.Numerics, m.Groups.of(e)), 1)
	claim.StopOn(l.Update(first, method.New[loss.Reinforce](), m.Rate, m.Updates))
	truth := ownGradients(e, l, m.Learner.Numerics, m.Truth.of(e))
	b := answered(e, transformerPrompts, probe{Params: p, Rollout: m.Rollout.Numerics, Sequences: m.Responses.of(e), Tokens: 48, Stops: true, Block: 2})
	square := stats.Dot(truth[0], truth[1])
	for _, arm := range m.Arms {
		e.Continue()
		r := claim.Must(recipe.Load("headline", arm.Set...))
		objective := r.Loss
		if arm.Loss != nil {
			objective = claim.Must(recipe.Load("headline", arm.Loss...)).Loss
		}
		step := learner.StepOptions{Policy: learner.Policy{Temperature: 1, Replay: learner.Replay(r.Routing.Replay)}}
		measure.Score(b, l.Params(), measure.Scoring{Numerics: m.Learner.Numerics, Replay: step.Replay == learner.ReplayRollout})
		var g [][]float64
		for _, part := range minibatches(b, transformerParts) {
			part.Anchor, part.Now.Logp = part.Old.Logp, slices.Clone(part.Old.Logp)
			if r.Needs(batch.ScoreNorm) {
				part.ScoreNorm = claim.Must(l.Learner.ScoreNorms(nil, &part.Sampled, step))
			}
			claim.StopOn(r.Advantage.New().Estimate(part))
			correct(part, r.Correction.Pipeline())
			claim.Must(l.Learner.Gradient(&part.Now, &part.Sampled, &loss.Objective{Loss: objective.New(), Batch: part}, step))
			g = append(g, doubles(l.Grad()))
		}
		variance, bias, power := spread(g, truth, float64(b.Len()/transformerParts))
		o.Set(m.Level+" "+arm.Name, bias/square, variance/square, power)
	}
}
