package dynamic

import (
	"context"
	"strings"

	"driftlab/experiments/claims/claim"
)

// flowPilot says what was looked at before the claims on fp4 rollouts were written.
const flowPilot = "Looked at with the shipped weights on seed 9001, 150 updates, last evaluation in the learner's engine: at 1e-3 fp4 rollouts end at 0.93, with token TIS at 0.85, with the learner in fp4 too at 0.96; at 2e-3 at 0.16, 0.58 and 0.61, equal bf16 engines at 0.81; fp8 rollouts at 5e-4 at 0.95. Taken were 1e-3 and 2e-3, and the runs were cut for the cost. Previews with warm starts of their own on seeds 9001 and 9002 changed nothing: at 2e-3 fp8 rollouts end at 0.41 and 0.77, fp4 at 0.22 and 0.59, equal engines at 0.73 and 0.84. "

// gapKL is the exact KL over the vocabulary, from the rollout engine to the learner.
const gapKL = "gap/exact_kl"

// trainInBlocks is train, but of the columns that every update has it keeps means
// over sixths of the run.
func trainInBlocks(ctx context.Context, e *claim.Env, o *claim.Observation, steps int, rates, columns []string, arms ...arm) error {
	run := new(claim.Observation)
	if err := train(ctx, e, run, steps, rates, columns, arms...); err != nil {
		return err
	}
	for _, a := range arms {
		for _, rate := range rates {
			name := claim.AtLR(a.name, rate)
			o.Set(name, run.List(name)...)
			for _, column := range columns {
				beside := claim.Beside(name, column)
				values := run.List(beside)
				if !strings.HasPrefix(column, "val/") {
					values = blocks(values, max(steps/6, 1))
				}
				o.Set(beside, values...)
			}
		}
	}
	return nil
}

// sampledRate is the pass rate of the weights in the rollout engine.
const sampledRate = "val/rollout/pass_rate"

// lateSampled is to that column what claim.Late is to the pass rates in the
// learner's engine; a run that ended early passes none.
func lateSampled(o *claim.Observation, name string) float64 {
	rates := o.List(claim.Beside(name, sampledRate))
	early := len(rates) - len(o.List(name)) // the first update is evaluated too
	if early < 0 {
		return 0
	}
	return claim.Late(rates[early:])
}
