package length

import (
	"context"
	"fmt"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// trioRates are the learning rates of penalty-trio, trioFirst the steps over which a
// penalty's first bite is measured.
var trioRates = []string{"5e-4", "1e-3"}

const trioFirst = 10

// trioArms are the penalties, each with a curve of coefficients.
var trioArms = []struct {
	name, part string
	coefs      []string
	doublings  int // from one coefficient to the next
}{
	{"uniform", "length_uniform", []string{"0.01", "0.02", "0.04", "0.08"}, 1},
	{"group", "length_group", []string{"0.5", "1", "2", "4"}, 1},
	{"anchor", "length_anchor, by: prompt", []string{"1", "4", "16", "64"}, 2},
}

// trioFree is the arm without a penalty.
const trioFree = "none"

func penaltyTrio() claim.Claim {
	return claim.Claim{
		ID:        "penalty-trio",
		Title:     "On the search task, a uniform penalty on length ends in empty answers where an anchor does not (learning rates 5e-4 and 1e-3)",
		Statement: "Of runs under penalties that first shorten answers by about a tenth, fewer end with more than half of their answers empty under an anchor than under a uniform penalty.",
		Source:    "A practitioner's account of length penalties; Kimi k1.5, 2501.12599, for the one within a group.",
		Figure:    "uniform 1e-4: empty; within the group 0.1: score 0; anchor 0.01: easy prompts 15 % shorter at 97.0 % solved, hard ones 26 % at 4.6 %",
		Threshold: "Runs at two learning rates that end with more than half of the answers empty (no candidate tried), anchor against uniform: sign-flip p < 0.05 by warm start. " +
			"Each penalty at the coefficient of its curve whose mean length over the first ten steps, over replications, is nearest to 0.9 of that without penalty, the largest of equals. " +
			"Reported: pass rate within the group penalty minus that before training, below 0; pass rate of the anchor minus none, inside half of what uniform costs; length of the anchor over no penalty, below 1.",
		Setup: "GRPO on the search task with a pool of 128 prompts, roots within 1 to 10 candidates, 80 steps at two learning rates, four coefficients each; the last weights answer 1,024 fresh prompts. " +
			"Anchors are kept per prompt: all prompts of this task are equally long. Pilot runs on other seeds: where each curve bends.",
		LeftOut: "Penalties that begin late or rise slowly (reward.from, reward.warmup), LASER and soft overlong, which are there to be tried.",
		Commands: []string{"simulate train headline --set checkpoint=search-base --set 'task={name: search, difficulty: [1, 10], operations: 2}' --set rollout.max_tokens=96 --set 'rollout.pool={prompts: 128}' " +
			"--set 'reward=[exact, {name: length_uniform, coef: 0.04}]'"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-22", Verdict: claim.Reproduced,
			Check:     "runs that end empty, anchor against uniform: Fisher's exact test over 20 runs of ten warm starts, p < 0.05, met (0 of 20 against 6 of 20)",
			Corrected: "Until 2026-11-24 the two runs of a warm start, one per learning rate, counted as independent. The verdict was then reproduced; the verdict of the new seeds did not change."},
		Unit:         claim.Run,
		Replications: 10,
		Version:      1,
		Measure:      measureTrio,
		Judge:        judgeTrio,
	}
}

func measureTrio(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	start, err := searchStart(ctx, e)
	if err != nil {
		return nil, err
	}
	o.Set("pass rate before", meanOf(searchResponses(e, start, 1, 10)).rate)
	arm := func(name string, set ...string) error {
		for _, lr := range trioRates {
			lengths, after, err := searchRun(ctx, e, e.Pick(80, 20, 2), append(set, "rollout.pool={prompts: 128}", claim.SetLR(lr))...)
			if err != nil {
				return err
			}
			m := meanOf(searchResponses(e, after, 1, 10))
			o.Set(claim.AtLR(name, lr), stats.Average(lengths[:min(trioFirst, len(lengths))]), m.length, m.rate, m.empty, 64*stats.Average(lengths)*float64(len(lengths)))
		}
		return nil
	}
	if err := arm(trioFree); err != nil {
		return nil, err
	}
	for _, a := range trioArms {
		for _, coef := range a.coefs {
			if err := arm(a.name+" "+coef, "reward=[exact, {name: "+a.part+", coef: "+coef+"}]"); err != nil {
				return nil, err
			}
		}
	}
	return o, nil
}

// What is listed of a run of penalty-trio.
const (
	trioEarly = iota
	trioLength
	trioRate
	trioEmpty
)

// trioEach is a figure of an arm by replication, the mean over learning rates.
func trioEach(j *claim.Judge, arm string, what int) []float64 {
	return j.OverRates(trioRates, arm, func(o *claim.Observation, name string) float64 { return o.List(name)[what] })
}

func judgeTrio(j *claim.Judge) {
	free := stats.Average(trioEach(j, trioFree, trioEarly))
	matched := map[string]string{}
	for _, a := range trioArms {
		nearest := math.Inf(1)
		for _, coef := range a.coefs {
			name := a.name + " " + coef
			bite := stats.Average(trioEach(j, name, trioEarly)) / free
			if d := math.Abs(bite - 0.9); d <= nearest {
				nearest, matched[a.name] = d, name
			}
		}
		j.Note("%s is judged at %s: %.2f of the length without penalty over the first %d steps.", a.name, matched[a.name],
			stats.Average(trioEach(j, matched[a.name], trioEarly))/free, trioFirst)
	}
	empty := func(rates []string, arm string) claim.Shares {
		return j.Shares(rates, func(o *claim.Observation, rate string) bool { return o.List(claim.AtLR(arm, rate))[trioEmpty] > 0.5 })
	}
	uniform, group, anchor := matched["uniform"], matched["group"], matched["anchor"]
	j.PrimaryOver(trioRates, func(rates []string) claim.Check {
		return claim.FewerCollapses(claim.Natural, "runs that end empty, anchor", empty(rates, anchor), empty(rates, uniform))
	})
	j.Secondary(claim.FewerCollapses(claim.Natural, "runs that end empty, anchor against group", empty(trioRates, anchor), empty(trioRates, group)))
	j.Secondary(claim.Below(claim.Natural, "pass rate, group minus before", stats.Differences(trioEach(j, group, trioRate), j.Column("pass rate before")), 0))
	cost := stats.Differences(trioEach(j, uniform, trioRate), trioEach(j, trioFree, trioRate))
	j.Secondary(claim.Same(claim.Natural, "pass rate, anchor minus none", stats.Differences(trioEach(j, anchor, trioRate), trioEach(j, trioFree, trioRate)), cost))
	j.Secondary(claim.RatioBelow(claim.Natural, "length, anchor over no penalty", trioEach(j, anchor, trioLength), trioEach(j, trioFree, trioLength), 1))
	drawTrio(j)
}

// drawTrio draws what is left of the pass rate over the curves of coefficients.
func drawTrio(j *claim.Judge) {
	free := stats.Average(trioEach(j, trioFree, trioRate))
	chart := claim.Chart("Pass rate after training, by the strength of the penalty", "coefficient, in doublings of the curve's first", "pass rate, mean over learning rates", "", false)
	chart.Marks = append(chart.Marks, figure.Mark{Name: "no penalty", At: free})
	rows, lists := []string{trioFree}, [][]float64{nil, nil, nil, nil}
	add := func(name string) {
		for k, what := range []int{trioEarly, trioLength, trioRate, trioEmpty} {
			lists[k] = append(lists[k], stats.Average(trioEach(j, name, what)))
		}
	}
	add(trioFree)
	for _, a := range trioArms {
		arm := figure.Series{Name: a.name}
		for i, o := range j.Runs {
			curve := figure.Series{Name: fmt.Sprintf("seed %d", j.Seeds[i])}
			for k, coef := range a.coefs {
				curve.X = append(curve.X, float64(k*a.doublings))
				curve.Y = append(curve.Y, claim.OverRates(o, trioRates, a.name+" "+coef, func(o *claim.Observation, name string) float64 { return o.List(name)[trioRate] }))
			}
			arm.Seeds = append(arm.Seeds, curve)
		}
		chart.Series = append(chart.Series, arm)
		for _, coef := range a.coefs {
			rows = append(rows, a.name+" "+coef)
			add(a.name + " " + coef)
		}
	}
	j.Evidence.Picture = chart
	t := &figure.Figure{Kind: figure.Table, Title: "Every coefficient", Columns: []figure.Column{{Name: "penalty"}}, Note: "Means over replications and learning rates."}
	for _, c := range []string{"length, first ten steps", "length at the end", "pass rate", "empty"} {
		t.Columns = append(t.Columns, figure.Column{Name: c, Align: figure.Right})
	}
	for i, name := range rows {
		t.Add(figure.Word(name), figure.Number(lists[0][i], 3), figure.Number(lists[1][i], 3), figure.Number(lists[2][i], 3), figure.Number(lists[3][i], 3))
	}
	j.Evidence.Table = t
}
