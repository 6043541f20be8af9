package loss

import "driftlab/trainer/method/golden"

// swiftMatchers are those of ms-swift and of verl's recipes.
var swiftMatchers = []golden.Matcher{
	{File: "ms-swift/fipo*.json", Match: matchFIPO},
	{File: "ms-swift/real*.json", Match: matchREAL},
	{File: "verl-recipe/gvpo*.json", Match: matchGVPO},
}

// swiftKL adds ms-swift's penalty, of which the loss has the mean over tokens.
func swiftKL(c *golden.Case, k *golden.Check, out *Grad) {
	beta := c.Params.Float("beta")
	if beta == 0 {
		return
	}
	kl := &KLTerm{Coef: beta, In: InLoss, Bounds: VerlBounds, estimator: K3}
	if err := kl.AddLoss(out, paperBatch(c)); err != nil {
		k.Fail("%v", err)
	}
}

func matchFIPO(c *golden.Case, k *golden.Check) {
	p, b := c.Params, paperBatch(c)
	l := &FIPO{EpsLow: p.Float("epsilon_low"), EpsHigh: p.Float("epsilon_high"), Delta: p.FloatOr("delta", 0), HalfLife: p.Float("fipo_decay_rate"),
		ClipRange: p.FloatOr("fipo_clip_range", 0), ClipHighOnly: p.Bool("fipo_clip_high_only"), SafetyThreshold: p.FloatOr("fipo_safety_threshold", 0)}
	out := evaluate(k, l, b)
	k.Vector("influence_weight", out.work(2, 0)[:b.Tokens()])
	swiftKL(c, k, out)
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
	for _, name := range []string{"future_kl_mean", "influence_weight_mean", "safety_keep_ratio"} {
		value, _ := out.Metric("fipo/" + name)
		k.Scalar(name, value)
	}
}

func matchREAL(c *golden.Case, k *golden.Check) {
	b := paperBatch(c)
	b.Group = golden.Groups(c.Inputs.Strings("group"))
	out := evaluate(k, &REAL{Tau: c.Params.Float("real_tau")}, b)
	swiftKL(c, k, out)
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
}

func matchGVPO(c *golden.Case, k *golden.Check) {
	b := paperBatch(c)
	b.Group = golden.Groups(c.Inputs.Strings("group"))
	out := evaluate(k, &GVPO{Beta: c.Params.Float("gvpo_beta")}, b)
	k.Scalar("loss", out.Loss)
	if c.Outputs.Has("grad") {
		k.Vector("grad", out.DLogp)
	}
}
