package schedule

import "driftlab/trainer/method"

// RollFlash bounds the staleness of each sample by waiting for the oldest: its scheduler for
// verifiable rewards (RLVR). Of a fractional a, at most ⌊B·frac(a)⌋ come from the oldest
// start step, and what began at that step or before is dropped when weights are published.
type RollFlash struct {
	// RatioPercent is async_generation_ratio a in hundredths. 0 is synchronous.
	RatioPercent int `yaml:"ratio_percent" default:"100" range:"[0,102400]"`
	// Additional is max_additional with use_additional_prompts (16 there): while fewer
	// samples run or are done in excess of the count, more are submitted, whatever the
	// count says. Default 0: none.
	Additional int `yaml:"additional" range:"[0,2^20]"`
}

// Traits implements Policy.
func (p *RollFlash) Traits() Traits {
	return Traits{Reload: Interrupt, Bound: p.most()}
}

// Admit is what the count leaves, or the additional prompts if these are more: those
// that are done in excess count as running, or a fast rollout would never stop.
func (p *RollFlash) Admit(v View) int {
	left := admitAhead(v, p.RatioPercent)
	if p.Additional == 0 {
		return left
	}
	extra := max(0, -left-v.Running)
	return max(left, p.Additional-(v.Running+extra))
}

// admitAhead lets generation be a batches, a in hundredths, ahead of the step.
func admitAhead(v View, percent int) int {
	return v.ahead(ceilDiv(percent*v.Batch, 100), v.Step)
}

// Verdict drops what began too long ago: only surplus prompts, for Batch waited
// for the others.
func (p *RollFlash) Verdict(v View, s *Sample) Fate {
	if v.Step-s.Step > p.most() {
		return Drop
	}
	return Take
}

// Batch goes from the oldest start to the newest.
func (p *RollFlash) Batch(v View) []*Sample {
	if len(v.Done) < v.Batch {
		return nil
	}
	running := make([]int, p.most()+1)
	for _, s := range v.Flight {
		running[s.Step-(v.Step-p.most())]++
	}
	var batch []*Sample
	for g := range running {
		most := v.Batch - len(batch)
		if part := p.RatioPercent % 100; g == 0 && part != 0 {
			most = min(most, v.Batch*part/100)
		}
		n := 0
		for _, s := range v.Done {
			if s.Step == v.Step-p.most()+g && n < most {
				batch = append(batch, s)
				n++
			}
		}
		switch {
		case len(batch) == v.Batch:
			return byID(batch)
		case n < most && running[g] > 0:
			return nil
		}
	}
	return nil
}

// most is ⌈a⌉, the greatest lag.
func (p *RollFlash) most() int { return ceilDiv(p.RatioPercent, 100) }

var rollFlashSpec = method.Spec{
	Name: "roll_flash", Aliases: []string{"roll", "roll_flash_rlvr"},
	Does:   "Limits the staleness of every sample by waiting for the oldest running sample.",
	When:   "Use it to model ROLL Flash for verifiable rewards, where asynchrony stays within a fixed ratio.",
	Source: "ROLL Flash, arXiv:2510.11345; alibaba/ROLL roll/distributed/scheduler/generate_scheduler.py",
	Formula: "Admit = ⌈a·B⌉ + (n + 1)·B - (acc + run), or max_additional - (run + extra) if that is more\n" +
		"Batch: from start step n - ⌈a⌉ up what is done; waits while an older step has running ones",
	Reconstruction: "Fractions of a are taken, as the scheduler takes them. Additional prompts come on top of the count, as a docstring has it; the scheduler's own test counts otherwise, and what counts as one too many once it is done is inferred.",
}

// rollAgentic is ROLL Flash for episodes (user_defined_rollout_loop.py): it waits for
// nobody and drops the old.
type rollAgentic struct {
	// RatioPercent is async_generation_ratio a in hundredths.
	RatioPercent int `yaml:"ratio_percent" default:"100" range:"[0,102400]"`
	// Redundancy is group_size_redundancy.
	Redundancy int `yaml:"redundancy" range:"[0,64]"`
}

// Traits implements Policy.
func (p *rollAgentic) Traits() Traits {
	return Traits{Reload: Interrupt, Extra: p.Redundancy, InOrder: true, Bound: p.RatioPercent / 100}
}

// Admit is what the count leaves.
func (p *rollAgentic) Admit(v View) int { return admitAhead(v, p.RatioPercent) }

// Verdict drops what was created too long ago.
func (p *rollAgentic) Verdict(v View, s *Sample) Fate {
	if 100*(v.Step-s.Step) > p.RatioPercent {
		return Drop
	}
	return Take
}

var rollAgenticSpec = method.Spec{
	Name: "roll_flash_agentic", Aliases: []string{"roll_agentic"},
	Does:   "Trains the finished groups with the smallest episode number and drops groups that are too old, without waiting.",
	When:   "Use it to model ROLL Flash for agents, whose episodes differ much in length.",
	Source: "ROLL Flash, arXiv:2510.11345; alibaba/ROLL roll/distributed/scheduler/rollout_scheduler.py",
	Formula: "Batch = the B done groups with the smallest episode number\n" +
		"dropped when step - create > a; G + redundancy begin, the first G are kept",
	Reconstruction: "Admission is that of the RLVR scheduler.",
}
