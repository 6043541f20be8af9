package precision

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// compoundArms are the rollout engines of sources-compound; the learner is bf16.
var compoundArms = []string{"fp8-w8a8", "bf16-tp4", "both"}

// compoundLengths are the lengths up to which the largest KL of a token is taken.
var compoundLengths = []int{4, 8, 16, 32}

func sourcesCompound() claim.Claim {
	return claim.Claim{
		ID:        "sources-compound",
		Title:     "fp8 and tensor parallelism together give more KL than the sum of both (random mixtures of experts of 8 layers)",
		Statement: "Between a bf16 learner and a rollout engine in fp8 on four tensor-parallel ranks the exact KL is larger than the sum of the KL of fp8 alone and of the ranks alone.",
		Source:    "A survey of training-inference mismatch; a practitioner's account of off-policy training says the contrary, that sources compose cleanly.",
		Figure:    "sources of mismatch compound",
		Threshold: "log2 of the exact KL of both over the sum of the parts: interval above 0. Also checked: the same inside ±0.2; exact KL, fp8 over tensor-parallel, above 1; " +
			"perplexity ratio minus 1, above 0; and TRM's criterion, the largest KL of a token, over the first 32 tokens against the first 4.",
		Setup: "Amplified alone: random models of 8 layers with 8 experts and 64 tokens, frozen; 128 responses of 32 tokens, sampled in each rollout engine and scored in bf16. " +
			"Ranks pass bf16 partial sums along a ring.",
		LeftOut:  "Warm-started models, to save compute, and other sources: attention, batch variance, staleness.",
		Commands: []string{"simulate measure --rollout fp8-w8a8 --learner bf16 --attribute"},
		Declared: claim.BeforeResults,
		Unit:     claim.Model,
		Version:  1,
		Measure:  measureCompound,
		Judge:    judgeCompound,
	}
}

func measureCompound(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	p := e.Deep(8, 8, 64, 64)
	var kl, ppl []float64
	for _, name := range compoundArms {
		rollout := claim.TensorParallel(claim.Numerics(compoundArms[0]), 4)
		if name != "both" {
			rollout = claim.Numerics(name)
		}
		b, g := e.Measure(claim.Probe{Params: p, Rollout: rollout, Sequences: e.Pick(128, 64, 4), Tokens: 32, Distributions: true}, claim.Numerics("bf16"))
		kl, ppl = append(kl, g.ExactKL), append(ppl, g.PPLRatio-1)
		if name == compoundArms[0] {
			o.Set("largest KL", largestKL(b)...)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	o.Set("exact KL", kl...)
	o.Set("perplexity ratio minus 1", ppl...)
	return o, nil
}

// largestKL is the largest exact KL of the first tokens of a response, mean over responses, by
// how many tokens.
func largestKL(b *batch.Batch) []float64 {
	out := make([]float64, len(compoundLengths))
	v := b.Vocab
	for i := range b.Len() {
		from, to := b.Span(i)
		most := 0.0
		for n := from; n < to; n++ {
			kl := 0.0
			for a := n * v; a < (n+1)*v; a++ {
				p := float64(b.DistRoll[a])
				kl += float64(elementary.Exp(p) * (p - float64(b.Old.Dist[a])))
			}
			most = max(most, kl)
			for k, length := range compoundLengths {
				if n-from+1 == length {
					out[k] += most / float64(b.Len())
				}
			}
		}
	}
	return out
}

func judgeCompound(j *claim.Judge) {
	excess := j.Each(func(o *claim.Observation) float64 {
		kl := o.List("exact KL")
		return elementary.Log(kl[2]/(kl[0]+kl[1])) / elementary.Log(2)
	})
	j.Primary(claim.Above(claim.Amplified, "log2 of the exact KL of both over the sum of the parts", excess, 0))
	j.Secondary(claim.Inside(claim.Amplified, "the same, no difference", excess, 0.2))
	j.Secondary(claim.Ratio(claim.Amplified, "exact KL, fp8 over tensor-parallel", j.Entry("exact KL", 0), j.Entry("exact KL", 1), 1))
	for i, name := range []string{"fp8", "tensor-parallel", "both"} {
		j.Secondary(claim.Above(claim.Amplified, "perplexity ratio minus 1, "+name, j.Entry("perplexity ratio minus 1", i), 0))
	}
	j.Secondary(claim.Ratio(claim.Amplified, "largest KL of a token, first 32 over first 4 tokens, fp8", j.Entry("largest KL", 3), j.Entry("largest KL", 0), 1.2))
	j.Evidence.Picture = j.Bars("Exact KL by rollout engine", "nats per token", true, []string{"fp8", "tensor-parallel", "both"}, j.Listed("random models", "exact KL"))
	j.Evidence.Table = j.NamedTable("Mismatch by rollout engine", "rollout engine", []string{"fp8", "tensor-parallel", "both"}, "exact KL", "perplexity ratio minus 1")
}
