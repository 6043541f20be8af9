package length

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

// bleedArms are the training prompts of easy-bleed: with how many candidates their
// root is found.
var bleedArms = []struct{ name, difficulty string }{
	{"easy only", "[1, 3]"}, {"easy and hard", "[1, 10]"}, {"hard only", "[6, 10]"},
}

func easyBleed() claim.Claim {
	return claim.Claim{
		ID:        "easy-bleed",
		Title:     "On the search task, answers to easy prompts grow by a tenth when hard prompts are trained together with them (learning rate 5e-4)",
		Statement: "After training on easy and hard prompts, answers to easy ones are at least 1.1 times as long as after training on easy ones alone.",
		Source:    "A practitioner's account of length dynamics.",
		Figure:    "easy prompts 95.1 % to 97.0 % solved, 530 to 661 tokens: a quarter more",
		Threshold: "Mean length of answers to fresh easy prompts, trained on both over easy only, geometric mean: t-interval of the log-ratio above 1.1. " +
			"Reported: the same of training on hard prompts alone, above 1; the difference in the pass rate of easy prompts, inside half of what training on them gains.",
		Setup: "GRPO on the search task, 160 steps, roots within 1 to 3 candidates (easy), 1 to 10, or 6 to 10 (hard); 1,024 answers to fresh easy prompts. " +
			"The prompt does not say how far the root is. An answer can only be longer than it needs to be by trying on, or by checking again what was found, which a quarter of the demonstrations do.",
		LeftOut: "A tag in the prompt that tells easy from hard, under which the growth should stay where it belongs.",
		Commands: []string{"simulate train headline --set checkpoint=search-base --set 'task={name: search, difficulty: [1, 10], operations: 2}' --set rollout.max_tokens=96 --set steps=160",
			"simulate evaluate runs/first --set task.difficulty=[1,3] --samples 16"},
		Declared: claim.BeforeResults,
		Unit:     claim.Run,
		Version:  1,
		Measure:  measureBleed,
		Judge:    judgeBleed,
	}
}

func measureBleed(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	start, err := searchStart(ctx, e)
	if err != nil {
		return nil, err
	}
	add := func(lists *[3][]float64, m searched, tokens float64) {
		lists[0], lists[1], lists[2] = append(lists[0], m.length), append(lists[1], m.rate), append(lists[2], tokens)
	}
	var lists [3][]float64
	add(&lists, meanOf(searchResponses(e, start, 1, 3)), 0)
	for _, arm := range bleedArms {
		lengths, after, err := searchRun(ctx, e, e.Pick(160, 20, 2), "task.difficulty="+arm.difficulty)
		if err != nil {
			return nil, err
		}
		add(&lists, meanOf(searchResponses(e, after, 1, 3)), 64*stats.Average(lengths)*float64(len(lengths)))
	}
	o.Set("length", lists[0]...)
	o.Set("pass rate", lists[1]...)
	o.Set("tokens trained", lists[2]...)
	return o, nil
}

func judgeBleed(j *claim.Judge) {
	alone, both, hard := j.Entry("length", 1), j.Entry("length", 2), j.Entry("length", 3)
	j.Primary(claim.Ratio(claim.Natural, "length of easy answers, both over easy only", both, alone, 1.1))
	j.Secondary(claim.Ratio(claim.Natural, "length of easy answers, hard only over easy only", hard, alone, 1))
	j.Secondary(claim.Same(claim.Natural, "pass rate of easy prompts, both minus easy only", stats.Differences(j.Entry("pass rate", 2), j.Entry("pass rate", 1)),
		stats.Differences(j.Entry("pass rate", 1), j.Entry("pass rate", 0))))
	names := []string{"before"}
	for _, arm := range bleedArms {
		names = append(names, arm.name)
	}
	j.Evidence.Picture = j.Bars("Length of answers to easy prompts, by what was trained", "tokens", false, names, j.Listed("tokens", "length"))
	j.Evidence.Table = j.NamedTable("Fresh easy prompts", "trained on", names, "length", "pass rate", "tokens trained")
}
