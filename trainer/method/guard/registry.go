package guard

import (
	_ "embed"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// examples are the worked examples of the specs: input, parameters, result. A test recomputes them;
// go test -run WorkedExamples -update writes them.
//
//go:embed examples.txt
var examples string

// Registry lists the guards a recipe can name under guards.
var Registry = method.Table[Guard]{
	{Spec: method.Spec{
		Name: "ess_lr", Aliases: []string{"vcpo_lr"}, Unit: method.Optimiser,
		Source:  "VCPO, arXiv 2602.17616; mit-han-lab/vcpo",
		Formula: "lr ← lr·sqrt(min(1, ess/base)),  ess = (Σw)²/(Σw² + 1e-8)/B,  w_i = exp(Σ_t (old_t − roll_t))",
		Needs:   batch.Columns{batch.LogpOld, batch.LogpRoll},
	}, New: func() Guard { return &ESSLearningRate{Base: 1, Rule: "sqrt"} }},
	{Spec: method.Spec{
		Name: "length_surge", Aliases: []string{"length_decay"}, Unit: method.Optimiser,
		Source:         "arXiv 2602.01826, read in a reproduction recipe",
		Formula:        "lr ← lr·max(decay^floor((t − t_s)/(stretch·t_s)), floor) after the first t_s with length ≥ factor·baseline",
		Reconstruction: "baseline rule of the reproduction recipe; rule: ratio is the other reading (growth within warmup steps, decay once)",
	}, New: func() Guard {
		return &LengthSurge{Rule: "baseline", Factor: 3, Warmup: 50, Decay: 0.5, Stretch: 1.8, Floor: 0.1}
	}},
	{Spec: method.Spec{
		Name: "gradient_alignment", Aliases: []string{"gac"}, Unit: method.Optimiser,
		Source:         "GAC, arXiv 2603.01501 (abstract and a note)",
		Formula:        "c = cos(g, g_prev): c ≤ low: g;  low < c < high: g − (1 − low/c)·⟨g,u⟩·u;  c ≥ high: skip",
		Gradient:       "the part along the previous raw gradient is reduced",
		Reconstruction: "thresholds 0.1 and 0.9 are this project's; the parallel share left is low/c, full: true removes all of it",
	}, New: func() Guard { return &GradientAlignment{Low: 0.1, High: 0.9} }},
}.Filled(method.Spec{Group: "guard", Gradient: "unchanged"}, examples)
