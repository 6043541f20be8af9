package experiments

import (
	"context"
	"math"

	"driftlab/engine/learner"
	"driftlab/experiments/stats"
	"driftlab/model"
	"driftlab/trainer/batch"
	"driftlab/trainer/task"
)

// toolArms are who writes between the turns: the tool, its rare symbols; the
// tool, with symbols that the warm start knows; the policy itself.
var toolArms = []string{"tool", "familiar", "self"}

// toolDoses are the pairs of engines.
var toolDoses = []struct {
	name, rollout, learner string
	dose                   Dose
	judged                 bool
}{
	{"bf16", "bf16", "fp32", Natural, true},
	{"fp8", "fp8-w8a8", "bf16", Natural, false},
	{"fp4", "fp4-w4a16", "bf16", Stronger, true},
}

func toolTokens() Claim {
	return Claim{
		ID:        "tool-tokens",
		Title:     "The gap is larger behind what a tool wrote",
		Statement: "Tokens following injected tool output show a larger gap than ordinary tokens, and later turns are worse.",
		Source:    "When Speed Kills Stability (tool-integrated runs).",
		Figure:    "four failed tool runs of a 14B model, KL about 1e-3; the gap grows with the turn",
		Threshold: "Mean |dlogp| behind tool output over that behind the policy's own text of the same length at the same positions above 1.2, interval above 1, also matched on the token's probability; " +
			"slope of mean |dlogp| on the turn above 0 in every seed. Equal engines, and the turn before the first output: exactly 0.",
		Setup: "lookup-base on prompts that hide nothing, episodes of 68 tokens, past the stop token: five turns of 8 and, between them, 7 tokens of an external function (6 symbols that 5 % of the warm start's demonstrations had, " +
			"and a random digit) or of the policy. Natural: bf16 scored in fp32; fp8 scored in bf16 is reported. Amplified: fp4 weights scored in bf16. Matching: ten bins of the rollout probability, each with equal weight. " +
			"Reported: the same function with familiar symbols; routes replayed; and episodes of the task in which the policy calls for four of six operands, against the same working with nothing hidden.",
		LeftOut:  "What such tokens do to a training run.",
		Commands: []string{"simulate measure lookup --rollout bf16 --learner fp32", "simulate train lookup"},
		Version:  1,
		Measure:  measureToolTokens,
		Judge:    judgeToolTokens,
	}
}

func measureToolTokens(_ context.Context, e *Env) (*Observation, error) {
	o := new(Observation)
	p, err := lookupBase()
	if err != nil {
		return nil, err
	}
	l := task.NewLookup()
	symbols := [][]int32{l.Symbols(true), l.Symbols(false), nil}
	for _, d := range toolDoses {
		var arms []*batch.Batch
		for _, s := range symbols {
			arms = append(arms, e.interrupted(p, numerics(d.rollout), e.Pick(512, 96, 6), s))
		}
		scoredIn(p, numerics(d.learner), learner.ReplayNone, arms...)
		recordEpisodes(o, d.name, arms)
		e.recordOnTask(o, d.name, p, d.rollout, d.learner)
		if d.judged && d.dose == Natural {
			o.Set("difference in turn 0", beforeTheFirst(arms[0], arms[2]))
			scoredIn(p, numerics(d.learner), learner.ReplayRollout, arms[0], arms[2])
			plain, matched := behind(arms[0], arms[2])
			o.Set(d.name+" replayed", plain...)
			o.Set(d.name+" replayed, matched", matched...)
		}
	}
	b := e.interrupted(p, numerics("bf16"), 8, symbols[0])
	scoredIn(p, numerics("bf16"), learner.ReplayNone, b)
	o.Set("control", maximum(magnitudes(ratios(b))))
	return o, nil
}

// recordEpisodes records the three arms of a pair of engines: mean |dlogp|
// behind a block, by turn and by distance from the block.
func recordEpisodes(o *Observation, name string, arms []*batch.Batch) {
	for k, b := range arms {
		turn, distance := slots(b)
		byTurn, matched := grouped(toolCalls+1, part{b, turn})
		o.Set(name+" by turn, "+toolArms[k], byTurn...)
		o.Set(name+" by turn, matched, "+toolArms[k], matched...)
		for n, t := range turn {
			distance[n]--
			if t < 1 {
				distance[n] = -1
			}
		}
		near, _ := grouped(turnTokens, part{b, distance})
		o.Set(name+" by distance, "+toolArms[k], near...)
		logp, entropy, count := 0.0, 0.0, 0.0
		for n, t := range turn {
			if t >= 1 {
				logp, entropy, count = logp+b.LogpRoll[n], entropy+b.Entropy[n], count+1
			}
		}
		o.Set(name+" mean log p, entropy, "+toolArms[k], logp/count, entropy/count)
	}
	for k, b := range arms[:2] {
		plain, matched := behind(b, arms[2])
		o.Set(name+" "+toolArms[k]+" and self", plain...)
		o.Set(name+" "+toolArms[k]+" and self, matched", matched...)
	}
}

// behind is mean |dlogp| of the tokens behind a block in two batches of
// episodes, plain and matched.
func behind(a, b *batch.Batch) (plain, matched []float64) {
	turnA, _ := slots(a)
	turnB, _ := slots(b)
	return grouped(2, laterTurns(a, turnA, 0), laterTurns(b, turnB, 1))
}

// beforeTheFirst is the largest difference between the gaps of two batches of
// episodes in the turn before the first block.
func beforeTheFirst(a, b *batch.Batch) float64 {
	largest := 0.0
	x, y := ratios(a), ratios(b)
	turn, _ := slots(a)
	for n, t := range turn {
		if t == 0 {
			largest = max(largest, math.Abs(x[n]-y[n]))
		}
	}
	return largest
}

// recordOnTask records episodes in which the policy calls its tool by itself.
func (e *Env) recordOnTask(o *Observation, name string, p *model.Params, rollout, scorer string) {
	called, visible, step := e.onTask(p, numerics(rollout), e.Pick(512, 96, 8))
	scoredIn(p, numerics(scorer), learner.ReplayNone, called, visible)
	turn := make([]int, called.Tokens())
	for n, own := range called.Mask {
		turn[n] = -1
		if own {
			turn[n] = min(int(called.Turn[n]), toolCalls)
		}
	}
	byTurn, _ := grouped(toolCalls+1, part{called, turn})
	o.Set(name+" on task, by turn", byTurn...)
	plain, matched := grouped(2, laterTurns(called, turn, 0), laterTurns(visible, step, 1))
	o.Set(name+" on task", plain...)
	o.Set(name+" on task, matched", matched...)
}

func judgeToolTokens(j *Judge) {
	turns := []float64{0, 1, 2, 3, 4}
	slope := func(figure string) []float64 {
		return j.Each(func(o *Observation) float64 { return stats.Slope(turns, o.List(figure)) })
	}
	for _, d := range toolDoses {
		ratio := func(what, figure string) {
			j.ReportRatio(d.dose, d.name+": "+what, j.entry(d.name+figure, 0), j.entry(d.name+figure, 1))
		}
		if d.judged {
			j.Ratio(d.dose, d.name+": |dlogp|, behind tool output over own text", j.entry(d.name+" tool and self", 0), j.entry(d.name+" tool and self", 1), 1.2)
			j.Ratio(d.dose, d.name+": |dlogp|, behind tool output over own text, matched on probability", j.entry(d.name+" tool and self, matched", 0), j.entry(d.name+" tool and self, matched", 1), 1.2)
			j.Always(d.dose, d.name+": slope of |dlogp| on the turn", slope(d.name+" by turn, tool"), 0)
		} else {
			ratio("|dlogp|, behind tool output over own text", " tool and self")
			ratio("|dlogp|, behind tool output over own text, matched on probability", " tool and self, matched")
			j.Report(d.dose, d.name+": slope of |dlogp| on the turn", slope(d.name+" by turn, tool"))
		}
		j.Report(d.dose, d.name+": slope on the turn, matched on probability", slope(d.name+" by turn, matched, tool"))
		j.Report(d.dose, d.name+": slope on the turn, tool minus own text", stats.Differences(slope(d.name+" by turn, tool"), slope(d.name+" by turn, self")))
		ratio("|dlogp|, behind familiar symbols over own text", " familiar and self")
		ratio("|dlogp|, behind familiar symbols over own text, matched on probability", " familiar and self, matched")
		ratio("on the task, behind a reply over the same steps without", " on task")
		ratio("on the task, behind a reply over the same steps without, matched on probability", " on task, matched")
		j.Report(d.dose, d.name+": on the task, slope of |dlogp| on the turn", slope(d.name+" on task, by turn"))
	}
	j.ReportRatio(Natural, "bf16, routes replayed: |dlogp|, behind tool output over own text", j.entry("bf16 replayed", 0), j.entry("bf16 replayed", 1))
	j.ReportRatio(Natural, "bf16, routes replayed: |dlogp|, behind tool output over own text, matched on probability", j.entry("bf16 replayed, matched", 0), j.entry("bf16 replayed, matched", 1))
	j.Zero(Exact, "difference of the gaps before the first block", j.Column("difference in turn 0"))
	j.Zero(Exact, "largest gap between equal engines", j.Column("control"))
	c := chart("Mean |dlogp| by turn", "turn (blocks before it)", "nats", "Five turns of eight tokens; between them seven tokens of a tool, or of the policy.", true)
	for _, d := range toolDoses {
		for _, a := range toolArms {
			c.Arms = append(c.Arms, j.arm(d.name+", "+toolArmNames[a], turns, d.name+" by turn, "+a))
		}
	}
	j.Evidence.Picture = c
	j.Evidence.Table = j.curvesTable("Mean |dlogp| by distance from the block's last token, turns 1 to 4", "distance", counting(turnTokens),
		"bf16 by distance, tool", "bf16 by distance, familiar", "bf16 by distance, self", "fp8 by distance, tool", "fp8 by distance, self", "fp4 by distance, tool", "fp4 by distance, self")
	mean := func(arm string, k int) float64 { return average(j.entry("bf16 mean log p, entropy, "+arm, k)) }
	j.note("Behind tool output tokens have a mean log-prob of %.2f and an entropy of %.2f nats, behind the policy's own text %.2f and %.2f, behind familiar symbols %.2f and %.2f (bf16).",
		mean("tool", 0), mean("tool", 1), mean("self", 0), mean("self", 1), mean("familiar", 0), mean("familiar", 1))
}

// toolArmNames are the arms in words.
var toolArmNames = map[string]string{"tool": "rare symbols", "familiar": "familiar symbols", "self": "own text"}
