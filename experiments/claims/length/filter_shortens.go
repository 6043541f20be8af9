package length

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

// filterArms are the runs of filter-shortens.
var filterArms = []struct {
	name   string
	filter searcherFilter
}{{"no filter", noFilter}, {"product band", productFilter}, {"as many at random", randomFilter}}

func filterShortens() claim.Claim {
	return claim.Claim{
		ID:        "filter-shortens",
		Title:     "A band on the product of ratios trains a simulated searcher to shorter responses than a random filter",
		Statement: "With responses dropped whose product of token ratios leaves [0.5, 2], a searcher ends at a shorter length than with as many dropped at random.",
		Source:    "kalomaze on filters by length; SkyRL's sequence masks.",
		Figure:    "the filter biases training toward short answers, whatever their quality",
		Threshold: "Length at the end, product band over as many at random: interval below 1. Also checked: pass rate, product band minus as many at random; the random filter over no filter, reported.",
		Setup: searcherSetup + "A token's log-ratio is normal with standard deviation 0.1, and independent: the band drops 7 % of responses of 15 tokens and 37 % of 60. The start gives up with probability 0.12 and stops checking with 0.73. The last twelfth of the updates is judged. " +
			"Nothing was examined before; in pilot runs of a transformer on the search task, 50 updates, no effect was seen (32.3, 31.8 and 31.4 tokens).",
		LeftOut:  "Models.",
		Commands: []string{"simulate reproduce length-trap"},
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure: func(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
			o := new(claim.Observation)
			for k, a := range filterArms {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				run := searcherTraining(e, startOf(searcherStarts[1].giveUp, searcherStarts[1].stop), 1, 10)
				run.filter = a.filter
				_, steps, err := run.train(e.Rand(uint64(10 + k)))
				if err != nil {
					return nil, err
				}
				var length, pass []float64
				for _, s := range steps {
					length, pass = append(length, s.length), append(pass, s.pass)
				}
				last := len(steps) - max(len(steps)/12, 1)
				o.Set(a.name, stats.Average(length[last:]), stats.Average(pass[last:]))
			}
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			j.Primary(claim.RatioBelow(claim.Natural, "length at the end, product band over as many at random", j.Entry("product band", 0), j.Entry("as many at random", 0), 1))
			j.Secondary(claim.Below(claim.Natural, "pass rate at the end, product band minus as many at random", stats.Differences(j.Entry("product band", 1), j.Entry("as many at random", 1)), 0))
			j.Secondary(claim.ReportRatio(claim.Natural, "length at the end, as many at random over no filter", j.Entry("as many at random", 0), j.Entry("no filter", 0)))
			names := []string{"no filter", "product band", "as many at random"}
			j.Evidence.Picture = j.Bars("Length at the end", "tokens", false, names, claim.Group{Name: "simulated searchers", Values: func(k int) []float64 { return j.Entry(names[k], 0) }})
		},
	}
}
