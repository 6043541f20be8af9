package text

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

// toolUpdates is how many updates lie between the policy that sampled and the one that is compared.
const toolUpdates = 8

// toolClip is the half-width of PPO's clip.
const toolClip = 0.2

func toolUpdate() claim.Claim {
	return claim.Claim{
		ID:        "tool-update",
		Title:     "After eight updates, ratios behind tool output are larger than behind the policy's own notes",
		Statement: "After eight updates on episodes with tool calls, tokens behind tool output in symbols that the warm start never saw have a log-ratio of new to sampling policy (mean magnitude) more than 1.2 times as large as tokens in the same places behind the policy's own notes.",
		Source:    "A practitioner's account of off-policy training.",
		Figure:    "tokens behind a tool reply have larger ratios after an update and are clipped more",
		Threshold: "Mean |log-ratio| behind tool output over that behind notes of the policy's own, of the same length in the same places: interval above 1.2.",
		Setup: "lookup-base, its warm start without the rare symbols. Training: GRPO on the lookup task with 2 to 4 hidden operands and replies of six symbols, fp32 engines, 8 updates of 16 prompts with 8 responses, learning rate 1e-3. " +
			"Episodes are those of tool-tokens, sampled by the warm start in fp32 and scored in fp32 by the trained weights: what is compared is a change of weights alone. " +
			"Also checked: the same matched on the token's probability in ten bins; the share of tokens whose ratio is outside 0.8 to 1.2, behind output minus behind notes, above 0; the warm start against itself, exactly 0. No pilot runs.",
		LeftOut: "Other numbers of updates and learning rates. Turns after the second. The updates are on episodes with replies in the rare symbols and without notes, so the ratios are also larger because those contexts are trained; " +
			"replies in familiar symbols, which are trained no more than notes, are reported.",
		Commands: []string{"simulate train tool-turns --set steps=8 --dump tokens.jsonl"},
		Declared: claim.Declaration{When: claim.Before},
		Unit:     claim.Model,
		Version:  1,
		Measure:  measureToolUpdate,
		Judge:    judgeToolUpdate,
	}
}

func measureToolUpdate(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	p, dir, err := lookupBase(ctx, e)
	if err != nil {
		return nil, err
	}
	_, trained, err := e.Trained(ctx, nil, e.Pick(toolUpdates, toolUpdates, 1), "checkpoint="+dir, "learner.optimizer.lr=1e-3", "rollout.prompts=16",
		"task={name: lookup, difficulty: [4, 6], calls: [2, 4], output: 6}", "rollout.max_tokens=80")
	if err != nil {
		return nil, err
	}
	fp32 := claim.Numerics("fp32")
	arms := worked(e, p, fp32, e.Pick(512, 160, 24))
	measure.Score(arms[0].Batch, p, measure.Scoring{Numerics: fp32})
	o.Set("control", stats.Max(append([]float64{0}, stats.Magnitudes(claim.LogRatios(arms[0].Batch))...)))
	for _, b := range arms {
		measure.Score(b.Batch, trained, measure.Scoring{Numerics: fp32})
	}
	recordBehind(o, "rare", arms[0], arms[2])
	recordBehind(o, "familiar", arms[1], arms[2])
	for k, b := range arms {
		o.Set("clipped, "+toolArms[k], clippedBehind(b))
	}
	return o, nil
}

// clippedBehind is the share of the tokens behind a block whose ratio is outside the clip.
func clippedBehind(w workings) float64 {
	turn, _ := places(w)
	var outside, all float64
	for n, d := range claim.LogRatios(w.Batch) {
		if turn[n] < 1 {
			continue
		}
		all++
		if math.Abs(elementary.Exp(d)-1) > toolClip {
			outside++
		}
	}
	return outside / max(all, 1)
}

func judgeToolUpdate(j *claim.Judge) {
	j.Primary(claim.Ratio(claim.Natural, "|log-ratio|, behind a reply over behind a note", j.Entry("rare", 0), j.Entry("rare", 1), 1.2))
	j.Secondary(claim.Ratio(claim.Natural, "|log-ratio|, behind a reply over behind a note, matched", j.Entry("rare, matched", 0), j.Entry("rare, matched", 1), 1.2))
	j.Secondary(claim.Above(claim.Natural, "share outside the clip, behind a reply minus behind a note",
		stats.Differences(j.Column("clipped, "+toolArms[0]), j.Column("clipped, "+toolArms[2])), 0))
	j.Secondary(claim.ReportRatio(claim.Natural, "|log-ratio|, familiar reply over note", j.Entry("familiar", 0), j.Entry("familiar", 1)))
	j.Secondary(claim.Zero(claim.Exact, "largest log-ratio of the warm start to itself", j.Column("control")))
	var groups []claim.Group
	for k, name := range []string{"behind the block", "own notes"} {
		groups = append(groups, claim.Group{Name: name, Values: func(i int) []float64 { return j.Entry([]string{"rare", "familiar"}[i], k) }})
	}
	j.Evidence.Picture = j.Bars("Mean |log-ratio| after eight updates", "nats", true, []string{"rare replies", "familiar replies"}, groups...)
}
