package age

import (
	"context"
	"fmt"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

var (
	lawLags     = []int{4, 32, 256}
	lawRates    = []string{"2e-4", "4e-4"}
	lawFamilies = []struct{ name, set string }{
		{"3 to 4 operations", "task.difficulty=[3, 4]"},
		{"7 to 8 operations", "task.difficulty=[7, 8]"},
	}
)

func lagLaw() claim.Claim {
	return claim.Claim{
		ID:        "lag-law",
		Title:     "On the chain task, a power of the effective samples tells which lags a regression objective stands (learning rates 2e-4 and 4e-4)",
		Statement: "For OAPL, L <= c ESS^alpha, with c and alpha fitted on other runs, says of more than nine of ten runs whether they stay stable at lag L.",
		Source:    "Conjecture P5 of the survey.",
		Figure:    "L_max <= c ESS^alpha, c about 50, alpha about 1",
		Threshold: "Accuracy of the fitted law on the runs of a replication that the fit has not seen: interval above 0.9.",
		Setup: "OAPL with both betas 0.1 on chain-base, equal engines, eight updates of one prompt with eight responses per batch, 60 batches: 480 updates. Lags of 4, 32 and 256 updates, a range of 64; two families, programs of three to four and of seven to eight operations; learning rates 2e-4 and 4e-4: twelve runs per replication. " +
			"Unstable is a run that ends 30 % below its own best of six evaluations of 128 held-out prompts. ESS is the share of effective sequences, learner against sampler, mean over the first half of the run. " +
			"The law is the line in log L and log ESS that least squares puts between the labels; it is fitted without the replication that it judges, and without that from the same warm start. " +
			"Pilot runs with the shipped weights on seed 9001 at 2e-4: with beta 0.1 one of six runs collapsed (0.77 to 0.38 at lag 256, few operations), with beta 0.5 none; 4e-4 was added unseen, to have runs of both kinds.",
		LeftOut:  "Tasks other than the chain; lags of 400 and 800; c. With 480 updates a lag of 256 is more than half of the run.",
		Commands: []string{`simulate train headline --set steps=60 --set learner.minibatches=8 --set "schedule={name: lag, k: 256}" --set correction.mode=bypass --set "loss={name: oapl, beta1: 0.1, beta2: 0.1}" --set learner.optimizer.lr=2e-4 --set "task.difficulty=[3, 4]"`},
		Declared: claim.BeforeResults,
		Unit:     claim.Run,
		Version:  1,
		Measure:  measureLaw,
		Judge:    judgeLaw,
	}
}

func lawName(family string, lag int) string { return fmt.Sprintf("%s, lag %d", family, lag) }

func measureLaw(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	steps := e.Pick(60, 24, 6)
	for _, f := range lawFamilies {
		for _, lag := range lawLags {
			for _, rate := range lawRates {
				err := e.PassRates(ctx, o, claim.AtLR(lawName(f.name, lag), rate), steps, []string{essColumn}, fmt.Sprintf("learner.minibatches=%d", e.Pick(8, 8, 2)), fmt.Sprintf("schedule={name: lag, k: %d}", lag),
					"correction.mode=bypass", "loss={name: oapl, beta1: 0.1, beta2: 0.1}", f.set, claim.SetLR(rate))
				if err != nil {
					return nil, err
				}
			}
		}
	}
	return o, nil
}

// lawRun is a run as the law sees it.
type lawRun struct {
	lag, ess float64 // logarithms
	stable   bool
}

// lawRuns are those of a replication, of one family or, with "", of all.
func lawRuns(o *claim.Observation, family string) []lawRun {
	var runs []lawRun
	for _, f := range lawFamilies {
		if family != "" && family != f.name {
			continue
		}
		for _, lag := range lawLags {
			for _, rate := range lawRates {
				name := claim.AtLR(lawName(f.name, lag), rate)
				ess := o.List(claim.ArmColumn(name, essColumn))
				runs = append(runs, lawRun{
					lag: elementary.Log(float64(lag)), ess: elementary.Log(max(stats.Average(ess[:(len(ess)+1)/2]), 1e-6)),
					stable: !claim.Collapsed(o.List(name)),
				})
			}
		}
	}
	return runs
}

// law is stable where level + lag·log L + ess·log ESS is above one half.
type law struct{ level, lag, ess float64 }

// fitted puts the line between the labels.
func fitted(runs []lawRun) law {
	var lag, ess, label []float64
	for _, r := range runs {
		y := 0.0
		if r.stable {
			y = 1
		}
		lag, ess, label = append(lag, r.lag), append(ess, r.ess), append(label, y)
	}
	level, slopes := stats.Regress(label, lag, ess)
	return law{level, slopes[0], slopes[1]}
}

func (l law) stable(r lawRun) bool { return l.level+float64(l.lag*r.lag)+float64(l.ess*r.ess) > 0.5 }

// exponent is alpha of L = c·ESS^alpha on the line.
func (l law) exponent() float64 { return -l.ess / l.lag }

// sharesWarmStart reports that two replications share a warm start: seeds that differ by ten do.
func sharesWarmStart(j *claim.Judge, a, b int) bool { return j.Seeds[a]%10 == j.Seeds[b]%10 }

// without are the runs of all replications but one and its twin; -1 leaves none out.
func without(j *claim.Judge, left int, family string) []lawRun {
	var runs []lawRun
	for i, o := range j.Runs {
		if left < 0 || !sharesWarmStart(j, i, left) || len(j.Runs) == 1 {
			runs = append(runs, lawRuns(o, family)...)
		}
	}
	return runs
}

// jackknifed are the exponent's pseudo-values, one per warm start.
func jackknifed(j *claim.Judge, family string) []float64 {
	var left []float64
	for i := range j.Runs {
		first := true
		for k := range i {
			first = first && !sharesWarmStart(j, i, k)
		}
		if first {
			left = append(left, fitted(without(j, i, family)).exponent())
		}
	}
	n := float64(len(left))
	all := fitted(without(j, -1, family)).exponent()
	return stats.Each(left, func(alpha float64) float64 { return float64(n*all) - float64((n-1)*alpha) })
}

func judgeLaw(j *claim.Judge) {
	right, stable, lowest := make([]float64, len(j.Runs)), make([]float64, len(j.Runs)), 0.0
	for i, o := range j.Runs {
		l, runs := fitted(without(j, i, "")), lawRuns(o, "")
		for _, r := range runs {
			if l.stable(r) == r.stable {
				right[i] += 1 / float64(len(runs))
			}
			if r.stable {
				stable[i] += 1 / float64(len(runs))
			}
			lowest = min(lowest, r.ess)
		}
	}
	j.Primary(claim.Above(claim.Natural, "share of unseen runs that the law labels right", j.Means(right), 0.9))
	j.Secondary(claim.Report(claim.Natural, "share of runs that are stable, which a constant answer labels right", j.Means(stable)))
	var exponents [][]float64
	for _, f := range lawFamilies {
		exponents = append(exponents, jackknifed(j, f.name))
		j.Secondary(claim.Report(claim.Natural, "exponent alpha, "+f.name+", jackknife", exponents[len(exponents)-1]))
	}
	j.Secondary(claim.Report(claim.Natural, "difference of the two exponents", stats.Differences(exponents[0], exponents[1])))
	j.Note("The effective samples range over a factor of %.1f, the lags over 64: a narrow range leaves the exponent loose.", elementary.Exp(-lowest))
	lawPicture(j)
}

// lawPicture shows how often and with how many effective samples runs stay stable.
func lawPicture(j *claim.Judge) {
	var rows []string
	for _, f := range lawFamilies {
		for _, lag := range lawLags {
			rows = append(rows, lawName(f.name, lag))
		}
	}
	var groups []claim.Group
	t := &figure.Figure{Kind: figure.Table, Title: "Stable runs and effective samples", Columns: []figure.Column{{Name: "runs"}}, Note: "Share of the replications whose run stays stable; ESS is the geometric mean over them."}
	for _, rate := range lawRates {
		groups = append(groups, claim.Group{Name: "lr " + rate, Values: func(k int) []float64 {
			return j.Late([]string{rate}, rows[k])
		}})
		t.Columns = append(t.Columns, figure.Column{Name: "stable, lr " + rate, Align: figure.Right}, figure.Column{Name: "ESS, lr " + rate, Align: figure.Right})
	}
	for k, name := range rows {
		cells := []figure.Cell{figure.Word(name)}
		for i := range lawRates {
			share, ess := 0.0, 0.0
			for _, o := range j.Runs {
				r := lawRuns(o, "")[k*len(lawRates)+i]
				if r.stable {
					share += 1 / float64(len(j.Runs))
				}
				ess += r.ess / float64(len(j.Runs))
			}
			cells = append(cells, figure.Number(share, 2), figure.Number(elementary.Exp(ess), 3))
		}
		t.Add(cells...)
	}
	j.Evidence.Picture = j.Bars("Pass rate under OAPL by lag", "pass rate", false, rows, groups...)
	j.Evidence.Table = t
}
