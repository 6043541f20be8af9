package schedule

import "driftlab/trainer/method"

// windowedFIFO takes samples almost in the order of submission: from a window that begins at the oldest one
// that is not taken yet and does not move until that one is. A count bounds what is active, so that a bound on
// every sample follows without dropping any.
type windowedFIFO struct {
	// Steps is S, target_offpolicy_steps.
	Steps int `yaml:"target_offpolicy_steps" default:"3" range:"[0,1024]"`
	// WindowPercent is window_fraction f in hundredths of the active samples. 0 is strict order.
	WindowPercent int `yaml:"window_percent" default:"30" range:"[0,100]"`
}

// window is W, in samples, for batches of that many.
func (p *windowedFIFO) window(batch int) int {
	return max(1, p.WindowPercent*(p.Steps+1)*batch/100)
}

// Traits: the bound is that of the batch for which it is greatest.
func (p *windowedFIFO) Traits() Traits {
	return Traits{Reload: Interrupt, Bound: p.Steps + ceilDiv(p.WindowPercent*(p.Steps+1), 100)}
}

// Admit is what the count leaves: a place is free when the weights of its update are published.
func (p *windowedFIFO) Admit(v View) int { return v.ahead(p.Steps*v.Batch, v.Version) }

// Batch is the oldest that are done within the window.
func (p *windowedFIFO) Batch(v View) []*Sample { return batchWithin(v, p.window(v.Batch)) }

var windowedFIFOSpec = method.Spec{
	Name: "windowed_fifo", Aliases: []string{"minimax_forge", "torchtitan"},
	Does:   "Trains samples in the order of submission, except that up to W - 1 younger samples may pass the oldest one that still runs.",
	When:   "Use it for a bound on the staleness of every sample without dropping any: the trainer waits for a straggler only once the window is used up.",
	Source: "MiniMax Forge, arXiv:2605.26494, section 6.2.4; pytorch/torchtitan torchtitan/experiments/rl/docs/windowed_fifo.md, components/work_buffer.py",
	Formula: "B = (S + 1)·P; W = max(1, ⌊f·B⌋); Admit = B - active\n" +
		"Batch = the P oldest done samples, none beyond h + W - 1, h the oldest that is not taken\nlag ≤ ⌊(B + W - 2)/P⌋ = S + ⌈(W - 1)/P⌉",
	Reconstruction: "The batch is chosen when all of it is there; torchtitan's batcher takes sample by sample, so that a young one which it took early stays in. A sample that runs for ever stops the trainer: a limit on its time is not part of the rule.",
}
