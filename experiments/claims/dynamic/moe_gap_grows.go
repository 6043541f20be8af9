package dynamic

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

// growthArms are the runs of moe-gap-grows; the learner is in bf16.
var growthArms = []struct {
	name  string
	dense bool
	set   []string
}{
	{growthFP8, false, []string{"rollout.numerics=fp8-w8a8"}},
	{growthFrozen, false, []string{"rollout.numerics=fp8-w8a8", "routing.router=frozen"}},
	{growthDense, true, []string{"rollout.numerics=fp8-w8a8"}},
	{growthStill, false, []string{"rollout.numerics=fp8-w8a8", "learner.optimizer.lr=1e-12"}},
	{growthRanks, false, []string{"rollout.numerics=bf16-tp4"}},
	{growthFP4, false, []string{"rollout.numerics=fp4-all"}},
}

const (
	growthFP8    = "fp8 rollouts"
	growthFrozen = "fp8 rollouts, router frozen"
	growthDense  = "fp8 rollouts, dense"
	growthStill  = "fp8 rollouts, learning rate 1e-12"
	growthRanks  = "bf16 rollouts on four ranks"
	growthFP4    = "fp4 rollouts"
)

// growthColumns are followed over a run, in means over as many blocks of updates.
var growthColumns = []string{gapKL, "actor/entropy", "gap/dlogp_mean", routeFlips}

const growthBlocks = 6

func moeGapGrows() claim.Claim {
	return claim.Claim{
		ID:        "moe-gap-grows",
		Title:     "On the chain task, in a mixture of experts with fp8 rollouts the gap grows over 300 updates (learning rate 1e-3)",
		Statement: "While a mixture of experts with fp8 rollouts and a bf16 learner is trained for 300 updates, the KL between its engines rises.",
		Source:    "FP8-RL, 2601.18150; the MIS blog; vime issue 64; KPop's follow-up; open-instruct issue 1473.",
		Figure:    "vime 64: 0.011 flat with one engine, 0.011 to 0.036 with another, over 30 rollouts. Miles: KL first falls, and rises after about 600 updates. open-instruct 1473: it rises at a learning rate of 0, so by a bug",
		Threshold: "Slope of the logarithm of the exact KL, rollout engine against learner, on updates, in means over blocks of 50: interval above 0; below 0 refutes.",
		Setup: "GRPO on chain-base, uncorrected, 300 updates of 8 prompts with 8 responses at a learning rate of 1e-3; rollouts with fp8 weights and inputs by channel, amplified with fp4 weights and fp8 inputs, KV cache and head. " +
			"The controls differ in one thing: a router that keeps its weights, a dense model of equal active width, a learning rate of 1e-12. " +
			"Pilot runs with the shipped weights on seed 9001, 150 updates, blocks of 25: fp8 at 5e-4 7.2e-4 at first, 1.1e-3 at last, entropy 0.24 to 0.06; bf16 on four ranks without a direction, 3e-5 to 9e-4; fp4 at 1e-3 1.9e-2 to 2.0e-2, at 2e-3, where the run collapses, 2.9e-2 to 1.6e-1. A preview of the claim on seed 9001: slopes of 1.39 and 0.57. Nothing was changed.",
		LeftOut:  "More than 300 updates; the balance loss on and off. Ten replications to save compute: six runs each.",
		Commands: []string{"simulate train headline --set steps=300 --set learner.numerics=bf16 --set rollout.numerics=fp8-w8a8 --set learner.optimizer.lr=1e-3"},
		Declared: claim.BeforeResults,
		Unit:     claim.Run, Replications: claim.LeastReplications,
		Version: 1,
		Measure: measureGrowth,
		Judge:   judgeGrowth,
	}
}

func measureGrowth(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	start, err := e.Base(ctx, 0)
	if err != nil {
		return nil, err
	}
	steps := e.Pick(300, 60, growthBlocks)
	var middle []float64
	for k := range growthBlocks {
		middle = append(middle, (float64(k)+0.5)*float64(steps)/growthBlocks/100)
	}
	o.Set("hundreds of updates", middle...)
	for _, a := range growthArms {
		set := append([]string{"learner.numerics=bf16", "learner.optimizer.lr=1e-3"}, a.set...)
		if a.dense {
			twin, err := e.DenseFolder(ctx)
			if err != nil {
				return nil, err
			}
			set = append(set, "checkpoint="+twin)
		}
		columns, end, err := e.Trained(ctx, growthColumns[:columnsOf(a.dense)], steps, set...)
		if err != nil {
			return nil, err
		}
		for i, c := range columns {
			o.Set(claim.ArmColumn(a.name, growthColumns[i]), claim.Blocks(c, steps/growthBlocks)...)
		}
		if a.name == growthFP8 {
			o.Set("weight change", travelled(start.Theta, end.Theta))
		}
	}
	return o, nil
}

// columnsOf is how many of the columns a model has: a dense one has no routes.
func columnsOf(dense bool) int {
	if dense {
		return len(growthColumns) - 1
	}
	return len(growthColumns)
}

// travelled is the distance between two weights by the length of the first.
func travelled(from, to []float32) float64 {
	moved, length := 0.0, 0.0
	for i, w := range from {
		d := float64(to[i]) - float64(w)
		moved, length = moved+float64(d*d), length+float64(float64(w)*float64(w))
	}
	return math.Sqrt(moved / length)
}

func judgeGrowth(j *claim.Judge) {
	slope := func(arm string, of func(o *claim.Observation, arm string) []float64) []float64 {
		return j.Each(func(o *claim.Observation) float64 {
			y := stats.Logs(of(o, arm))
			return stats.Slope(o.List("hundreds of updates")[:len(y)], y)
		})
	}
	column := func(name string) func(o *claim.Observation, arm string) []float64 {
		return func(o *claim.Observation, arm string) []float64 { return o.List(claim.ArmColumn(arm, name)) }
	}
	perEntropy := func(o *claim.Observation, arm string) []float64 {
		return stats.Quotients(column(gapKL)(o, arm), column("actor/entropy")(o, arm))
	}
	const what = "slope of log KL per 100 updates, "
	of := func(arm string) []float64 { return slope(arm, column(gapKL)) }
	j.Primary(claim.Above(claim.Natural, what+growthFP8, of(growthFP8), 0))
	j.Primary(claim.Above(claim.Amplified, what+growthFP4, of(growthFP4), 0))
	j.Secondary(claim.Same(claim.Natural, what+growthStill, of(growthStill), of(growthFP8)))
	j.Secondary(claim.Below(claim.Natural, what+"router frozen minus trained", stats.Differences(of(growthFrozen), of(growthFP8)), 0))
	j.Secondary(claim.Above(claim.Natural, what+"mixture of experts minus dense", stats.Differences(of(growthFP8), of(growthDense)), 0))
	j.Secondary(claim.Report(claim.Natural, what+growthRanks, of(growthRanks)))
	for _, a := range []struct {
		level claim.Level
		arm   string
	}{{claim.Natural, growthFP8}, {claim.Amplified, growthFP4}} {
		j.Secondary(claim.Report(a.level, "slope of log KL over entropy per 100 updates, "+a.arm, slope(a.arm, perEntropy)))
		for _, name := range growthColumns[1:] {
			j.Secondary(claim.Report(a.level, "slope of log "+name+" per 100 updates, "+a.arm, slope(a.arm, column(name))))
		}
	}
	j.Secondary(claim.Report(claim.Natural, "change of the weights by their length, "+growthFP8, j.Column("weight change")))
	growthPicture(j)
}

func growthPicture(j *claim.Judge) {
	var x []float64
	for _, v := range j.Runs[0].List("hundreds of updates") {
		x = append(x, 100*v)
	}
	c := claim.Chart("Gap over training", "updates", "KL between the engines (nats per token)", "Means over blocks of updates.", true)
	var figures []string
	for _, a := range growthArms {
		figures = append(figures, claim.ArmColumn(a.name, gapKL))
		c.Series = append(c.Series, j.Arm(a.name, x, figures[len(figures)-1]))
	}
	j.Evidence.Picture = c
	j.Evidence.Table = j.CurvesTable("KL between the engines", "updates", x, figures...)
}
