package advantage

import "driftlab/trainer/method"

// Registry lists the estimators a recipe can name under advantage.
var Registry = method.Table[Estimator]{
	{Spec: method.Spec{
		Name: "grpo", Group: "advantage", Unit: method.Group,
		Source:   "arXiv 2402.03300; std: false is Dr. GRPO, arXiv 2503.20783; verl, SkyRL, TRL",
		Formula:  "A_i = (R_i − mean_g)/(std_g + eps), the same on every token",
		Gradient: "constant",
		Needs:    []string{"Reward", "Group"},
	}, New: func() Estimator { return &GRPO{Asymmetry: symmetric, Std: true, Eps: 1e-6, Singleton: "raw"} }},
}
