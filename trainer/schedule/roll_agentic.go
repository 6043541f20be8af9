package schedule

import "driftlab/trainer/method"

// RollAgentic is ROLL Flash for episodes: it waits for nobody and drops the old.
//
//	Admit = ⌈a·B⌉ + (n + 1)·B - (acc + run)
//	Batch = the B done groups with the smallest episode number
//	a group is dropped when step - create > a
//	G + redundancy episodes begin, the first G are kept, the late ones evicted
//
// Source: ROLL Flash, 2510.11345; alibaba/ROLL
// roll/distributed/scheduler/rollout_scheduler.py, user_defined_rollout_loop.py.
type RollAgentic struct {
	// RatioPercent is async_generation_ratio a in hundredths. Default 100.
	RatioPercent int `yaml:"ratio_percent"`
	// Redundancy is group_size_redundancy. Default 0.
	Redundancy int `yaml:"redundancy"`
}

// Validate checks the ranges.
func (p *RollAgentic) Validate() error {
	return firstError(inRange("ratio_percent", p.RatioPercent, 0, 100*maxK), inRange("redundancy", p.Redundancy, 0, 64))
}

// Traits says how many episodes of a group are surplus.
func (p *RollAgentic) Traits() Traits { return Traits{Extra: p.Redundancy} }

// Admit is what the count leaves.
func (p *RollAgentic) Admit(v View) int { return admitAhead(v, p.RatioPercent) }

// OnPublish interrupts.
func (*RollAgentic) OnPublish(View, *Worker) Reload { return Interrupt }

// Verdict drops what was created too long ago.
func (p *RollAgentic) Verdict(v View, s *Sample) Fate {
	if 100*(v.Step-s.Step) > p.RatioPercent {
		return Drop
	}
	return Take
}

// Batch is the smallest episodes.
func (*RollAgentic) Batch(v View) []*Sample { return batchWhole(v) }

// Bound is ⌊a⌋.
func (p *RollAgentic) Bound() int { return p.RatioPercent / 100 }

var rollAgenticSpec = method.Spec{
	Name: "roll_flash_agentic", Aliases: []string{"roll_agentic"}, Group: "schedule", Unit: method.System,
	Source: "ROLL Flash, arXiv:2510.11345; alibaba/ROLL roll/distributed/scheduler/rollout_scheduler.py",
	Formula: "Batch = the B done groups with the smallest episode number\n" +
		"dropped when step - create > a; G + redundancy begin, the first G are kept",
	Gradient: "none: a schedule chooses weights",
	Example: "a = 1: a group created at step 0 can be trained at steps 0 and 1\n" +
		"when step 2 begins it is dropped, running or done\n" +
		"redundancy 2, G = 8: ten episodes begin, the two slowest are evicted",
	Reconstruction: "Admission is that of the RLVR scheduler.",
}
