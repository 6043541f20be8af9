package schedule

import "driftlab/trainer/method"

// echo2 serves a learner by remote workers, which weights reach late: worker i runs
// version V(t - delay_i). A sample that is too old comes again from its prompt. The paper
// is stable up to S = 6.
type echo2 struct {
	// Staleness is the user's knob S. The paper is stable up to 6.
	Staleness int `yaml:"staleness" default:"4" range:"[1,1024]"`
	// Hop is the ticks that weights take from one worker of the chain to the next.
	Hop int `yaml:"hop" default:"10000" range:"[0,1000000000]"`
}

// Traits implements Policy.
func (p *echo2) Traits() Traits {
	return Traits{Hop: p.Hop, Bound: p.Staleness}
}

// Admit is AReaL's.
func (p *echo2) Admit(v View) int { return (&AReaL{Eta: p.Staleness}).Admit(v) }

// Verdict has the prompts of what is too old submitted again.
func (p *echo2) Verdict(v View, s *Sample) Fate {
	if s.Lag(v.Version) > p.Staleness {
		return Requeue
	}
	return Take
}

var echo2Spec = method.Spec{
	Name: "echo2", Aliases: []string{"echo-2"},
	Does:           "Serves a trainer by remote workers that receive new weights late, and generates samples again that exceed the staleness limit.",
	When:           "Use it for rollout workers behind slow networks, to see how much delay a staleness limit allows.",
	Source:         "ECHO-2, arXiv:2602.02192",
	Formula:        "accept iff V - V0 ≤ S; T_bcast + R/μ_pool ≤ S·T_train",
	Reconstruction: "The paper's inequality was not seen: this one, AReaL's count as admission, workers that drain, and the chain's constant delay are inferred.",
}
