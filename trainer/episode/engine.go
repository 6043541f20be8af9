package episode

import (
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/recipe"
)

// Engine is what a Valuer asks: a rollout engine.
type Engine = rollout.Engine

// NewEngine is one with a recipe's numerics and these weights, on one core.
func NewEngine(r recipe.Recipe, p *model.Params) *Engine {
	e := rollout.New(p.Config, r.Rollout.Numerics, 64, 1)
	e.Publish(p, 0)
	return e
}
