package correction

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"driftlab/experiments/claim"
	"driftlab/experiments/stats"
	"driftlab/results"
	"driftlab/results/record"
)

// icepopArm is one run of icepop-rate. All masks leave the denominators alone,
// as IcePop does, and kept tokens have weight 1: arms differ in which tokens go.
type icepopArm struct{ name, set string }

// icepopArms are the runs that need no other; the placebo follows the first band.
var icepopArms = []icepopArm{
	{"band [0.5, 5]", "correction={masks: [{name: token_mask, low: 0.5, high: 5}], denominator: pre}"},
	{"band [0.5, 2]", "correction={masks: [{name: token_mask, low: 0.5, high: 2}], denominator: pre}"},
	{"token TIS, cap 2", "correction.weights={name: token_tis, cap: 2}"},
	{"no correction", "correction.mode=decoupled"},
}

const icepopPlacebo = "random mask"

// icepopBlock is how many updates an average averages when peak and end are compared.
const icepopBlock = 20

func icepopRate() claim.Claim {
	return claim.Claim{
		ID:    "icepop-rate",
		Title: "A band drops two tokens in a thousand, and the right ones",
		Statement: "A [0.5, 5] token band masks about one or two tokens in a thousand, is enough for stability on a mixture of experts, " +
			"and as training proceeds masks fewer tokens even while the mean gap widens.",
		Source: "IcePop, Ring-1T, 2510.18855; KPop's follow-up.",
		Figure: "one to two tokens per mille masked; the share falls while the gap of the log-probs grows",
		Threshold: "Mean reward of the second half of a run, band [0.5, 5] minus random masking at the band's rate: interval above 0. " +
			"In the second half under the band, per update: slope of mean |log-ratio| above 0 and slope of the masked share below 0, each in every seed. " +
			"Masked share within [1e-4, 1e-2]: a sanity range, reported.",
		Setup: "GRPO on chain-base, fp32 learner, 300 updates. Natural: fp8-w8a8 rollouts, positives and negatives learned. Amplified: fp4-all rollouts, negatives only, " +
			"where the headline saw uncorrected runs end. The band runs first; the placebo drops tokens at random at the mean share the band dropped in the same seed.",
		LeftOut:  "IcePop's ratio inside the band: kept tokens weigh 1 here, so that band and placebo differ in nothing but the tokens they drop.",
		Commands: []string{`simulate train headline --set steps=300 --set rollout.numerics=fp4-all --set advantage.positive_weight=0 --set "correction={masks: [{name: token_mask, low: 0.5, high: 5}], denominator: pre}"`},
		Unit:     claim.Run,
		Version:  2,
		Measure:  measureIcepop,
		Judge:    judgeIcepop,
	}
}

func measureIcepop(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	steps := e.Pick(300, 40, 2)
	for _, d := range []struct {
		dose claim.Dose
		sets []string
	}{
		{claim.Natural, []string{"rollout.numerics=fp8-w8a8"}},
		{claim.Amplified, []string{"rollout.numerics=fp4-all", "advantage.positive_weight=0"}},
	} {
		a := string(d.dose)
		run := func(arm icepopArm, masked string) error {
			columns := []string{"critic/score/mean", "gap/dlogp_mean"}
			if masked != "" {
				columns = append(columns, masked)
			}
			c, err := e.Train(ctx, columns, steps, append([]string{arm.set}, d.sets...)...)
			if err != nil {
				return err
			}
			o.Set(a+" reward "+arm.name, c[0]...)
			o.Set(a+" gap "+arm.name, c[1]...)
			if masked != "" {
				o.Set(a+" masked "+arm.name, c[2]...)
			}
			return nil
		}
		for _, arm := range icepopArms {
			masked := ""
			if arm.name == icepopArms[0].name || arm.name == icepopArms[1].name {
				masked = "rollout_corr/rollout_rs_masked_fraction"
			}
			if err := run(arm, masked); err != nil {
				return nil, err
			}
		}
		rate := stats.Average(o.List(a + " masked " + icepopArms[0].name))
		placebo := icepopArm{icepopPlacebo, fmt.Sprintf("correction={masks: [{name: random_mask, rate: %s}], denominator: pre}", strconv.FormatFloat(rate, 'g', -1, 64))}
		if err := run(placebo, "rollout_corr/rollout_rs_masked_fraction"); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// secondHalf is the latter half of a run's figures.
func secondHalf(x []float64) []float64 { return x[len(x)/2:] }

// blocks are the means of n updates each; what is left over is dropped.
func blocks(x []float64, n int) []float64 {
	var out []float64
	for ; len(x) >= n; x = x[n:] {
		out = append(out, stats.Average(x[:n]))
	}
	return out
}

func judgeIcepop(j *claim.Judge) {
	band := icepopArms[0].name
	late := func(figure string) []float64 {
		return j.Each(func(o *claim.Observation) float64 { return stats.Average(secondHalf(o.List(figure))) })
	}
	slope := func(figure string) []float64 {
		return j.Each(func(o *claim.Observation) float64 {
			y := secondHalf(o.List(figure))
			return stats.Slope(claim.Counting(len(y)), y)
		})
	}
	for _, d := range []claim.Dose{claim.Natural, claim.Amplified} {
		a := string(d)
		reward := func(arm string) []float64 { return late(a + " reward " + arm) }
		j.Primary(claim.Above(d, "reward, band [0.5, 5] minus random mask", stats.Differences(reward(band), reward(icepopPlacebo)), 0))
		j.Also(claim.Above(d, "slope of mean |log-ratio| under the band, per update", slope(a+" gap "+band), 0))
		j.Also(claim.Above(d, "minus the slope of the masked share, per update", stats.Negated(slope(a+" masked "+band)), 0))
		for _, arm := range icepopArms[1:] {
			j.Also(claim.Report(d, "reward, band [0.5, 5] minus "+arm.name, stats.Differences(reward(band), reward(arm.name))))
		}
		share := j.Each(func(o *claim.Observation) float64 { return stats.Average(o.List(a + " masked " + band)) })
		j.Also(claim.Report(d, "masked share, band [0.5, 5]", share))
		j.Also(claim.Report(d, "masked share, random mask", j.Each(func(o *claim.Observation) float64 { return stats.Average(o.List(a + " masked " + icepopPlacebo)) })))
		if m := stats.Average(share); m < 1e-4 || m > 1e-2 {
			j.Note("The masked share of the %s dose, %.2g, is outside the sanity range of [1e-4, 1e-2].", d, m)
		}
	}
	arms := append(icepopArms[:len(icepopArms):len(icepopArms)], icepopArm{name: icepopPlacebo})
	for _, d := range []claim.Dose{claim.Natural, claim.Amplified} {
		text := ""
		for _, arm := range arms {
			text += fmt.Sprintf(", %s %d", arm.name, collapsed(j, string(d)+" reward "+arm.name))
		}
		j.Note("Seeds of %d that end 30 %% or more below their peak, %s: %s.", len(j.Runs), d, text[2:])
	}
	rows := make([]string, len(arms))
	for i, arm := range arms {
		rows[i] = arm.name
	}
	reward := func(d claim.Dose, title string) claim.Group {
		return claim.Group{Name: title, Values: func(k int) []float64 { return late(string(d) + " reward " + rows[k]) }}
	}
	j.Evidence.Picture = j.Bars("Reward in the second half: the tokens a band drops, and as many at random", "mean reward", false, rows,
		reward(claim.Natural, "fp8 rollouts"), reward(claim.Amplified, "fp4 rollouts, negatives only"))
	j.Evidence.Table = icepopTable(j, rows)
}

// collapsed counts the seeds whose last block of rewards lies below the collapse
// share of the best.
func collapsed(j *claim.Judge, figure string) int {
	n := 0
	for _, o := range j.Runs {
		mean := blocks(o.List(figure), min(icepopBlock, len(o.List(figure))))
		if record.Fell(slices.Max(mean), mean[len(mean)-1]) {
			n++
		}
	}
	return n
}

// icepopTable lists every arm's second half, and the share it masked.
func icepopTable(j *claim.Judge, rows []string) *results.Table {
	t := &results.Table{Title: "Second half of the runs", Columns: []results.TableColumn{{Name: "arm"}},
		Note: "Means over seeds: reward, mean |log-ratio| between the engines, share of tokens masked over the whole run."}
	doses := []claim.Dose{claim.Natural, claim.Amplified}
	for _, d := range doses {
		for _, what := range []string{"reward", "gap", "masked"} {
			t.Columns = append(t.Columns, results.TableColumn{Name: fmt.Sprintf("%s, %s", what, d), Align: results.Right})
		}
	}
	for _, name := range rows {
		row := []results.Cell{results.Word(name)}
		for _, d := range doses {
			mean := func(figure string, part func([]float64) []float64) results.Cell {
				if !j.Runs[0].Has(figure) {
					return results.Word("-")
				}
				return results.Number(stats.Average(j.Each(func(o *claim.Observation) float64 { return stats.Average(part(o.List(figure))) })), 3)
			}
			a := string(d)
			row = append(row, mean(a+" reward "+name, secondHalf), mean(a+" gap "+name, secondHalf),
				mean(a+" masked "+name, func(x []float64) []float64 { return x }))
		}
		t.Add(row...)
	}
	return t
}
