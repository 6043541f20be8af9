package dynamic

import (
	"context"
	"fmt"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/results/record"
	"driftlab/results/stats"
)

var surgeRates = []string{"1e-3", "2e-3"}

const (
	surgeConstant, surgeGuard, surgePlacebo = "constant rate", "halved at surges", "falls at a random time"
	surgeReward, surgeLength                = "critic/score/mean", "response_length/mean"
)

// surgeGrowth is the growth over the first twenty updates that is an alarm.
const surgeGrowth = 1.2

// surgeLevels are what ends runs here: staleness, or a low-precision format.
var surgeLevels = []struct {
	level     claim.Level
	name, set string
	repaired  bool // with the arms that lower the rate
}{
	{claim.Natural, "lag 16", "schedule={name: lag, k: 16}", true},
	{claim.Amplified, "fp4", "rollout.numerics=fp4-all", false},
}

func surgeFirst() claim.Claim {
	return claim.Claim{
		ID:        "surge-first",
		Title:     "On the chain task, responses grow by a fifth before the reward falls (learning rates 1e-3 and 2e-3)",
		Statement: "In runs that end 30 % or more below their best reward, with room for responses of seven times the first length, the mean length exceeds 1.2 times its first value before the reward is 30 % below its best.",
		Source:    "LR, 2602.01826; a survey's alarm of +20 % in 100 updates.",
		Figure:    "4B: collapse near update 300; length from 1,000 to 3,000 or 4,000 near update 100; lowering the rate at the surge avoids the collapse",
		Threshold: "Updates from the length's alarm to the reward's, in the runs that collapse, mean of those of a warm start: above 0, sign-flip p < 0.05. An alarm that never comes counts as the run's end. " +
			"Also checked: length alarms in runs that do not collapse; pass rate and collapses with the rate halved at surges, against a constant rate and against a rate that falls at a time drawn at random.",
		Setup: "GRPO on chain-base, 120 updates of 8 prompts with 8 responses of at most 96 tokens, 14 at first; a right answer counts however long the working; learning rates 1e-3 and 2e-3. Natural: equal engines, rollouts by the weights of 16 updates ago. Amplified: fp4 weights, fp8 inputs, KV cache and head. " +
			"Alarms are windows of ten updates: a mean length above 1.2 times that of the first twenty updates; a mean reward 30 % below the best window before. The guard halves the rate, at most once in twenty updates, where the length exceeds 1.2 times that of twenty updates ago; the placebo lowers it on a line to a tenth, from a time drawn between 0.2 and 0.8 of the run. " + claim.PassRateNote +
			"Pilot runs with the shipped weights on seed 9001: on search-base, where longer answers are right more often, the length grows from 24 to 36 tokens in runs that never collapse, so that the chain task was taken; there fp4 rollouts at 2e-3 collapsed without longer responses, a lag of 16 at 1e-3 with responses of 38 tokens in the window of the collapse. Then one replication of seed 9001, in which the placebo lost its learning rate: that was mended, nothing else was changed.",
		LeftOut:  "The bound of gap times T²; a cap on the length; fp16; lengths of thousands of tokens. Ten replications to save compute: eight runs each, long ones where responses grow.",
		Commands: []string{`simulate train headline --set steps=120 --set rollout.max_tokens=96 --set "schedule={name: lag, k: 16}" --set learner.optimizer.lr=1e-3 --set "guards=[{name: length_surge, rule: ratio, factor: 1.2, warmup: 20}]"`},
		Declared: claim.Declaration{When: claim.Before,
			Corrected: "Until 2026-11-24 the collapsed runs of a warm start, at two learning rates, counted as independent. The verdict of the new seeds was then refuted at this scale, too."},
		Unit: claim.Run, Replications: claim.LeastReplications,
		Version: 1,
		Measure: measureSurge,
		Judge:   judgeSurge,
	}
}

func surgeArm(level, name string) string { return level + ", " + name }

func measureSurge(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	start := 0.2 + float64(0.6*e.Rand(claim.PromptStream).Float64())
	for _, d := range surgeLevels {
		common := []string{"rollout.max_tokens=" + fmt.Sprint(e.Pick(96, 96, 32)), d.set}
		arms := []claim.Arm{{Name: surgeArm(d.name, surgeConstant), Set: common}}
		if d.repaired {
			with := func(name string, set ...string) {
				arms = append(arms, claim.Arm{Name: surgeArm(d.name, name), Set: append(set, common...)})
			}
			with(surgeGuard, "guards=[{name: length_surge, rule: ratio, factor: 1.2, warmup: 20}]")
			// Field by field: a whole optimizer would undo the learning rate.
			with(surgePlacebo, "learner.optimizer.decay=linear", fmt.Sprintf("learner.optimizer.decay_start=%.4f", start), "learner.optimizer.final=0.1")
		}
		if err := e.TrainArms(ctx, o, claim.Training{Steps: []int{120, 60, 24}, Rates: surgeRates, Columns: []string{surgeReward, surgeLength}, Arms: arms}); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func judgeSurge(j *claim.Judge) {
	for _, d := range surgeLevels {
		constant := surgeArm(d.name, surgeConstant)
		leads, collapsed, early, healthy := surgeLeads(j, constant)
		j.Primary(claim.Better(d.level, "updates from the length's alarm to the reward's, "+d.name, leads))
		j.Note("%s: %d of %d runs at a constant rate collapse, from %d warm starts; %d of the %d others raise the length's alarm.", d.name, collapsed, collapsed+healthy, len(leads), early, healthy)
		if d.repaired {
			of := func(name string) []float64 { return j.Late(surgeRates, surgeArm(d.name, name)) }
			falls := func(name string) claim.Shares { return j.Collapses(surgeRates, surgeArm(d.name, name)) }
			for _, other := range []string{surgeConstant, surgePlacebo} {
				j.Secondary(claim.Better(d.level, "pass rate, "+surgeGuard+" minus "+other, stats.Differences(of(surgeGuard), of(other))))
				j.Secondary(claim.FewerCollapses(d.level, "runs that collapse, "+surgeGuard+" against "+other, falls(surgeGuard), falls(other)))
			}
		}
		for _, rate := range surgeRates {
			j.Secondary(claim.Report(d.level, "longest window over the first length, lr "+rate+", "+d.name, j.Each(func(o *claim.Observation) float64 {
				length := o.List(claim.ArmColumn(claim.AtLR(constant, rate), surgeLength))
				return stats.Max(claim.Windows(length)) / firstLength(length)
			})))
		}
	}
	x := claim.Counting(len(j.Runs[0].List(claim.ArmColumn(claim.AtLR(surgeArm(surgeLevels[0].name, surgeConstant), surgeRates[0]), surgeLength))))
	c := claim.Chart("Mean length of responses at a constant rate", "update", "tokens", "", false)
	for _, d := range surgeLevels {
		for _, rate := range surgeRates {
			c.Series = append(c.Series, j.Arm(d.name+", lr "+rate, x, claim.ArmColumn(claim.AtLR(surgeArm(d.name, surgeConstant), rate), surgeLength)))
		}
	}
	j.Evidence.Picture = c
}

// surgeLeads are, for the runs of an arm that collapse, the updates by which the length's
// alarm comes before the reward's, as means over those of one warm start; how many runs
// collapse, and of the others, how many raise the length's alarm.
func surgeLeads(j *claim.Judge, arm string) (leads []float64, collapsed, early, healthy int) {
	each := make([][]float64, len(j.Runs))
	for i, o := range j.Runs {
		for _, rate := range surgeRates {
			name := claim.AtLR(arm, rate)
			reward, length := o.List(claim.ArmColumn(name, surgeReward)), o.List(claim.ArmColumn(name, surgeLength))
			first, end := firstLength(length), float64(len(length))
			at := claim.FirstWindow(length, func(_, mean float64) bool { return mean > surgeGrowth*first })
			means := claim.Windows(reward)
			if len(means) > 0 && !record.HasCollapsed(stats.Max(means), means[len(means)-1]) {
				healthy++
				if !math.IsInf(at, 1) {
					early++
				}
				continue
			}
			collapsed++
			each[i] = append(each[i], min(claim.FirstWindow(reward, record.HasCollapsed), end)-min(at, end))
		}
	}
	return j.Pooled(each), collapsed, early, healthy
}

// firstLength is the mean of the first twenty updates.
func firstLength(x []float64) float64 { return stats.Average(x[:min(20, len(x))]) }
