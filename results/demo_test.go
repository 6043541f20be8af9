package results

import (
	"math"
	"math/rand/v2"

	"driftlab/results/figure"
)

const demoRecipe = "name: demo\nseed: 7\nsteps: 5\nlearner:\n  lr: 0.001\n"

// demoChart is a collapse and its rescue: three arms of three seeds, with a
// seed that stops early and a value that is not finite.
func demoChart() *figure.Figure {
	c := &figure.Figure{Kind: figure.Lines,
		Title: "Pass rate on held prompts", Metric: "val/pass_rate", X: figure.Axis{Label: "step"}, Y: figure.Axis{Label: "share of prompts solved", High: 1},
		Marks: []figure.Mark{{Name: "base checkpoint", At: 0.45}},
		Note:  "Mean over seeds. The uncorrected run **collapses**; `token_tis` holds.",
	}
	for a, name := range []string{"matched engines", "fp8 rollout, uncorrected", "fp8 rollout, token TIS"} {
		arm := figure.Series{Name: name}
		for seed := range 3 {
			rng := rand.New(rand.NewPCG(uint64(seed), uint64(a)))
			curve := figure.Series{Name: []string{"seed 1", "seed 2", "seed 3"}[seed]}
			n := 61
			if a == 1 && seed == 2 {
				n = 50
			}
			for i := range n {
				x := float64(5 * i)
				y := 0.45 + 0.5*(1-math.Exp(-x/60))
				switch a {
				case 1:
					y -= 0.8 / (1 + math.Exp(-(x-150-20*float64(seed))/12))
				case 2:
					y -= 0.06
				}
				y = min(max(y+0.025*rng.NormFloat64(), 0), 1)
				if a == 2 && seed == 0 && i == 30 {
					y = math.NaN()
				}
				curve.X, curve.Y = append(curve.X, x), append(curve.Y, y)
			}
			arm.Seeds = append(arm.Seeds, curve)
		}
		c.Series = append(c.Series, arm)
	}
	return c
}

// demoKL is a chart over many decades with exact zeros, which a log axis cannot show.
func demoKL() *figure.Figure {
	c := demoChart()
	c.Title, c.Metric, c.Y.Label, c.Y.Log = "Training-inference mismatch (k3)", "rollout_corr/k3_kl", "nats per token", true
	c.Y.High, c.Marks, c.Note = 0, nil, ""
	for a := range c.Series {
		for s := range c.Series[a].Seeds {
			for i, y := range c.Series[a].Seeds[s].Y {
				c.Series[a].Seeds[s].Y[i] = math.Pow(10, -5*y) * []float64{0, 1, 0.1}[a]
			}
		}
	}
	return c
}

// demoBars is a gap per number format, one of them exactly zero.
func demoBars() *figure.Figure {
	return &figure.Figure{Kind: figure.Bars,
		Title: "Gap at equal weights, per number format", Y: figure.Axis{Label: "mean |d log-prob| (nats), log scale", Log: true},
		Labels: []string{"fp32, same order", "fp32, other order", "fp16", "bf16", "bf16, tensor parallel 4", "fp8-w8a8"},
		Series: []figure.Series{
			{Name: "own routes", Y: []float64{0, 2e-7, 4e-4, 3e-3, 4.2e-3, 6e-2}, Low: []float64{0, 1e-7, 3e-4, 2e-3, 3.5e-3, 5e-2}, High: []float64{0, 3e-7, 5e-4, 4e-3, 5e-3, 7.5e-2}},
			{Name: "routes replayed", Y: []float64{0, 1.5e-7, 2.2e-4, 1.2e-3, 1.9e-3, 3.1e-2}, Low: []float64{0, 1e-7, 2e-4, 1e-3, 1.5e-3, 2.5e-2}, High: []float64{0, 2e-7, 3e-4, 1.6e-3, 2.2e-3, 4e-2}},
		},
	}
}

// demoPanels are four charts under one legend.
func demoPanels() *figure.Figure {
	a, b, c, d := *demoChart(), *demoKL(), *demoChart(), *demoKL()
	c.Title, d.Title = "Training reward", "A metric without data"
	d.Series = nil
	return &figure.Figure{Kind: figure.Multiples, Title: "One collapse, four views", Parts: []figure.Figure{a, b, c, d}}
}

// demoReport has every kind of block.
func demoReport() Report {
	verdicts := &figure.Figure{Kind: figure.Table,
		Title: "What each correction did",
		Columns: []figure.Column{{Name: "arm"}, {Name: "rollout"}, {Name: "peak", Unit: "pass rate", Align: figure.Right}, {Name: "final", Unit: "pass rate", Align: figure.Right},
			{Name: "lost", Unit: "of the peak", Align: figure.Right}, {Name: "k3 at the end", Unit: "nats per token", Align: figure.Right}, {Name: "verdict"}},
		Note: "Peak: best evaluation of a seed. Final: mean of its last ten. Three seeds each; `±` is half the range.",
	}
	verdicts.Add(figure.Word("matched engines"), figure.Word("bf16"), figure.Number(0.951, 3), figure.Number(0.934, 3), figure.Percent(0.018, 0), figure.Number(0, 2), figure.Word("no collapse").As(figure.Good))
	verdicts.Add(figure.Word("uncorrected"), figure.Word("fp8-w8a8"), figure.Number(0.724, 3), figure.Number(0.142, 3).As(figure.Bad), figure.Percent(0.804, 0).As(figure.Bad), figure.Number(0.31, 2), figure.Word("collapsed in 3 of 3").As(figure.Bad))
	verdicts.Add(figure.Word("token TIS, cap 2"), figure.Word("fp8-w8a8"), figure.Number(0.903, 3), figure.Number(0.872, 3), figure.Percent(0.034, 0), figure.Number(0.0042, 2), figure.Word("no collapse").As(figure.Good))
	verdicts.Add(figure.Word("geometric mask 0.99 to 1.01"), figure.Word("fp8-w8a8"), figure.Number(0.81, 3), figure.Number(0.44, 3).As(figure.Warn), figure.Percent(0.457, 0).As(figure.Warn), figure.Number(0.09, 2), figure.Word("collapsed in 1 of 3").As(figure.Warn))
	reward := *demoChart()
	reward.Title, reward.Metric, reward.Y.Label, reward.Marks, reward.Note = "Training reward", "critic/score/mean", "mean score of the rollouts", nil, ""
	grad := *demoKL()
	grad.Title, grad.Metric, grad.Y.Label, grad.Y.Log = "Gradient norm", "actor/grad_norm", "", false
	gaps := demoBars()
	gaps.Note = "Bars: mean over 2,048 tokens. Whiskers: lowest and highest of five seeds."
	return Report{
		Title: "Two engines, one model: a collapse and its rescue", Eyebrow: "simulate · 12 runs · seeds 1 to 3",
		Lead:   "The rollout engine samples in **fp8**, the learner trains in bf16. Without a correction every run loses most of what it learnt; weighting tokens by the capped importance ratio (`token_tis`) holds it.",
		Badges: []Badge{{"collapse reproduced", figure.Bad}, {"token TIS rescues", figure.Good}, {"masks: undecided", figure.Warn}, {"3 seeds", figure.Plain}},
		Facts:  []Fact{{"runs", "12"}, {"steps each", "300"}, {"seeds", "3"}, {"parameters", "92,352"}, {"tokens trained", "4.1 M"}},
		Sections: []Section{
			{Heading: "The gap at equal weights", Badges: []Badge{{"measured", figure.Good}}, Blocks: []Block{
				Prose("Both engines hold the same weights; only the number format differs. Equal formats give equal bits, so the first row is exactly **0**, not small."),
				gaps,
			}},
			{Heading: "The collapse", Badges: []Badge{{"reproduced", figure.Bad}}, Blocks: []Block{
				Prose("With the positive advantages dropped, the fp8 rollout engine alone is enough. No staleness is involved: <every> rollout comes from the current weights."),
				demoChart(), Charts{*demoKL(), reward, grad, {Kind: figure.Lines, Title: "A metric nobody logged", X: figure.Axis{Label: "step"}}}, verdicts,
			}},
			{Heading: "All other metrics", Blocks: []Block{
				&figure.Figure{Kind: figure.Strip, Note: "Coloured by the ratio.", Lines: []figure.Line{{Title: "Response 3", Tokens: demoTokens()}}},
				Fold{Summary: "4 more metrics", Blocks: []Block{Charts{reward, *demoKL()}}},
				Code("simulate report runs/headline\nopen runs/headline/report.html"),
			}},
		},
		Reruns: []Rerun{
			{"fp8 rollout, token TIS", "simulate train fp8-rollout-token-tis --seed 1 --out runs/tis", demoRecipe},
			{"fp8 rollout, uncorrected", "simulate train fp8-rollout-token-tis --set correction.weights.name=none --seed 1 --out runs/uncorrected-with-a-rather-long-folder-name", demoRecipe},
		},
		Glossary: []Term{
			{Name: "rollout_corr/k3_kl", Unit: "nats per token", Formula: "k₃ = mean(exp(e) − 1 − e),  e = log π_old − log μ", Meaning: "Estimate of KL(μ ‖ π_old) that is never negative.", Source: "Schulman 2020; verl rollout_corr_helper"},
			{Name: "val/pass_rate", Formula: "mean over held prompts of 1[correct]", Meaning: "Sampled pass rate of the current weights in the learner's engine."},
		},
	}
}

// demoTokens run through all shades.
func demoTokens() []figure.Token {
	var list []figure.Token
	for i := range 120 {
		list = append(list, figure.Token{Text: figure.FormatNumber(float64(1000+37*i), 4), Note: "d", Level: RatioLevel(float64(i-60) / 60)})
	}
	return list
}
