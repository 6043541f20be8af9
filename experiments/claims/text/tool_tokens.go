package text

import (
	"context"
	"fmt"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/results/figure"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

// toolArms are who wrote the blocks: the tool, in its rare symbols; the tool, in
// symbols that the warm start knows; the policy itself.
var toolArms = []string{"rare replies", "familiar replies", "own notes"}

// toolLevels are the pairs of engines.
var toolLevels = []struct {
	name, rollout, learner string
	level                  claim.Level
	judged                 bool
}{
	{"bf16", "bf16", "fp32", claim.Natural, true},
	{"fp8", "fp8-w8a8", "bf16", claim.Natural, false},
	{"fp4", "fp4-w4a16", "bf16", claim.Amplified, true},
}

func toolTokens() claim.Claim {
	return claim.Claim{
		ID:        "tool-tokens",
		Title:     "The gap is larger behind tool output in symbols never seen in training",
		Statement: "Tokens following injected tool output, in symbols that the warm start never saw, show a gap (mean |dlogp|) more than 1.2 times as large as tokens in the same places behind the policy's own notes.",
		Source:    "When Speed Kills Stability (tool-integrated runs).",
		Figure:    "four failed tool runs of a 14B model, KL about 1e-3; the gap grows with the turn",
		Threshold: "Mean |dlogp| behind tool output over that behind notes of the policy's own, of the same length in the same places: interval above 1.2.",
		Setup: "lookup-base, its warm start without the rare symbols, on programs of four steps. The tool knows every operand, and replies with six of those symbols and the operand; or nothing is hidden and the policy writes notes of six familiar symbols and the operand. " +
			"Compared are the two tokens behind each block, where a value and a marker are due, whatever the policy writes there; the second turn counts where all three arms have a block in its place. Natural: bf16 scored in fp32; fp8 scored in bf16 is reported. Amplified: fp4 weights scored in bf16. Matching: ten bins of the rollout probability, each with equal weight. " +
			"Also examined: the same matched on the token's probability; mean |dlogp| of the second turn less that of the first, above 0; equal engines, and what comes before the first output, exactly 0. " +
			"Reported: replies in familiar symbols; routes replayed; and episodes of 68 tokens in which an external function interrupts every eighth token, against the policy going on, both past the stop token. " +
			"Those were the first setting; a preview showed that the policy's own text past the stop token has a far larger gap than its text on the task, which makes it no control, and the notes took its place. " +
			"Until version 2 the model was the shipped one, which had seen the symbols in 5 % of its demonstrations, and episodes counted only when whole in every arm: " +
			"with symbols never seen, a preview left 14 of 512, chosen by what was to be measured, and one model of three none with four turns.",
		LeftOut:  "What such tokens do to a training run. Turns after the second.",
		Commands: []string{"simulate measure lookup --rollout bf16 --learner fp32", "simulate train lookup"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.NotReproduced,
			Check: "all 8 checks in five seeds; decisive: amplified, fp4: |dlogp|, behind a reply over behind a note: ≥ 1.2, interval above 1, not met"},
		Unit:    claim.Model,
		Version: 4,
		Measure: measureToolTokens,
		Judge:   judgeToolTokens,
	}
}

func measureToolTokens(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	p, _, err := lookupBase(ctx, e)
	if err != nil {
		return nil, err
	}
	for _, d := range toolLevels {
		arms := worked(e, p, claim.Numerics(d.rollout), e.Pick(512, 160, 24))
		for _, b := range arms {
			measure.Score(b.Batch, p, measure.Scoring{Numerics: claim.Numerics(d.learner)})
		}
		recordWorked(o, d.name, arms)
		recordInterrupted(e, o, d.name, p, d.rollout, d.learner)
		if d.name == "bf16" {
			var last float64
			for _, blocks := range arms[0].blocks {
				if blocks == toolTurns {
					last++
				}
			}
			o.Set("episodes", float64(arms[0].Len()), last)
			o.Set("difference before the first reply", beforeTheFirst(arms[0].Batch, arms[1].Batch))
			for _, b := range arms {
				measure.Score(b.Batch, p, measure.Scoring{Numerics: claim.Numerics(d.learner), Replay: true})
			}
			recordBehind(o, d.name+", replayed", arms[0], arms[2])
		}
	}
	equal := worked(e, p, claim.Numerics("bf16"), 16)
	measure.Score(equal[0].Batch, p, measure.Scoring{Numerics: claim.Numerics("bf16")})
	o.Set("control", stats.Max(append([]float64{0}, stats.Magnitudes(claim.LogRatios(equal[0].Batch))...)))
	return o, nil
}

// recordWorked records the three arms of a pair of engines: mean |dlogp| behind
// a block, by turn and by distance.
func recordWorked(o *claim.Observation, name string, arms []workings) {
	for k, b := range arms {
		turn, distance := places(b)
		byTurn, _ := grouped(toolTurns+1, part{b.Batch, turn})
		o.Set(name+" by turn, "+toolArms[k], byTurn...)
		// Turn 0 is one marker, which no probability of the others matches.
		later := make([]int, len(turn))
		for n, t := range turn {
			later[n] = max(t, 0) - 1
		}
		_, matched := grouped(toolTurns, part{b.Batch, later})
		o.Set(name+" by turn, matched, "+toolArms[k], matched...)
		logp, entropy, count := 0.0, 0.0, 0.0
		for n, t := range turn {
			distance[n]--
			if t < 1 {
				distance[n] = -1
				continue
			}
			logp, entropy, count = logp+b.LogpRoll[n], entropy+b.Old.Entropy[n], count+1
		}
		near, _ := grouped(2, part{b.Batch, distance})
		o.Set(name+" by distance, "+toolArms[k], near...)
		o.Set(name+" log p and entropy, "+toolArms[k], logp/count, entropy/count)
	}
	recordBehind(o, name+", rare", arms[0], arms[2])
	recordBehind(o, name+", familiar", arms[1], arms[2])
}

// recordBehind records mean |dlogp| behind a block in two arms.
func recordBehind(o *claim.Observation, name string, a, b workings) {
	turnA, _ := places(a)
	turnB, _ := places(b)
	plain, matched := grouped(2, behind(a.Batch, turnA, 0), behind(b.Batch, turnB, 1))
	o.Set(name, plain...)
	o.Set(name+", matched", matched...)
}

// beforeTheFirst is the largest difference between the gaps of two arms before
// the first block.
func beforeTheFirst(a, b *batch.Batch) float64 {
	largest := 0.0
	x, y := claim.LogRatios(a), claim.LogRatios(b)
	for i := range a.Len() {
		inA, _ := a.Span(i)
		inB, _ := b.Span(i)
		for t := range 2 {
			largest = max(largest, math.Abs(x[inA+t]-y[inB+t]))
		}
	}
	return largest
}

// recordInterrupted records episodes on and past the stop token.
func recordInterrupted(e *claim.Env, o *claim.Observation, name string, p *model.Params, rollout, scorer string) {
	arms := interrupted(e, p, claim.Numerics(rollout), e.Pick(128, 64, 6))
	for _, b := range arms {
		measure.Score(b, p, measure.Scoring{Numerics: claim.Numerics(scorer)})
	}
	turn := interruptedTurns(arms[0])
	plain, matched := grouped(2, behind(arms[0], turn, 0), behind(arms[1], turn, 1))
	o.Set(name+", interrupted", plain...)
	o.Set(name+", interrupted, matched", matched...)
	byTurn, _ := grouped(toolSteps+1, part{arms[0], turn})
	o.Set(name+", interrupted, by turn", byTurn...)
}

func judgeToolTokens(j *claim.Judge) {
	turns := claim.Counting(toolTurns)
	slope := func(figure string, from int) []float64 {
		return j.Each(func(o *claim.Observation) float64 { return stats.Slope(turns, o.List(figure)[from:][:toolTurns]) })
	}
	ratio := func(d claim.Level, words, figure string) {
		j.Secondary(claim.ReportRatio(d, words, j.Entry(figure, 0), j.Entry(figure, 1)))
	}
	for _, d := range toolLevels {
		tool, own := d.name+" by turn, "+toolArms[0], d.name+" by turn, "+toolArms[2]
		what, rare, trend := d.name+": |dlogp|, behind a reply over behind a note", d.name+", rare", d.name+": |dlogp|, second turn less first"
		if d.judged {
			j.Primary(claim.Ratio(d.level, what, j.Entry(rare, 0), j.Entry(rare, 1), 1.2))
			j.Secondary(claim.Ratio(d.level, what+", matched", j.Entry(rare+", matched", 0), j.Entry(rare+", matched", 1), 1.2))
			j.Secondary(claim.Above(d.level, trend, slope(tool, 1), 0))
		} else {
			ratio(d.level, what, rare)
			ratio(d.level, what+", matched", rare+", matched")
			j.Secondary(claim.Report(d.level, trend, slope(tool, 1)))
		}
		j.Secondary(claim.Report(d.level, d.name+": second turn less first, matched", slope(d.name+" by turn, matched, "+toolArms[0], 0)))
		j.Secondary(claim.Report(d.level, d.name+": second turn less first, replies minus notes", stats.Differences(slope(tool, 1), slope(own, 1))))
		for _, kind := range []string{"", ", matched"} {
			ratio(d.level, d.name+": |dlogp|, familiar reply over note"+kind, d.name+", familiar"+kind)
			ratio(d.level, d.name+": |dlogp|, interrupted over going on, past the stop token"+kind, d.name+", interrupted"+kind)
		}
	}
	for _, kind := range []string{"", ", matched"} {
		ratio(claim.Natural, "bf16, routes replayed: |dlogp|, behind a reply over behind a note"+kind, "bf16, replayed"+kind)
	}
	j.Secondary(claim.Zero(claim.Exact, "difference of the gaps before the first reply, rare and familiar", j.Column("difference before the first reply")))
	j.Secondary(claim.Zero(claim.Exact, "largest gap between equal engines", j.Column("control")))
	var groups []claim.Group
	for _, arm := range toolArms {
		groups = append(groups, claim.Group{Name: arm, Values: func(k int) []float64 {
			d := toolLevels[k/toolTurns].name
			return j.Entry(d+" by turn, "+arm, 1+k%toolTurns)
		}})
	}
	var categories []string
	for _, d := range toolLevels {
		for t := 1; t <= toolTurns; t++ {
			categories = append(categories, fmt.Sprintf("%s, turn %d", d.name, t))
		}
	}
	j.Evidence.Picture = j.Bars("Mean |dlogp| behind a block, by turn and by who wrote it", "nats", true, categories, groups...)
	j.Evidence.Table = toolTable(j)
	mean := func(arm string, k int) float64 { return stats.Average(j.Entry("bf16 log p and entropy, "+arm, k)) }
	geo := func(figure string) float64 {
		return stats.TRatio(j.Entry(figure, 0), j.Entry(figure, 1)).Estimate
	}
	j.Note("Matching on the token's probability takes the ratio from %.2f to %.2f in bf16, from %.2f to %.2f in fp8 and from %.2f to %.2f in fp4.",
		geo("bf16, rare"), geo("bf16, rare, matched"), geo("fp8, rare"), geo("fp8, rare, matched"), geo("fp4, rare"), geo("fp4, rare, matched"))
	j.Note("Past the stop token the policy's own text has %.0f times the gap of what it writes behind its notes (bf16).",
		stats.TRatio(j.Entry("bf16, interrupted", 1), j.Entry("bf16, rare", 1)).Estimate)
	j.Note("Of %.0f episodes per arm and model, %.0f of them with a block in both turns. Behind a reply the tokens have a mean log-prob of %.3f and an entropy of %.3f nats, behind a note %.3f and %.3f (bf16).",
		stats.Average(j.Entry("episodes", 0)), stats.Average(j.Entry("episodes", 1)), mean(toolArms[0], 0), mean(toolArms[0], 1), mean(toolArms[2], 0), mean(toolArms[2], 1))
}

// toolTable lists mean |dlogp| by distance from the block, and by turn.
func toolTable(j *claim.Judge) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "Mean |dlogp| behind a block", Columns: []figure.Column{{Name: "tokens"}}, Note: "Nats, means over models. The value stands right behind the block, the marker or the answer mark behind the value."}
	for _, d := range toolLevels {
		for _, arm := range toolArms {
			t.Columns = append(t.Columns, figure.Column{Name: d.name + ", " + arm, Align: figure.Right})
		}
	}
	row := func(name, observed string, k int) {
		cells := []figure.Cell{figure.Word(name)}
		for _, d := range toolLevels {
			for _, arm := range toolArms {
				cells = append(cells, figure.Number(j.Mean(d.name + observed + arm)[k], 3))
			}
		}
		t.Add(cells...)
	}
	row("distance 1, the value", " by distance, ", 0)
	row("distance 2", " by distance, ", 1)
	for k := range toolTurns {
		name := fmt.Sprintf("turn %d", k+1)
		row(name, " by turn, ", k+1)
		row(name+", matched", " by turn, matched, ", k)
	}
	return t
}
