package length

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

// searcherStarts are first policies: how long they try, and how long they check.
var searcherStarts = []struct {
	name         string
	giveUp, stop float64
}{{"hasty", -0.5, 1}, {"patient", -2, 1}, {"verbose", -2, -1.5}}

// startOf is the policy of a start.
func startOf(giveUp, stop float64) (s searcher) {
	for i := range s.giveUp {
		s.giveUp[i] = giveUp
	}
	for i := range s.stop {
		s.stop[i] = stop
	}
	return s
}

// searcherTraining is the run of these claims, with the prompts from easiest to hardest.
func searcherTraining(e *claim.Env, first searcher, easiest, hardest int) searcherRun {
	return searcherRun{first: first, easiest: easiest, hardest: hardest, updates: e.Pick(240, 120, 12), rate: 1, groups: 16, responses: 8}
}

const searcherSetup = "A simulated searcher: a table of probabilities to give up, by candidates tried, and to stop checking, by checks done, in the place of a model. A candidate costs six tokens, a check too; a wrong candidate looks right with probability 0.15, a check finds that with 0.8, " +
	"who gives up guesses right with 0.1. GRPO with the program's rewards, 16 prompts with 8 responses, 240 updates along the gradient at rate 1. Prompts have their root at candidate 1 to 10. "

func searchLengthsClaim() claim.Claim {
	return claim.Claim{
		ID:        "search-lengths",
		Title:     "Simulated searchers that start at unlike lengths end at the same length",
		Statement: "The lengths at which a hasty, a patient and a verbose searcher end under outcome rewards differ by less than half of what their first lengths differ by.",
		Source:    "A practitioner's account of the length of responses in reinforcement learning.",
		Figure:    "all models end at the same length; the length is U-shaped over training; reward by length is an inverted U, on hard prompts it rises with length, on easy ones it flattens; asymmetric risk is the mechanism, and growth is added verification",
		Threshold: "Range of the last lengths of three starts over the range of the first: interval below 0.5. Also checked: lowest of twelve parts of the verbose start's course in between, length over that of the first and of the last, below 1 and 1; " +
			"pass rate of the middle third of responses by length minus shortest and longest; on hard prompts longest minus shortest third; on easy ones the same difference after training minus before; length at the end with a risk of 0.1 per candidate over no risk; share of checks in the growth of the patient start.",
		Setup:    searcherSetup + "Hard prompts have it at 7 to 10, easy ones at 1 to 3. Probabilities at first: to give up 0.38 (hasty) or 0.12, to stop checking 0.73 or 0.18 (verbose). Risk: each candidate spoils the answer. Nothing was examined before.",
		LeftOut:  "Models: search-base has these decisions in its text, with prompts that it can read.",
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure:  measureSearchLengths,
		Judge:    judgeSearchLengths,
	}
}

func measureSearchLengths(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	n := e.Pick(6000, 2000, 300)
	ends := func(x []searcherStep, of func(searcherStep) float64) (first, last float64) {
		part := max(len(x)/12, 1)
		for i := range part {
			first += of(x[i]) / float64(part)
			last += of(x[len(x)-1-i]) / float64(part)
		}
		return first, last
	}
	length := func(s searcherStep) float64 { return s.length }
	var firsts, lasts []float64
	for k, start := range searcherStarts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		run, rng := searcherTraining(e, startOf(start.giveUp, start.stop), 1, 10), e.Rand(uint64(10+k))
		last, steps, err := run.train(rng)
		if err != nil {
			return nil, err
		}
		a, b := ends(steps, length)
		firsts, lasts = append(firsts, a), append(lasts, b)
		var course []float64
		for _, s := range steps {
			course = append(course, s.length)
		}
		o.Set(start.name+", length", claim.Blocks(course, max(len(course)/12, 1))...)
		if start.name != "patient" {
			continue
		}
		c0, c1 := ends(steps, func(s searcherStep) float64 { return candidateTokens * s.checks })
		o.Set("growth", b-a, c1-c0)
		for _, of := range []struct {
			name             string
			easiest, hardest int
		}{{"all", 1, 10}, {"hard", 7, 10}, {"easy", 1, 3}} {
			fresh := run
			fresh.easiest, fresh.hardest = of.easiest, of.hardest
			before, after := fresh.byLength(rng, run.first, n), fresh.byLength(rng, last, n)
			o.Set(of.name+", pass rate by length before", before[:]...)
			o.Set(of.name+", pass rate by length after", after[:]...)
		}
		risky := searcherTraining(e, run.first, 1, 10)
		risky.risk = 0.1
		_, steps, err = risky.train(e.Rand(20))
		if err != nil {
			return nil, err
		}
		_, r := ends(steps, length)
		o.Set("length at the end, without and with risk", b, r)
	}
	o.Set("first lengths", firsts...)
	o.Set("last lengths", lasts...)
	return o, nil
}

func judgeSearchLengths(j *claim.Judge) {
	spread := func(name string) []float64 {
		return j.Each(func(o *claim.Observation) float64 {
			x := o.List(name)
			return stats.Max(x) + stats.Max([]float64{-x[0], -x[1], -x[2]})
		})
	}
	j.Primary(claim.RatioBelow(claim.Natural, "range of the last lengths over that of the first", spread("last lengths"), spread("first lengths"), 0.5))
	for k, end := range []string{"first", "last"} {
		j.Secondary(claim.Below(claim.Natural, "lowest length on the way over that of the "+end+" part, verbose start, minus 1", j.Each(func(o *claim.Observation) float64 {
			x := o.List("verbose, length")
			low := x[0]
			for _, v := range x {
				low = min(low, v)
			}
			return low/x[k*(len(x)-1)] - 1
		}), -0.05))
	}
	third := func(name string, a, b int) []float64 {
		return j.Each(func(o *claim.Observation) float64 { x := o.List(name); return x[a] - x[b] })
	}
	j.Secondary(claim.Above(claim.Natural, "pass rate after training, middle minus shortest third by length", third("all, pass rate by length after", 1, 0), 0))
	j.Secondary(claim.Above(claim.Natural, "pass rate after training, middle minus longest third by length", third("all, pass rate by length after", 1, 2), 0))
	j.Secondary(claim.Above(claim.Natural, "pass rate on hard prompts before training, longest minus shortest third", third("hard, pass rate by length before", 2, 0), 0))
	j.Secondary(claim.Below(claim.Natural, "pass rate on easy prompts, middle minus shortest third, after minus before", stats.Differences(third("easy, pass rate by length after", 1, 0), third("easy, pass rate by length before", 1, 0)), 0))
	j.Secondary(claim.RatioBelow(claim.Natural, "length at the end, risk of 0.1 per candidate over no risk", j.Entry("length at the end, without and with risk", 1), j.Entry("length at the end, without and with risk", 0), 1))
	j.Secondary(claim.Above(claim.Natural, "share of checks in the growth of the patient start", j.Each(func(o *claim.Observation) float64 { x := o.List("growth"); return x[1] / x[0] }), 0.5))
	var names []string
	for _, s := range searcherStarts {
		names = append(names, s.name)
	}
	j.Evidence.Picture = j.Bars("Lengths of three starts", "tokens", false, names,
		claim.Group{Name: "first updates", Values: func(k int) []float64 { return j.Entry("first lengths", k) }},
		claim.Group{Name: "last updates", Values: func(k int) []float64 { return j.Entry("last lengths", k) }})
}
