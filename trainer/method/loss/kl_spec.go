package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

const verlKL = "verl kl_penalty, SkyRL, TRL; J. Schulman, \"Approximating KL divergence\" (2020)"

// klSpec describes one sample estimator.
func klSpec(e Estimator, aliases []string, source, formula, gradient, example string) method.Spec {
	return method.Spec{
		Name: string(e), Aliases: aliases, Group: "kl", Unit: method.Token, Source: source,
		Formula: formula, Gradient: gradient, Needs: batch.Columns{batch.LogpRef}, May: method.If("in reward", batch.LogpOld), Example: example,
	}
}

// estimators is the KL registry's part that consists of sample estimators.
func estimators() []method.Entry[KL] {
	entry := func(s method.Spec, e Estimator) method.Entry[KL] {
		return method.Entry[KL]{Spec: s, New: func() KL { return NewKLTerm(e) }}
	}
	return []method.Entry[KL]{
		entry(klSpec(K1, []string{"kl"}, verlKL+"; verl's adaptive_kl is in: reward with controller.target above 0, fixed_kl with 0",
			"k1 = d, d = logp - ref", "1, whose mean is zero on-policy: a penalty for the reward, not for the loss",
			`logp -0.5 -1.2 -2.0, ref -0.9 -0.8 -2.1, roll -0.6 -1.3 -2.2; coefficient 1, token-mean
loss = 0.033333
d loss/d logp = 0.166667 0.166667 0.166667`), K1),
		entry(klSpec(Abs, nil, verlKL, "abs = |d|, d = logp - ref", "sign(d)", `logp -0.5 -1.2 -2.0, ref -0.9 -0.8 -2.1, roll -0.6 -1.3 -2.2; coefficient 1, token-mean
loss = 0.300000
d loss/d logp = 0.166667 -0.166667 0.166667`), Abs),
		entry(klSpec(K2, []string{"mse"}, verlKL,
			"k2 = d²/2, d = logp - ref", "d: on-policy its mean is the gradient of KL(π‖ref)", `logp -0.5 -1.2 -2.0, ref -0.9 -0.8 -2.1, roll -0.6 -1.3 -2.2; coefficient 1, token-mean
loss = 0.055000
d loss/d logp = 0.066667 -0.066667 0.016667`), K2),
		entry(klSpec(K3, []string{"low_var_kl"}, verlKL+"; GRPO 2402.03300",
			"k3 = exp(u) - u - 1, u = ref - logp; u clamped to ±20, the value to ±10", "1 - exp(u), 0 where a clamp is active", `logp -0.5 -1.2 -2.0, ref -0.9 -0.8 -2.1, roll -0.6 -1.3 -2.2; coefficient 1, token-mean
loss = 0.055661
d loss/d logp = 0.054947 -0.081971 0.015860`), K3),
		entry(klSpec(K1Plus, []string{"kl+"}, verlKL+"; 2512.21852",
			"k1+ = d, differentiated as k2", "d", `logp -0.5 -1.2 -2.0, ref -0.9 -0.8 -2.1, roll -0.6 -1.3 -2.2; coefficient 1, token-mean
loss = 0.033333
d loss/d logp = 0.066667 -0.066667 0.016667`), K1Plus),
		entry(klSpec(K3Plus, []string{"low_var_kl+"}, verlKL+"; 2512.21852",
			"k3+ = exp(u) - u - 1, differentiated as k2", "d", `logp -0.5 -1.2 -2.0, ref -0.9 -0.8 -2.1, roll -0.6 -1.3 -2.2; coefficient 1, token-mean
loss = 0.055661
d loss/d logp = 0.066667 -0.066667 0.016667`), K3Plus),
	}
}
