package length

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
)

// lengthAggregations are the arms of length-norm-incentive.
var lengthAggregations = []string{"token-mean", "seq-mean-token-mean", "seq-mean-token-sum-norm:96"}

// lengthTrained is how many of them are trained with.
const lengthTrained = 2

func lengthNormIncentive() claim.Claim {
	return claim.Claim{
		ID:        "length-norm-incentive",
		Title:     "On the search task, dividing losses by the length makes wrong answers longer, relative to right ones, than the mean over tokens (learning rate 5e-4)",
		Statement: "Dividing each answer's loss by its own length makes wrong answers longer relative to right ones than the mean over tokens does.",
		Source:    "Dr. GRPO, 2503.20783; 2512.01374.",
		Figure:    "the incentive is arithmetic; a practitioner's account finds that the choice did not alter growth",
		Threshold: "Log of the mean length of wrong over right answers after training, 1/length minus token-mean: t-interval above 0; below 0 refutes. " +
			"Also checked: equivalence within 5 %; and exactly, gradient weight per token times length constant to 1e-8 with seq-mean-token-mean, the weight itself with token-mean and a constant divisor.",
		Setup: "GRPO on the search task, where a longer working is right more often, from a warm start of 1,500 steps of its own; lengths of 1,024 responses to fresh prompts after 100 updates. " +
			"The weights are read off the losses on a sampled batch of the chain task. An earlier version trained all runs from one warm start of 2,500 steps.",
		Commands: []string{"simulate train headline --set checkpoint=search-base --set 'task={name: search, difficulty: [1, 10], operations: 2}' --set rollout.max_tokens=96 --set loss.aggregation=seq-mean-token-mean"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Undecided,
			Check: "all 4 checks in five seeds; decisive: natural, log length of wrong over right, 1/length minus token-mean: interval above 0, inconclusive"},
		Unit:    claim.Run,
		Version: 3,
		Measure: measureLengthNorm,
		Judge:   judgeLengthNorm,
	}
}

func measureLengthNorm(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	p, err := e.Base(ctx, 0)
	if err != nil {
		return nil, err
	}
	b := e.Graded(p, claim.Numerics("fp32"), claim.Numerics("fp32"), e.Pick(8, 8, 2))
	b.Now.Logp = b.Old.Logp
	var flat []float64
	for _, name := range lengthAggregations {
		constant, err := weightSpread(b, name)
		if err != nil {
			return nil, err
		}
		flat = append(flat, constant)
	}
	o.Set("spread of the weight", flat...)
	warm, err := searchWarm(ctx, e, "pretrain.steps=1500")
	if err != nil {
		return nil, err
	}
	var wrong, right, logRatio []float64
	for _, name := range lengthAggregations[:lengthTrained] {
		_, after, err := e.Trained(ctx, nil, e.Pick(100, 20, 2), "checkpoint="+warm, "task={name: search, difficulty: [1, 10], operations: 2}",
			"rollout.max_tokens=96", "loss.aggregation="+name)
		if err != nil {
			return nil, err
		}
		r, w := searchLengths(e, after)
		right, wrong, logRatio = append(right, r), append(wrong, w), append(logRatio, elementary.Log(w/r))
	}
	o.Set("right", right...)
	o.Set("wrong", wrong...)
	o.Set("log ratio", logRatio...)
	return o, nil
}

// weightSpread is the relative spread over responses of what an aggregation
// holds constant: d loss/d logp per unit of advantage, times the length for the
// form that divides by it.
func weightSpread(b *batch.Batch, aggregation string) (float64, error) {
	l := method.New[loss.PPOClip]()
	if err := l.Aggregation.UnmarshalText([]byte(aggregation)); err != nil {
		return 0, err
	}
	var out loss.Grad
	if err := l.Eval(&out, b); err != nil {
		return 0, err
	}
	low, high := math.Inf(1), math.Inf(-1)
	for i := range b.Len() {
		from, to := b.Span(i)
		if b.Advantage[from] == 0 {
			continue
		}
		for n := from; n < to; n++ {
			w := -out.DLogp[n] / b.Advantage[n]
			if aggregation == "seq-mean-token-mean" {
				w *= float64(to - from)
			}
			low, high = min(low, w), max(high, w)
		}
	}
	return high/low - 1, nil
}

// searchLengths are the mean lengths of right and of wrong responses to fresh
// prompts of the search task.
func searchLengths(e *claim.Env, p *model.Params) (right, wrong float64) {
	var sum, number [2]float64
	for _, r := range searchResponses(e, p, 1, 10) {
		k := 0
		if !r.correct {
			k = 1
		}
		sum[k] += r.tokens
		number[k]++
	}
	return sum[0] / number[0], sum[1] / number[1]
}

func judgeLengthNorm(j *claim.Judge) {
	change := stats.Differences(j.Entry("log ratio", 1), j.Entry("log ratio", 0))
	j.Primary(claim.Above(claim.Natural, "log length of wrong over right, 1/length minus token-mean", change, 0))
	j.Secondary(claim.Inside(claim.Natural, "log length of wrong over right, 1/length minus token-mean", change, 0.05))
	for k, name := range lengthAggregations {
		what := "spread of the weight, " + name
		if name == "seq-mean-token-mean" {
			what = "spread of the weight times the length, " + name
		}
		// verl adds 1e-8 to the length it divides by.
		j.Secondary(claim.AtMost(claim.Exact, what, j.Entry("spread of the weight", k), 1e-8))
	}
	trained := lengthAggregations[:lengthTrained]
	j.Evidence.Picture = j.Bars("Length of the answers after training", "tokens", false, trained, j.Listed("right", "right"), j.Listed("wrong", "wrong"))
	j.Evidence.Table = j.NamedTable("After training on the search task", "aggregation", trained, "right", "wrong", "log ratio")
}
