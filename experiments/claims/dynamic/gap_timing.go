package dynamic

import (
	"context"
	"fmt"

	"driftlab/experiments/claims/claim"
)

// timingGap is the mismatch of gap-timing, and timingBase what all of its runs change.
const timingGap = "rollout.numerics={base: bf16, router: fp4_e2m1}"

var timingBase = []string{"task.difficulty=[2,5]", claim.SetLR("1e-3")}

func gapTiming() claim.Claim {
	return claim.Claim{
		ID:        "gap-timing",
		Title:     "On the chain task, the same mismatch costs more pass rate late in training than early (4-bit router, learning rate 1e-3)",
		Statement: "Over 24 updates, rollouts with a 4-bit router cost a policy that 48 updates have trained more pass rate than they cost its start.",
		Source:    "Beyond precision, 2602.01826, by a survey of training-inference mismatch.",
		Figure:    "one and the same mismatch is benign early and lethal late",
		Threshold: "Pass rate lost to the mismatch, late minus early: above 0, sign-flip p < 0.05. Also checked: lost late, above 0; lost early, inside ±0.05; k3 of the mismatch, late over early.",
		Setup: "GRPO on the chain task with programs of 2 to 5 operations, fp32 learner, 24 updates of 8 prompts with 8 responses: fp32 rollouts, and bf16 rollouts with a 4-bit router. Early runs start from the warm start, late ones from the same policy after 48 updates with fp32 rollouts; each has a fresh optimiser. " +
			"Base models are of two layers, warm-started for 900 steps on programs of 2 to 5 operations, one per replication; they solve about six in ten. " + claim.PassRateNote + "Pilot runs: one replication of seed 9001, 48 updates from the warm start: 0.87 with fp32 rollouts, 0.82 with the 4-bit router.",
		LeftOut:  "Other mismatches, rates and lengths of training; an optimiser that keeps its moments.",
		Commands: []string{"simulate train headline --set steps=24 --set learner.optimizer.lr=1e-3 --set task.difficulty=[2,5] --set 'rollout.numerics={base: bf16, router: fp4_e2m1}'"},
		Declared: claim.BeforeResults,
		Unit:     claim.Run, Replications: claim.LeastReplications,
		Version: 1,
		Measure: measureTiming,
		Judge:   judgeTiming,
	}
}

func measureTiming(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	start, err := e.Warm(ctx, "chain-base", fmt.Sprintf("pretrain.steps=%d", e.Pick(900, 300, 3)), "task.difficulty=[2,5]")
	if err != nil {
		return nil, err
	}
	_, p, err := e.Trained(ctx, nil, e.Pick(48, 24, 2), append(timingBase, "checkpoint="+start)...)
	if err != nil {
		return nil, err
	}
	later, err := e.Keep(fmt.Sprintf("gap-timing-seed%d", e.Seed), p)
	if err != nil {
		return nil, err
	}
	for _, from := range []struct{ name, dir string }{{"early", start}, {"late", later}} {
		for _, arm := range []struct {
			name string
			set  []string
		}{{"matched", nil}, {"mismatch", []string{timingGap}}} {
			set := append(append([]string{"checkpoint=" + from.dir}, timingBase...), arm.set...)
			if err := e.PassRates(ctx, o, from.name+", "+arm.name, e.Pick(24, 12, 2), []string{"gap/k3"}, set...); err != nil {
				return nil, err
			}
		}
	}
	return o, nil
}

func judgeTiming(j *claim.Judge) {
	lost := func(from string) []float64 {
		return j.Each(func(o *claim.Observation) float64 {
			return claim.Late(o.List(from+", matched")) - claim.Late(o.List(from+", mismatch"))
		})
	}
	early, late := lost("early"), lost("late")
	j.Primary(claim.Better(claim.Natural, "pass rate lost to the mismatch, late minus early",
		j.Each(func(o *claim.Observation) float64 {
			return claim.Late(o.List("late, matched")) - claim.Late(o.List("late, mismatch")) - (claim.Late(o.List("early, matched")) - claim.Late(o.List("early, mismatch")))
		})))
	j.Secondary(claim.Better(claim.Natural, "pass rate lost to the mismatch, late", late))
	j.Secondary(claim.Inside(claim.Natural, "pass rate lost to the mismatch, early", early, 0.05))
	k3 := func(from string) []float64 {
		return j.Each(func(o *claim.Observation) float64 { return o.List(claim.ArmColumn(from+", mismatch", "gap/k3"))[0] })
	}
	j.Secondary(claim.ReportRatio(claim.Natural, "k3 of the first update, late over early", k3("late"), k3("early")))
	arms := []string{"early, matched", "early, mismatch", "late, matched", "late, mismatch"}
	j.Evidence.Picture = j.Bars("Pass rate by when the mismatch is on", "pass rate", false, arms,
		claim.Group{Name: "pass rate", Values: func(k int) []float64 {
			return j.Each(func(o *claim.Observation) float64 { return claim.Late(o.List(arms[k])) })
		}})
}
