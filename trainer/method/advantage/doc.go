// Package advantage turns rewards into the per-token estimates a policy loss
// multiplies.
//
// An Estimator reads the reward columns of a batch and fills Advantage. Outcome
// estimators take one number per response, Batch.Reward, and give it to every
// generated token; return-based ones read TokenReward. Advantages are constants
// to the gradient. They are estimated over all generated tokens, Batch.Mask:
// responses that the correction rejects still inform the baseline.
//
//	e := &advantage.GRPO{Asymmetry: advantage.Asymmetry{PositiveWeight: 1}, Std: true}
//	err := e.Estimate(b) // fills b.Advantage
//
// Every parameter struct embeds Asymmetry: positive_weight in [0, 1] multiplies
// the positive advantages after everything else, so 0 trains on negatives only.
//
// Standard deviations are unbiased (n−1) unless an option says otherwise.
//
// What it is not: it shapes no rewards (package reward) and clips nothing
// (package loss).
package advantage
