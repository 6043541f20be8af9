package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

const verlKL = "verl kl_penalty, SkyRL, TRL; J. Schulman, \"Approximating KL divergence\" (2020)"

// estimators is the KL registry's part that consists of sample estimators.
func estimators() method.Table[KL] {
	entry := func(e Estimator, does, when string, aliases []string, source, formula, gradient string) method.Entry[KL] {
		return method.Entry[KL]{New: func() KL { return NewKLTerm(e) }, Spec: method.Spec{
			Name: string(e), Aliases: aliases, Unit: method.Token, Does: does, When: when, Source: verlKL + source, Formula: formula, Gradient: gradient,
			Needs: batch.Columns{batch.LogpRef}, May: method.If("in reward", batch.LogpOld),
		}}
	}
	return method.Table[KL]{
		entry(K1, "Penalises the log-ratio to the reference, an unbiased estimate of the KL divergence with a high variance.",
			"Use it in the reward; in the loss its expected gradient is zero on-policy.",
			[]string{"kl"}, "; verl's adaptive_kl is in: reward with controller.target above 0, fixed_kl with 0",
			"k1 = d, d = logp - ref", "1, whose mean is zero on-policy: a penalty for the reward, not for the loss"),
		entry(Abs, "Penalises the absolute log-ratio to the reference.",
			"Use it for a penalty whose gradient has a constant size; it does not estimate the KL divergence.",
			nil, "", "abs = |d|, d = logp - ref", "sign(d)"),
		entry(K2, "Penalises half the squared log-ratio to the reference.",
			"Use it in the loss: on-policy its expected gradient is that of the reverse KL divergence.",
			[]string{"mse"}, "", "k2 = d²/2, d = logp - ref", "d: on-policy its mean is the gradient of KL(π‖ref)"),
		entry(K3, "Penalises GRPO's estimate of the KL divergence to the reference, which is unbiased and never negative.",
			"Use it to reproduce GRPO; in the loss its expected gradient is that of the forward KL divergence.",
			[]string{"low_var_kl"}, "; GRPO 2402.03300",
			"k3 = exp(u) - u - 1, u = ref - logp; u clamped to ±20, the value to ±10", "1 - exp(u), 0 where a clamp is active"),
		entry(K1Plus, "Has the value of k1 and the gradient of k2.",
			"Use it for verl's kl+: k1 is logged, and the gradient is that of the reverse KL divergence.",
			[]string{"kl+"}, "; 2512.21852", "k1+ = d, differentiated as k2", "d"),
		entry(K3Plus, "Has the value of k3 and the gradient of k2.",
			"Use it for verl's low_var_kl+: k3 is logged, and the gradient is that of the reverse KL divergence.",
			[]string{"low_var_kl+"}, "; 2512.21852", "k3+ = exp(u) - u - 1, differentiated as k2", "d"),
	}
}
