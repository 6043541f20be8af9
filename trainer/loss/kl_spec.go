package loss

import "driftlab/trainer/method"

const verlKL = "verl kl_penalty, SkyRL, TRL; J. Schulman, \"Approximating KL divergence\" (2020)"

// klSpec describes one sample estimator.
func klSpec(e Estimator, aliases []string, source, formula, gradient, example string) method.Spec {
	return method.Spec{
		Name: string(e), Aliases: aliases, Group: "kl", Unit: method.Token, Source: source,
		Formula: formula, Gradient: gradient, Needs: []string{"LogpRef", "LogpOld (in the reward)"}, Example: example,
	}
}

// estimators is the KL registry's part that consists of sample estimators.
func estimators() []method.Entry[KL] {
	entry := func(s method.Spec, e Estimator) method.Entry[KL] {
		return method.Entry[KL]{Spec: s, New: func() KL { return NewKLTerm(e) }}
	}
	return []method.Entry[KL]{
		entry(klSpec(K1, []string{"kl"}, verlKL,
			"k1 = d, d = logp - ref", "1, whose mean is zero on-policy: a penalty for the reward, not for the loss",
			``), K1),
		entry(klSpec(Abs, nil, verlKL, "abs = |d|, d = logp - ref", "sign(d)", ``), Abs),
		entry(klSpec(K2, []string{"mse"}, verlKL,
			"k2 = d²/2, d = logp - ref", "d: on-policy its mean is the gradient of KL(π‖ref)", ``), K2),
		entry(klSpec(K3, []string{"low_var_kl"}, verlKL+"; GRPO 2402.03300",
			"k3 = exp(u) - u - 1, u = ref - logp; u clamped to ±20, the value to ±10", "1 - exp(u), 0 where a clamp is active", ``), K3),
		entry(klSpec(K1Plus, []string{"kl+"}, verlKL+"; 2512.21852",
			"k1+ = d, differentiated as k2", "d", ``), K1Plus),
		entry(klSpec(K3Plus, []string{"low_var_kl+"}, verlKL+"; 2512.21852",
			"k3+ = exp(u) - u - 1, differentiated as k2", "d", ``), K3Plus),
	}
}
