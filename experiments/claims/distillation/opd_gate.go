package distillation

import (
	"context"
	"fmt"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

// gateRates are the learning rates of the judged arms; the others run at the last.
var gateRates = []string{"5e-4", "1e-3"}

// The arms of opd-gate.
const (
	gateNone, gateHard, gateRandom = "no teacher", "failed and hard", "as many at random"
	gateFailed, gateAll            = "failed", "all"
	gateHorizon, gateTemplate      = "first 8 tokens", "other template"
	gateTuned, gateTunedNone       = "other template, fine-tuned first", "fine-tuned, no teacher"
)

// gateTeachers are the checkpoints of the teacher, by the share of its training.
var gateTeachers = []struct {
	name  string
	share float64
}{{"an eighth of the training", 0.125}, {"a quarter", 0.25}, {gateHard, 1}}

const (
	gateOverlap, gateTokens, gateReads, gateK2 = "opd/overlap", "opd/tokens", "opd/teacher_tokens", "opd/k2"
)

// gateRule is who is guided: wrong answers to prompts of which at most a fifth is
// right.
const gateRule = "distillation={failed: true, pass_rate: 0.2"

// gateColumns are those that are read of an arm's runs, which are the runs at the last rate.
func gateColumns(arm, rate string) []string {
	if rate != gateRates[len(gateRates)-1] {
		return nil
	}
	switch arm {
	case gateNone, gateTunedNone:
		return nil
	case gateHard:
		return []string{gateOverlap, gateTokens, gateReads, gateK2}
	case gateRandom:
		return []string{gateOverlap, gateReads}
	case gateTemplate, gateTuned:
		return []string{gateOverlap, gateK2}
	}
	return []string{gateOverlap}
}

func opdGate() claim.Claim {
	return claim.Claim{
		ID:        "opd-gate",
		Title:     "On the chain task, a teacher on failed answers to hard prompts gains more than on as many answers at random (learning rates 5e-4 and 1e-3)",
		Statement: "With k1 as an advantage on wrong answers to prompts solved at most a fifth of the time, a policy ends at a higher pass rate than with the same rule's number of answers drawn at random.",
		Source:    "A practitioner's account of on-policy distillation combined with reinforcement learning; KDRL, 2506.08946.",
		Figure:    "the teacher is applied to failed rollouts of hard prompts, 5 % of the samples; a template that differs makes the divergence explode; the signal depends on the overlap of the two policies",
		Threshold: "Pass rate, failed and hard minus as many at random, mean over two learning rates: above 0, sign-flip p < 0.05; with as many calls of the teacher that is the ratio of the gains per call above 1. " +
			"Also checked: either against no teacher; all answers and all failed ones; the first 8 tokens alone; a teacher of another template, at most no teacher, and after rejection fine-tuning into that template, against the same student without a teacher; the rank correlation of gain and overlap over checkpoints of the teacher, above 0.6.",
		Setup: "GRPO on chain-base, prompts of 6 to 12 operations, of which about 30 % are solved at first, fp32 engines, 90 updates of 8 prompts with 8 responses. The teacher is warm-started on cleaner demonstrations of 3 to 12 operations and a half wider. " +
			"Advantages of guided tokens are normalised separately. Learning rates 5e-4 and 1e-3 for the judged arms and no teacher, 1e-3 for the others. " + claim.PassRateNote +
			"Pilot runs: two replications of seed 9001; after the first the arm that is fine-tuned first was added, in the second its prompts and those of the teacher of another template were easier by mistake.",
		LeftOut: "A budget of calls that is fixed: the rule's share of answers falls as the policy learns, and at random as many are drawn as the rule would then choose in that run. Ten replications to save compute: fourteen runs and four teachers each.",
		Commands: []string{"simulate pretrain teacher-base --out teacher",
			"simulate train opd --set checkpoint=chain-base --set teacher=teacher --set task.difficulty=[6,12] --set distillation.random=true"},
		Declared: claim.BeforeResults,
		Unit:     claim.Run, Replications: claim.LeastReplications,
		Version: 1,
		Measure: measureGate,
		Judge:   judgeGate,
	}
}

func measureGate(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	steps := e.Pick(90, 30, 6)
	// run trains an arm at some learning rates; without a section no teacher is read.
	run := func(name string, rates []string, teacher, section string, more ...string) error {
		for _, rate := range rates {
			set := append([]string{"task={name: chain, difficulty: [6, 12]}", "rollout.max_tokens=40", claim.SetLR(rate)}, more...)
			if section != "" {
				set = append(set, "teacher="+teacher, section)
			}
			if err := e.PassRates(ctx, o, claim.AtLR(name, rate), steps, gateColumns(name, rate), set...); err != nil {
				return err
			}
		}
		return nil
	}
	dirs := map[float64]string{}
	for _, t := range gateTeachers {
		dir, err := taught(ctx, e, t.share)
		if err != nil {
			return nil, err
		}
		dirs[t.share] = dir
	}
	tagged, err := taught(ctx, e, 1, "task={name: tagged, difficulty: [3, 12], noise: 0.02}")
	if err != nil {
		return nil, err
	}
	last := gateRates[len(gateRates)-1:]
	for _, arm := range []struct {
		name    string
		rates   []string
		teacher string
		section string
	}{
		{gateNone, gateRates, "", ""},
		{gateHard, gateRates, dirs[1], gateRule + "}"},
		{gateRandom, gateRates, dirs[1], gateRule + ", random: true}"},
		{gateFailed, last, dirs[1], "distillation={failed: true}"},
		{gateAll, last, dirs[1], "distillation={}"},
		{gateHorizon, last, dirs[1], gateRule + ", horizon: 8}"},
		{gateTemplate, last, tagged, gateRule + "}"},
		{gateTeachers[0].name, last, dirs[gateTeachers[0].share], gateRule + "}"},
		{gateTeachers[1].name, last, dirs[gateTeachers[1].share], gateRule + "}"},
	} {
		if err := run(arm.name, arm.rates, arm.teacher, arm.section); err != nil {
			return nil, err
		}
	}
	warm, err := e.BaseFolder(ctx)
	if err != nil {
		return nil, err
	}
	tuned, err := e.Warm(ctx, "tagged-base", "checkpoint="+warm, fmt.Sprintf("pretrain.steps=%d", e.Pick(200, 50, 2)))
	if err != nil {
		return nil, err
	}
	more := []string{"task={name: tagged, difficulty: [6, 12]}", "rollout.max_tokens=42", "checkpoint=" + tuned}
	if err := run(gateTunedNone, last, "", "", more...); err != nil {
		return nil, err
	}
	return o, run(gateTuned, last, tagged, gateRule+"}", more...)
}

func judgeGate(j *claim.Judge) {
	last := gateRates[len(gateRates)-1:]
	minus := func(rates []string, a, b string) []float64 {
		return stats.Differences(j.Late(rates, a), j.Late(rates, b))
	}
	column := func(arm, name string) []float64 {
		return j.OverRates(last, arm, func(o *claim.Observation, at string) float64 { return stats.Average(o.List(claim.ArmColumn(at, name))) })
	}
	j.PrimaryOver(gateRates, func(rates []string) claim.Check {
		return claim.Better(claim.Natural, "pass rate, failed and hard minus as many at random", minus(rates, gateHard, gateRandom))
	})
	j.Secondary(claim.Better(claim.Natural, "pass rate, failed and hard minus no teacher", minus(gateRates, gateHard, gateNone)))
	j.Secondary(claim.Better(claim.Natural, "pass rate, as many at random minus no teacher", minus(gateRates, gateRandom, gateNone)))
	for _, other := range []string{gateFailed, gateAll, gateHorizon} {
		j.Secondary(claim.Better(claim.Natural, "pass rate, failed and hard minus "+other, minus(last, gateHard, other)))
	}
	j.Secondary(claim.Below(claim.Natural, "pass rate, other template minus no teacher", minus(last, gateTemplate, gateNone), 0))
	j.Secondary(claim.Better(claim.Natural, "pass rate, other template after fine-tuning minus fine-tuned without a teacher", minus(last, gateTuned, gateTunedNone)))
	j.Secondary(claim.ReportRatio(claim.Natural, "k2 per guided token, other template over the same", column(gateTemplate, gateK2), column(gateHard, gateK2)))
	j.Secondary(claim.ReportRatio(claim.Natural, "k2 per guided token, other template after fine-tuning over the same", column(gateTuned, gateK2), column(gateHard, gateK2)))
	j.Secondary(claim.ReportRatio(claim.Natural, "tokens the teacher reads, failed and hard over as many at random", column(gateHard, gateReads), column(gateRandom, gateReads)))
	j.Secondary(claim.Report(claim.Natural, "share of tokens guided, failed and hard", column(gateHard, gateTokens)))
	var ranked []float64
	for i := range j.Independent() {
		var overlap, gain []float64
		for _, arm := range []string{gateTemplate, gateTeachers[0].name, gateTeachers[1].name, gateHard} {
			overlap, gain = append(overlap, column(arm, gateOverlap)[i]), append(gain, minus(last, arm, gateNone)[i])
		}
		ranked = append(ranked, stats.Spearman(overlap, gain))
	}
	j.Secondary(claim.Above(claim.Natural, "rank correlation of gain and overlap over four teachers", ranked, 0.6))
	shown := []string{gateNone, gateHard, gateRandom, gateFailed, gateAll, gateHorizon, gateTemplate, gateTunedNone, gateTuned, gateTeachers[0].name, gateTeachers[1].name}
	j.Evidence.Picture = j.Bars("Pass rate by whom the teacher guides", "pass rate, learning rate "+last[0], false, shown,
		claim.Group{Name: "pass rate", Values: func(k int) []float64 { return j.Late(last, shown[k]) }},
		claim.Group{Name: "overlap of the two policies", Values: func(k int) []float64 {
			if k == 0 || shown[k] == gateTunedNone {
				return make([]float64, j.Independent())
			}
			return column(shown[k], gateOverlap)
		}})
}
