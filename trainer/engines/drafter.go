package engines

import (
	"driftlab/engine"
	"driftlab/model"
	"driftlab/trainer/recipe"
)

// DrafterNumerics are the numerics of a recipe's drafter for a rollout
// engine of the given ones.
func DrafterNumerics(s *recipe.Speculative, verifier engine.Numerics) engine.Numerics {
	if s.Numerics != nil {
		return *s.Numerics
	}
	return verifier
}

// DraftCost is what drafting a token costs as a share of a pass of the
// verifier: what the recipe says, or the ratio of the bits of their weights.
func DraftCost(s *recipe.Speculative, drafter, verifier *model.Params, n engine.Numerics) float64 {
	if s.Cost > 0 {
		return s.Cost
	}
	bits := func(p *model.Params, n engine.Numerics) float64 {
		return float64(len(p.Theta) * n.Weights.Format.Bits())
	}
	return bits(drafter, DrafterNumerics(s, n)) / bits(verifier, n)
}
