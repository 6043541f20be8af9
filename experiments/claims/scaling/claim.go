// Package scaling is the ladder of scale at frozen weights: warm-started models
// from 2 layers of width 32 upwards, along one axis at a time, how the gap between
// two engines grows along each, and where the law of it ends up at the size of the
// models whose figures are published.
//
// It is one claim among the others, with a verdict of its own kind: it extrapolates.
//
// What it is not: no model here is large. What a law says of a size twenty times
// as deep and a thousand times as wide in words is worth what its hold-outs are.
package scaling

import "driftlab/experiments/claims/claim"

// Claims lists them.
func Claims() []claim.Claim { return []claim.Claim{gapScaling(), denseFactors(), denseLawClaim()} }

func gapScaling() claim.Claim {
	return claim.Claim{
		ID:    "gap-scaling",
		Title: "The KL of a routed model grows by powers of its size, up to a published model's",
		Statement: "The exact KL per token between two bf16 engines of a routed model is a product of powers of its size, and at the size of Qwen3-30B-A3B " +
			"the power law fitted to models of 2 to 16 layers holds the published figure.",
		Source: "Figures: Rollout Routing Replay (R3), 2510.11370, and Defeating the Training-Inference Mismatch via FP16, 2510.26788. Sizes: the models' config.json. " +
			"Lengths: R3's answers about 10,000 tokens (recalled, not read again); 2510.26788's about 7,600, its KL of 7.64 over its slope of -1.01, if that is per thousand tokens.",
		Figure: "KL 1.535e-3 per token (Qwen3-30B-A3B), 7.5e-4 with routes replayed, 6.4e-4 dense (Qwen3-8B); about 10 % of routers differ, 94 % of tokens in 48 layers; " +
			"sequence KL 7.64 (bf16) and 0.32 (fp16) of a dense model of 1.5B",
		Threshold: "The law's 95 % interval for one model of 48 layers, width 2,048, vocabulary 151,936, 128 experts top-8 and answers of 10,000 tokens holds 1.535e-3, " +
			"is at most a factor 100 from end to end, predicts the corner that was kept out of the fit, and every rung's entropy is 0.70 to 0.95 nats per token. " +
			"An interval without the figure is a miss; one too wide, or from rungs that do not pass, leaves it open.",
		Setup: "Task chapters, words of 1.15 nats whatever the vocabulary, one chapter in ten a word too long or too short; tokens in [0.70, 0.95] nats; answers sampled to their end. " +
			"Base: 2 layers, width 32, heads of 16, vocabulary 128, 8 experts top-2, 61 tokens. Rungs: 4, 8, 16 layers; " +
			"width 64, 128, 256; vocabulary 32, 512, 4,096; 521, 1,031, 2,051 tokens; 16 experts top-2, 32 top-4, 64 top-2 and top-8; and dense models as wide as two experts. Corner: 6 layers, width 64, vocabulary 512, 261 tokens, 32 experts top-4. " +
			"Both engines in bf16 (dense: in fp16 too): the rollout engine cuts sums in four and splits keys, the learner sums in one chain. " +
			"Ten models of a rung; five of a dense one, three of a corner. Answers of 25,000 to 31,000 tokens a model, 16,000 at width 256, 4,000 at vocabulary 4,096. Warm starts of 200 steps of a thousand tokens; 50 and 45 at width 128 and 256, 300 of one answer each for answers of 521 and 1,031, 500 for 2,051, which dense models do without: " +
			"as many as bring the entropy down. Text, heads and steps were chosen by the entropy of other seeds' models, after a first try of one routed model a rung had left 1,031 and 2,051 tokens at 1.03 and 1.23 nats: " +
			"its demonstrations never slipped, and a model that did lost count for the rest of its answer.",
		LeftOut: "What the law has no axis for: entropy and content of the text, length and kind of training (outliers of activations grow with it), grouped queries and norms of queries and keys, " +
			"kernels of attention and experts on a GPU, their tiles and atomics, tensor and expert parallelism, a router in fp32, formats that differ between the engines.",
		Differs: &claim.Difference{Published: 6.4e-4, Level: claim.Ladder, Check: "exact KL at the size of Qwen3-8B",
			Why: "The logits of these models are near 7, where bf16 has a step of 1/32; those of Qwen2.5 reach 16 to 32 by two public measurements, where the step is 1/8, and rounding of the head alone then gives some 3e-4 per token at any size. " +
				"The unequal training of the rungs hid how much is missing: their entropy falls with width and grows with length.",
			Experiment: "What tells is dense-kl-law: the dense rungs trained to one loss, and measured again with such logits. As trained, the exponent of width stays near -0.5 (at equal steps it is -0.6), that of length falls from 0.62 to 0.43, " +
				"and the law is 69 times too small at 8B. With large logits, and a learner that rounds in other places, the exponents are -0.05 and 0.17, and the law is within a factor 3 there, 2.4 times too small at 1.5B; a routed model's KL with routes replayed grows 23 times. " +
				"dense-kl-factors has a growing residual stream, heavy-tailed weights and outlier channels, one at a time."},
		Commands: []string{"simulate measure --rollout bf16-splitk4 --learner bf16"},
		Declared: claim.BeforeResults,
		Unit:     claim.Model,
		Version:  2,
		Measure:  measureLadder,
		Judge:    judge,
	}
}
