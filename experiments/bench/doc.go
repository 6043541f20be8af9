// Package bench times one step of reinforcement learning, phase by phase, on random weights
// and random prompts, and compares two builds by what each reports of itself.
//
// What it is not: it starts no process and has no clock of its own; the command gives it
// both.
package bench

import (
	"driftlab/engine"
	"driftlab/model"
)

// Step is what is timed.
type Step struct {
	Model            model.Config
	Rollout, Learner engine.Numerics
	// Batch responses, Group to a prompt, of Prompt tokens and Gen generated ones.
	Batch, Group, Prompt, Gen int
	// Slots are decoded side by side.
	Slots int
	// Steps are timed.
	Steps int
	// Recompute has the learner compute activations again in the backward pass.
	Recompute bool
}

// Memory is about what the two engines will hold, in bytes: the weights, their
// packed copies, gradients and moments; what is kept of every row for the
// backward pass; the cache of keys and values.
func (c Step) Memory() float64 {
	const float = 4
	m := c.Model
	layer := 8*m.DModel + 2*max(m.TopK, 1)*m.DFF
	kept := m.Layers * layer
	if c.Recompute {
		kept = layer + m.Layers*m.DModel
	}
	rows := float64(c.Batch) * float64(m.Context)
	cache := float64(float64(min(c.Slots, c.Batch)) * float64(m.Context*m.Layers*2*m.DModel))
	return float * (float64(7*float64(m.Params())) + float64(rows*float64(kept+3*m.Vocab)) + cache)
}
