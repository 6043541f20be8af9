package reduction

import (
	"context"
	"slices"

	"driftlab/engine"
	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/trainer/method/metrics"
)

func tpOrder() claim.Claim {
	return claim.Claim{
		ID:        "tp-order",
		Title:     "Batch-invariant bf16 kernels give other greedy outputs at another tensor-parallel degree (128 tokens)",
		Statement: "Batch-invariant kernels alone give other greedy outputs when the tensor-parallel degree changes.",
		Source:    "Tree-based invariant kernels (TBIK), 2511.17826.",
		Figure:    "distinct outputs over 12 configurations: 12.0 plain bf16, 7.9 batch-invariant only, 1 with the tree",
		Threshold: "Distinct outputs per prompt over 12 configurations, batch-invariant kernels only: interval above 1. " +
			"Reported: plain kernels give more; a fixed tree gives exactly 1, and a KL between one rank and eight of exactly 0.",
		Setup: "Greedy responses under 12 configurations: 8, 16 and 32 slots by 1, 2, 4 and 8 ranks, bf16 with a bf16 ring. " +
			"Natural: chain-base past the stop token, 128 tokens. Amplified: a random model of 8 layers, 96 tokens. " +
			"Ranks that own whole subtrees leave the tree as it is, so its numerics do not name them and its zeros hold by construction.",
		LeftOut:  "The paper's order, plain kernels above batch-invariant ones above a tree: the first version asked for it, and it is a secondary check now. The tree's value of 1 holds by construction.",
		Commands: []string{"simulate measure --rollout bf16-tp4 --learner bf16"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.OnlyAmplified,
			Check: "all 8 checks in five seeds; decisive: natural, distinct outputs, plain minus batch-invariant only: > 0 in every seed, not met"},
		Unit:    claim.Model,
		Version: 3,
		Measure: measureTP,
		Judge:   judgeTP,
	}
}

// tpKinds are the arms: the numerics of an engine over that many ranks.
var tpKinds = []struct {
	name string
	of   func(ranks int) engine.Numerics
}{
	{"plain", func(r int) engine.Numerics {
		return claim.Named(claim.TensorParallel(claim.Numerics("bf16"), r), "plain", func(n *engine.Numerics) { n.Reduction.BatchVariant = true })
	}},
	{"batch-invariant", func(r int) engine.Numerics { return claim.TensorParallel(claim.Numerics("bf16"), r) }},
	// Ranks that own whole subtrees leave the tree as it is, so its numerics do
	// not name them.
	{"tree", func(int) engine.Numerics {
		return claim.Ordered(claim.Numerics("bf16"), "tree", "tree:8")
	}},
}

func measureTP(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	shipped, err := e.Base(ctx, 256)
	if err != nil {
		return nil, err
	}
	for _, m := range []struct {
		name   claim.Level
		params *model.Params
		length int
	}{{claim.Natural, shipped, e.Pick(128, 128, 16)}, {claim.Amplified, e.Deep(8, 8, 256, 256), e.Pick(96, 64, 8)}} {
		prompts := claim.Prompts(e.Rand(claim.PromptStream), m.params.Config.Vocab, e.Pick(32, 32, 4))
		var distinct, kl []float64
		for _, kind := range tpKinds {
			outputs := make([][][]int32, len(prompts))
			for _, slots := range []int{8, 16, 32} {
				for _, ranks := range []int{1, 2, 4, 8} {
					b := e.Sample(claim.Probe{Params: m.params, Rollout: kind.of(ranks), Sequences: len(prompts), Slots: slots, Tokens: m.length, Prompts: prompts, Greedy: true})
					for i := range prompts {
						from, to := b.Span(i)
						text := b.Token[from:to]
						if !slices.ContainsFunc(outputs[i], func(other []int32) bool { return slices.Equal(other, text) }) {
							outputs[i] = append(outputs[i], text)
						}
					}
				}
				if err := ctx.Err(); err != nil {
					return nil, err
				}
			}
			mean := 0.0
			for _, texts := range outputs {
				mean += float64(len(texts)) / float64(len(outputs))
			}
			distinct = append(distinct, mean)
			b := e.Sample(claim.Probe{Params: m.params, Rollout: kind.of(8), Sequences: len(prompts), Tokens: m.length, Prompts: prompts, Distributions: true})
			measure.Score(b, m.params, measure.Scoring{Numerics: kind.of(1), Distributions: true})
			kl = append(kl, metrics.Compare(b).ExactKL)
		}
		o.Set(string(m.name)+" distinct", distinct...)
		o.Set(string(m.name)+" KL", kl...)
	}
	return o, nil
}

func judgeTP(j *claim.Judge) {
	names := []string{tpKinds[0].name, tpKinds[1].name, tpKinds[2].name}
	for _, d := range []claim.Level{claim.Natural, claim.Amplified} {
		f := string(d) + " distinct"
		j.Primary(claim.Above(d, "distinct outputs, batch-invariant only", j.Entry(f, 1), 1))
		j.Secondary(claim.Above(d, "distinct outputs, plain minus batch-invariant only", j.Each(func(o *claim.Observation) float64 { return o.List(f)[0] - o.List(f)[1] }), 0))
		j.Secondary(claim.Zero(claim.Exact, "distinct outputs minus 1, tree, "+string(d), j.Each(func(o *claim.Observation) float64 { return o.List(f)[2] - 1 })))
		j.Secondary(claim.Zero(claim.Exact, "exact KL of one rank and eight, tree, "+string(d), j.Entry(string(d)+" KL", 2)))
		j.Secondary(claim.Report(d, "exact KL of one rank and eight, batch-invariant", j.Entry(string(d)+" KL", 1)))
	}
	j.Evidence.Picture = j.Bars("Distinct greedy outputs over 12 configurations", "outputs per prompt", false, names, j.Listed("chain-base", "natural distinct"), j.Listed("8 random layers", "amplified distinct"))
	j.Evidence.Table = j.NamedTable("Batch size by tensor-parallel degree", "kernels", names, "natural distinct", "natural KL", "amplified distinct", "amplified KL")
}
