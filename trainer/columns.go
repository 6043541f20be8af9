package trainer

import (
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
)

// columns says which columns a run records for the methods of its recipe,
// beyond those that every run records: LogpRoll, LogpOld, Entropy, SumSquares and
// the distributions of both engines, from which the exact gap is measured.
type columns struct {
	// dist and entropy are columns of the current weights, at every gradient.
	dist, entropy bool
	// router is the router's log-probs, of the old and of the current policy.
	router bool
	// distRef and distTeacher are the distributions of frozen policies.
	distRef, distTeacher bool
	// tokenReward is the reward on the last generated token, where no part of it
	// is placed within the response.
	tokenReward bool
	// greedy is one greedy response per prompt, scoreNorm one backward pass per
	// response, value a critic.
	greedy, scoreNorm, value bool
	// reference is a frozen policy.
	reference bool
}

// columnsOf reads off what the methods of a recipe need.
func columnsOf(r recipe.Recipe) columns {
	kl := r.KL.Name != "none"
	turns, byTurn := r.Advantage.Params.(*advantage.TurnLevel)
	return columns{
		dist: r.Needs(batch.Dist), entropy: r.Needs(batch.Entropy), router: r.Needs(batch.RouterNow), distRef: r.Needs(batch.DistRef), distTeacher: r.Needs(batch.DistTeacher),
		tokenReward: kl || r.Needs(batch.TokenReward),
		greedy:      r.Needs(batch.GreedyReward), scoreNorm: r.Needs(batch.ScoreNorm), value: r.Needs(batch.Value) || byTurn && turns.Baseline == "value",
		reference: kl || r.Needs(batch.LogpRef),
	}
}
