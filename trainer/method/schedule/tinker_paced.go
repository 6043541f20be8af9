package schedule

import "driftlab/trainer/method"

// tinkerPaced runs some batches ahead and waits for a sample that would become too old, in place of throwing it away.
type tinkerPaced struct {
	// MaxOffPolicy is max_steps_off_policy. Default 2 (ours).
	MaxOffPolicy int `yaml:"max_steps_off_policy" default:"2" range:"[0,1024]"`
	// Depth is pipeline_depth in batches, at most max_steps_off_policy.
	Depth int `yaml:"pipeline_depth" default:"1" range:"[0,1024]"`
}

// Traits: a response has the weights of one sampling client.
func (p *tinkerPaced) Traits() Traits { return Traits{Old: Rollout, Bound: p.MaxOffPolicy} }

// Admit is what the count leaves.
func (p *tinkerPaced) Admit(v View) int {
	return v.ahead(min(p.Depth, p.MaxOffPolicy)*v.Batch, v.Version)
}

// Batch takes the oldest that are done, unless what is left could then not be trained in time.
func (p *tinkerPaced) Batch(v View) []*Sample {
	return inWindow(v, batchWhole(v), p.MaxOffPolicy, func(s *Sample) int { return s.Version })
}

var tinkerPacedSpec = method.Spec{
	Name: "tinker_paced", Aliases: []string{"tinker"},
	Does:           "Generates pipeline_depth batches ahead, trains the oldest done samples first, and waits for running samples that would exceed max_steps_off_policy.",
	When:           "Use it to model the paced trainer proposed for tinker-cookbook, which trains every sample within its limit and discards none.",
	Source:         "thinking-machines-lab/tinker-cookbook pull 822 (open), tinker_cookbook/rl/train.py",
	Formula:        "Admit = (min(depth, m) + V + 1)·B - (acc + run)\nBatch = the B oldest done; waits while what it leaves could not all be trained at V - start ≤ m",
	Reconstruction: "The pull request's text was read, not its code. Workers that drain stand for sampling clients: a response keeps its weights, and those of a group may begin under different ones.",
}
