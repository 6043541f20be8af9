package loss

import (
	"errors"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// UnbiasedKL is DeepSeek-V3.2's importance-corrected k3: the ratio to the
// policy that sampled the tokens multiplies the estimate and stays in the graph.
//
// The paper's anchor is the sampling policy (roll); TRL and slime use old.
// Detaching x would give x·(1 - exp(u)), the biased gradient of k3 again. Over
// the vocabulary, the mean of the derivative under the anchor is exactly the
// gradient of KL(π‖ref).
type UnbiasedKL struct {
	// Coef is the coefficient.
	Coef float64 `yaml:"coef" default:"0.001" range:"[0,inf]"`
	// In must be loss: the point of the method is its gradient.
	In Place `yaml:"in" default:"loss" oneof:"loss reward"`
	// Anchor is the policy that sampled the tokens: roll or old.
	Anchor Anchor `yaml:"anchor" default:"roll" oneof:"old roll"`
	// Level of x: token, or sequence for the geometric mean TRL uses with
	// sequence-level ratios.
	Level string `yaml:"level" default:"token" oneof:"token sequence"`
	// LogClamp bounds the log-ratio of x; 0 is no bound, as published.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// ValueClamp bounds K from above where slime's low_var_kl does (10); 0 is none.
	ValueClamp float64 `yaml:"value_clamp" range:"[0,inf]"`
	// Cap bounds x itself, a constant beyond it: min(x·k3, clip(x, 1-ε, 1+ε)·k3) is the cap 1+ε,
	// since k3 is not negative. 0 is none.
	Cap float64 `yaml:"cap" range:"[0,inf]"`
	// Aggregation of the term.
	Aggregation Aggregation `yaml:"aggregation"`
}

var unbiasedKLSpec = method.Spec{
	Name: "k3_unbiased", Aliases: []string{"unbiased_kl", "unbiased_k3", "v3.2"}, Unit: method.Token,
	Does:     "Multiplies k3 by the ratio to the sampling policy, so that its expected gradient is that of the KL divergence.",
	When:     "Use it off-policy, as DeepSeek-V3.2 does, if rollouts are stale or the rollout engine differs from the trainer.",
	Source:   "arXiv:2512.02556 eq. 7 (DeepSeek-V3.2); TRL use_bias_correction_kl, slime use_unbiased_kl",
	Formula:  "K = x·(exp(u) - u - 1), x = exp(logp - anchor), u = ref - logp",
	Gradient: "x·(logp - ref)",
	Needs:    batch.Columns{batch.LogpRef}, May: eitherAnchor,
}

// Validate checks the parameters that depend on each other.
func (k *UnbiasedKL) Validate() error {
	return errors.Join(check(k.In != InReward, "in: k3_unbiased belongs into the loss; use k1 or k3 in the reward"),
		check(k.Level == "token" || k.ValueClamp == 0, "value_clamp: applies to level token"),
		check(k.Level == "token" || k.Cap == 0, "cap: applies to level token"))
}

// Coefficient is the coefficient.
func (k *UnbiasedKL) Coefficient() float64 { return k.Coef }

// AddReward subtracts nothing: the term belongs into the loss.
func (k *UnbiasedKL) AddReward(*batch.Batch) (float64, error) { return 0, nil }

// AddLoss adds the term.
func (k *UnbiasedKL) AddLoss(out *Grad, in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Logp, batch.LogpRef, k.Anchor.Column()); err != nil {
		return err
	}
	anchor := k.Anchor.Of(in)
	if k.Level == "sequence" {
		return k.addSequence(out, in, anchor)
	}
	return addTerm(out, in, k.Aggregation, k.Coef, func(n int) (value, dlogp float64) {
		x, dx := ratio(in.Now.Logp[n]-anchor[n], k.LogClamp)
		if k.Cap > 0 && x > k.Cap {
			x, dx = k.Cap, 0
		}
		u := in.Ref.Logp[n] - in.Now.Logp[n]
		k3, dk3 := k3(u, KLBounds{})
		if v := x * k3; k.ValueClamp > 0 && v > k.ValueClamp {
			return k.ValueClamp, 0
		}
		if dx == 0 { // x is clamped: a constant
			return x * k3, x * dk3
		}
		return x * k3, -x * u // of x·dk3 + x·k3 all else cancels, and takes the digits with it
	})
}

// addSequence adds the term with x = exp(mean_t (logp - anchor)) of the response.
func (k *UnbiasedKL) addSequence(out *Grad, in *batch.Batch, anchor []float64) error {
	rows := out.work(0, in.Len())
	if err := k.Aggregation.RowWeights(rows, in, &out.groups); err != nil {
		return err
	}
	f := frame{out: out, in: in, active: in.Active()}
	total := 0.0
	for i, w := range rows {
		length := max(f.length(i), 1)
		x, dx := ratio(f.sumLogRatio(i, in.Now.Logp, anchor)/length, k.LogClamp)
		sum := 0.0 // of k3 over the response
		for n := range in.Where(i, f.active) {
			value, d := k3(in.Ref.Logp[n]-in.Now.Logp[n], KLBounds{})
			sum += value
			out.DLogp[n] += float64(k.Coef * w * x * d)
		}
		f.spread(i, k.Coef*w*sum*dx/length)
		total += float64(w * x * sum)
	}
	out.Loss += float64(k.Coef * total)
	out.Add("actor/kl_loss", total)
	out.Add("actor/kl_coef", k.Coef)
	return nil
}
