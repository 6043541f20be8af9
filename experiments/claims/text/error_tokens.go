package text

import (
	"context"
	"fmt"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
)

// What error-tokens samples: responses that go on behind the stop token.
const (
	errorTokens = 96
	// gspoLow and gspoHigh are GSPO's clip.
	gspoLow, gspoHigh = 3e-4, 4e-4
)

// errorArms are the rollout engines of error-tokens.
var errorArms = []string{"bf16", "fp8-w8a8", "fp4-all"}

// gspoLengths are the lengths at which GSPO's clip is counted.
var gspoLengths = []int{6, 12, 24, 48, 96}

func errorTokensClaim() claim.Claim {
	return claim.Claim{
		ID:        "error-tokens",
		Title:     "fp4 rollouts repeat themselves more in long text than bf16 rollouts (chain models, 96 tokens)",
		Statement: "In the second half of responses of 96 tokens, a larger share of runs of four tokens has occurred before in the response if fp4 weights, inputs, cache and head sampled it than if bf16 did.",
		Source:    "QaRL, 2604.07853; GSPO, 2507.18071; a survey of training-inference mismatch.",
		Figure:    "quantised rollouts repeat error tokens in long text; GSPO is immune to length",
		Threshold: "Share of repeated runs of four tokens in the second half, fp4 minus bf16: above 0, sign-flip p < 0.05. Also checked: the same of fp8; " +
			"share of responses outside GSPO's clip of 3e-4 and 4e-4 between an fp8 rollout and a bf16 learner, 96 tokens minus 6, inside ±0.05.",
		Setup:    "Models of two layers, warm-started for 900 steps on programs of 2 to 5 operations; 64 responses of 96 tokens that go on behind the stop token, the same random numbers in each engine. GSPO's ratio is the geometric mean over the first 6 to 96 tokens.",
		LeftOut:  "Text of the task: its responses have some ten tokens. Training.",
		Commands: []string{"simulate measure --rollout fp8-w8a8 --learner bf16"},
		Declared: claim.BeforeResults,
		Unit:     claim.Model,
		Version:  1,
		Measure:  measureErrorTokens,
		Judge:    judgeErrorTokens,
	}
}

func measureErrorTokens(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	dir, err := e.Warm(ctx, "chain-base", fmt.Sprintf("pretrain.steps=%d", e.Pick(900, 300, 3)), "task.difficulty=[2,5]")
	if err != nil {
		return nil, err
	}
	p, err := claim.Loaded(dir, 160)
	if err != nil {
		return nil, err
	}
	for _, name := range errorArms {
		b := e.Sample(claim.Probe{Params: p, Rollout: claim.Numerics(name), Sequences: e.Pick(64, 32, 4), Tokens: errorTokens})
		o.Set(name+", repeated", metrics.Repeated(b, 0, errorTokens/2), metrics.Repeated(b, errorTokens/2, errorTokens))
		if name == "fp8-w8a8" {
			measure.Score(b, p, measure.Scoring{Numerics: claim.Numerics("bf16")})
			o.Set("outside GSPO's clip", clippedByGSPO(b)...)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// clippedByGSPO is the share of responses whose geometric mean of learner over rollout is outside GSPO's clip, by
// length.
func clippedByGSPO(b *batch.Batch) []float64 {
	out := make([]float64, len(gspoLengths))
	ratios := claim.LogRatios(b)
	for i := range b.Len() {
		from, _ := b.Span(i)
		for k, length := range gspoLengths {
			sum := 0.0
			for _, x := range ratios[from : from+length] {
				sum += x
			}
			r := elementary.Exp(sum / float64(length))
			if r < 1-gspoLow || r > 1+gspoHigh {
				out[k] += 1 / float64(b.Len())
			}
		}
	}
	return out
}

func judgeErrorTokens(j *claim.Judge) {
	more := func(arm string, half int) []float64 {
		return j.Each(func(o *claim.Observation) float64 {
			return o.List(arm + ", repeated")[half] - o.List("bf16, repeated")[half]
		})
	}
	j.Primary(claim.Better(claim.Natural, "share of repeated runs of four tokens, second half, fp4 minus bf16", more("fp4-all", 1)))
	j.Secondary(claim.Better(claim.Natural, "share of repeated runs of four tokens, second half, fp8 minus bf16", more("fp8-w8a8", 1)))
	j.Secondary(claim.Report(claim.Natural, "share of repeated runs of four tokens, first half, fp4 minus bf16", more("fp4-all", 0)))
	last := len(gspoLengths) - 1
	j.Secondary(claim.Inside(claim.Natural, "responses outside GSPO's clip, 96 tokens minus 6, fp8 against bf16",
		j.Each(func(o *claim.Observation) float64 {
			x := o.List("outside GSPO's clip")
			return x[last] - x[0]
		}), 0.05))
	x := make([]float64, len(gspoLengths))
	for i, n := range gspoLengths {
		x[i] = float64(n)
	}
	j.Evidence.Picture = j.Bars("Repeated runs of four tokens, second half", "share", false, errorArms,
		claim.Group{Name: "chain models", Values: func(k int) []float64 { return j.Entry(errorArms[k]+", repeated", 1) }})
	j.Evidence.Table = j.CurvesTable("Responses outside GSPO's clip", "tokens", x, "outside GSPO's clip")
}
