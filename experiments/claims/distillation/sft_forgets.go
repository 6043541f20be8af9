package distillation

import (
	"context"
	"fmt"

	"driftlab/experiments/claims/claim"
	"driftlab/model"
	"driftlab/results/stats"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

// forgetRates are pairs of learning rates, by name: fine-tuning trains at rates at which
// distillation collapses.
var (
	forgetRates = []string{"lower", "higher"}
	ratesOf     = map[string]struct{ sft, opd string }{"lower": {"1e-3", "1.5e-4"}, "higher": {"2e-3", "3e-4"}}
)

const (
	shortPrograms, longPrograms = "task={name: chain, difficulty: [2, 3]}", "task={name: chain, difficulty: [6, 8]}"
	armStart, armSFT, armOPD    = "start", "fine-tuned on traces", "distilled on-policy"
)

func sftForgets() claim.Claim {
	return claim.Claim{
		ID:        "sft-forgets",
		Title:     "On the chain task, supervised fine-tuning on a teacher's traces of long programs costs more pass rate on short ones than on-policy distillation (learning rates 1e-3 and 2e-3, and 1.5e-4 and 3e-4)",
		Statement: "Fine-tuning on a teacher's traces loses more of what the student could do before than distillation on the student's own responses.",
		Source:    "A practitioner's account of on-policy distillation in verl.",
		Figure:    "the student may forget its own knowledge when it fits the teacher's output; no figure",
		Threshold: "Pass rate on programs of 2 or 3 operations after training, distilled minus fine-tuned, mean over two learning rates of each: above 0, sign-flip p < 0.05. " +
			"Also checked: the same on programs of 6 to 8 operations, which were trained, reported.",
		Setup: "Students are warm-started for 900 steps on programs of 2 to 5 operations, one per replication. One teacher for all, 1,500 steps on programs of 4 to 9 operations alone. " +
			"Fine-tuning: 200 updates of 64 of the teacher's right answers to 512 prompts of 6 to 8 operations, four samples each. Distillation: 200 updates of 64 of the student's own responses to such prompts, " +
			"k1 to the teacher as the only advantage. Fine-tuning at learning rates 1e-3 and 2e-3, distillation at 1.5e-4 and 3e-4; 256 held-out prompts of each length, one response each. " +
			"Pilot runs on seed 9001, from 0.71 on short and 0.17 on long programs: fine-tuning ends at 0.28 and 0.21 at 3e-4 and at 0.30 and 0.68 at 1e-3, distillation at 0.81 and 0.27 at 3e-4 and at 0.11 and 0.08 at 1e-3; " +
			"so each got rates of its own. Before: 48 updates, in which fine-tuning did not learn long programs, and a teacher of 1,200 steps that failed.",
		LeftOut:  "Reinforcement learning after either; a student that takes over a teacher's verbosity: a program's working has one length.",
		Commands: []string{`simulate pretrain tagged-base --set "task={name: chain, difficulty: [6, 8]}" --set pretrain.steps=200 --set pretrain.rejection.from=chain-base --out student`},
		Declared: claim.BeforeResults,
		Unit:     claim.Run, Replications: 10,
		Version: 1,
		Measure: measureForgetting,
		Judge:   judgeForgetting,
	}
}

func measureForgetting(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	steps := fmt.Sprintf("pretrain.steps=%d", e.Pick(900, 300, 3))
	student, err := e.Warm(ctx, "chain-base", steps, "task.difficulty=[2, 5]")
	if err != nil {
		return nil, err
	}
	shared := *e
	shared.Seed = 1
	teacher, err := shared.Warm(ctx, "teacher-base", fmt.Sprintf("pretrain.steps=%d", e.Pick(1500, 300, 3)), "task={name: chain, difficulty: [4, 9], noise: 0.02}")
	if err != nil {
		return nil, err
	}
	before, err := claim.Loaded(student, 0)
	if err != nil {
		return nil, err
	}
	if err := recordPassRates(ctx, e, o, armStart, before); err != nil {
		return nil, err
	}
	updates := e.Pick(200, 12, 2)
	for _, rate := range forgetRates {
		// At smaller sizes the teacher may solve nothing, and the shipped model stands in.
		traces := teacher
		if e.Size != claim.Full {
			traces = "chain-base"
		}
		dir, err := e.Warm(ctx, "tagged-base", "checkpoint="+student, longPrograms, fmt.Sprintf("pretrain.steps=%d", updates),
			"pretrain.optimizer={lr: "+ratesOf[rate].sft+", clip_norm: 1, decay: constant}", fmt.Sprintf("pretrain.rejection={from: %q, prompts: %d, samples: 4}", traces, e.Pick(512, 64, 16)))
		if err != nil {
			return nil, err
		}
		tuned, err := claim.Loaded(dir, 0)
		if err != nil {
			return nil, err
		}
		if err := recordPassRates(ctx, e, o, armSFT+", "+rate, tuned); err != nil {
			return nil, err
		}
		_, distilled, err := e.Trained(ctx, nil, updates, "checkpoint="+student, "teacher="+teacher, longPrograms, "distillation={advantage: scaled}", claim.SetLR(ratesOf[rate].opd))
		if err != nil {
			return nil, err
		}
		if err := recordPassRates(ctx, e, o, armOPD+", "+rate, distilled); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// recordPassRates keeps the pass rates of weights on short and on long programs.
func recordPassRates(ctx context.Context, e *claim.Env, o *claim.Observation, arm string, p *model.Params) error {
	var rates []float64
	for _, programs := range []string{shortPrograms, longPrograms} {
		r, err := recipe.Load("default", programs)
		if err != nil {
			return err
		}
		r.Seed = e.Seed
		all, err := trainer.Evaluate(ctx, p, r, trainer.Attempts{Prompts: e.Pick(256, 64, 4), Samples: 1}, trainer.Options{Cores: e.Cores})
		if err != nil {
			return err
		}
		rates = append(rates, all.Rate)
	}
	o.Set(arm, rates...)
	return nil
}

func judgeForgetting(j *claim.Judge) {
	mean := func(rates []string, arm string, length int) []float64 {
		return j.Each(func(o *claim.Observation) (sum float64) {
			for _, rate := range rates {
				sum += o.List(arm + ", " + rate)[length] / float64(len(rates))
			}
			return sum
		})
	}
	j.PrimaryOver(forgetRates, func(rates []string) claim.Check {
		return claim.Better(claim.Natural, "pass rate on short programs, distilled minus fine-tuned", stats.Differences(mean(rates, armOPD, 0), mean(rates, armSFT, 0)))
	})
	for length, name := range []string{"short", "long"} {
		for _, arm := range []string{armSFT, armOPD} {
			j.Secondary(claim.Report(claim.Natural, fmt.Sprintf("pass rate on %s programs, %s minus start", name, arm), stats.Differences(mean(forgetRates, arm, length), j.Entry(armStart, length))))
		}
	}
	j.Secondary(claim.Report(claim.Natural, "pass rate on long programs, distilled minus fine-tuned", stats.Differences(mean(forgetRates, armOPD, 1), mean(forgetRates, armSFT, 1))))
	rows := []string{"short programs", "long programs"}
	groups := []claim.Group{j.Listed(armStart, armStart)}
	for _, arm := range []string{armSFT, armOPD} {
		groups = append(groups, claim.Group{Name: arm, Values: func(k int) []float64 { return mean(forgetRates, arm, k) }})
	}
	j.Evidence.Picture = j.Bars("Pass rate before and after", "pass rate", false, rows, groups...)
}
