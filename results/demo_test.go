package results

import (
	"math"
	"math/rand/v2"
)

const demoRecipe = "name: demo\nseed: 7\nsteps: 5\nlearner:\n  lr: 0.001\n"

// demoChart is a collapse and its rescue: three arms of three seeds, with a
// seed that stops early and a value that is not finite.
func demoChart() *Chart {
	c := &Chart{
		Title: "Pass rate on held prompts", Metric: "val/pass_rate", XLabel: "step", YLabel: "share of prompts solved",
		YRange: [2]float64{0, 1}, References: []Reference{{"base checkpoint", 0.45}},
		Caption: "Mean over seeds. The uncorrected run **collapses**; `token_tis` holds.",
	}
	for a, name := range []string{"matched engines", "fp8 rollout, uncorrected", "fp8 rollout, token TIS"} {
		arm := Arm{Name: name}
		for seed := range 3 {
			rng := rand.New(rand.NewPCG(uint64(seed), uint64(a)))
			curve := Curve{Name: []string{"seed 1", "seed 2", "seed 3"}[seed]}
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
		c.Arms = append(c.Arms, arm)
	}
	return c
}

// demoKL is a chart over many decades with exact zeros, which a log axis cannot show.
func demoKL() *Chart {
	c := demoChart()
	c.Title, c.Metric, c.YLabel, c.LogY = "Gap between the engines (k3)", "rollout_corr/k3_kl", "nats per token", true
	c.YRange, c.References, c.Band, c.Caption = [2]float64{}, nil, Band95, ""
	for a := range c.Arms {
		for s := range c.Arms[a].Seeds {
			for i, y := range c.Arms[a].Seeds[s].Y {
				c.Arms[a].Seeds[s].Y[i] = math.Pow(10, -5*y) * []float64{0, 1, 0.1}[a]
			}
		}
	}
	return c
}

// demoBars is a gap per number format, one of them exactly zero.
func demoBars() *Bars {
	return &Bars{
		Title: "Gap at equal weights, per number format", ValueLabel: "mean |d log-prob| (nats), log scale", Log: true,
		Categories: []string{"fp32, same order", "fp32, other order", "fp16", "bf16", "bf16, tensor parallel 4", "fp8-w8a8"},
		Groups: []BarGroup{
			{"own routes", []float64{0, 2e-7, 4e-4, 3e-3, 4.2e-3, 6e-2}, []float64{0, 1e-7, 3e-4, 2e-3, 3.5e-3, 5e-2}, []float64{0, 3e-7, 5e-4, 4e-3, 5e-3, 7.5e-2}},
			{"routes replayed", []float64{0, 1.5e-7, 2.2e-4, 1.2e-3, 1.9e-3, 3.1e-2}, []float64{0, 1e-7, 2e-4, 1e-3, 1.5e-3, 2.5e-2}, []float64{0, 2e-7, 3e-4, 1.6e-3, 2.2e-3, 4e-2}},
		},
	}
}

// demoPanels are four charts under one legend.
func demoPanels() *Panels {
	a, b, c, d := *demoChart(), *demoKL(), *demoChart(), *demoKL()
	c.Title, d.Title = "Training reward", "A metric without data"
	d.Arms = nil
	return &Panels{Title: "One collapse, four views", Charts: []Chart{a, b, c, d}}
}

// demoReport has every kind of block.
func demoReport() Report {
	verdicts := &Table{
		Title: "What each correction did",
		Columns: []TableColumn{{Name: "arm"}, {Name: "rollout"}, {Name: "peak", Unit: "pass rate", Align: Right}, {Name: "final", Unit: "pass rate", Align: Right},
			{Name: "lost", Unit: "of the peak", Align: Right}, {Name: "k3 at the end", Unit: "nats per token", Align: Right}, {Name: "verdict"}},
		Note: "Peak: best evaluation of a seed. Final: mean of its last ten. Three seeds each; `±` is half the range.",
	}
	verdicts.Add(Word("matched engines"), Word("bf16"), Number(0.951, 3), Number(0.934, 3), Percent(0.018, 0), Number(0, 2), Word("held").As(Good))
	verdicts.Add(Word("uncorrected"), Word("fp8-w8a8"), Number(0.724, 3), Number(0.142, 3).As(Bad), Percent(0.804, 0).As(Bad), Number(0.31, 2), Word("collapsed in 3 of 3").As(Bad))
	verdicts.Add(Word("token TIS, cap 2"), Word("fp8-w8a8"), Number(0.903, 3), Number(0.872, 3), Percent(0.034, 0), Number(0.0042, 2), Word("held").As(Good))
	verdicts.Add(Word("geometric mask 0.99 to 1.01"), Word("fp8-w8a8"), Number(0.81, 3), Number(0.44, 3).As(Warn), Percent(0.457, 0).As(Warn), Number(0.09, 2), Word("collapsed in 1 of 3").As(Warn))
	reward := *demoChart()
	reward.Title, reward.Metric, reward.YLabel, reward.References, reward.Caption = "Training reward", "critic/score/mean", "mean score of the rollouts", nil, ""
	grad := *demoKL()
	grad.Title, grad.Metric, grad.YLabel, grad.LogY = "Gradient norm", "actor/grad_norm", "", false
	return Report{
		Title: "Two engines, one model: a collapse and its rescue", Eyebrow: "simulate · 12 runs · seeds 1 to 3",
		Lead:   "The rollout engine samples in **fp8**, the learner trains in bf16. Without a correction every run loses most of what it learnt; weighting tokens by the capped importance ratio (`token_tis`) holds it.",
		Badges: []Badge{{"collapse reproduced", Bad}, {"token TIS rescues", Good}, {"masks: undecided", Warn}, {"3 seeds", Plain}},
		Facts:  []Fact{{"runs", "12"}, {"steps each", "300"}, {"seeds", "3"}, {"parameters", "92,352"}, {"tokens trained", "4.1 M"}},
		Sections: []Section{
			{Heading: "The gap at equal weights", Badges: []Badge{{"measured", Good}}, Blocks: []Block{
				Prose("Both engines hold the same weights; only the number format differs. Equal formats give equal bits, so the first row is exactly **0**, not small."),
				Drawing{demoBars(), "Bars: mean over 2,048 tokens. Whiskers: lowest and highest of five seeds."}, demoTable(),
			}},
			{Heading: "The collapse", Badges: []Badge{{"reproduced", Bad}}, Blocks: []Block{
				Prose("With the positive advantages dropped, the fp8 rollout engine alone is enough. No staleness is involved: <every> rollout comes from the current weights."),
				demoChart(), Charts{*demoKL(), reward, grad, {Title: "A metric nobody logged", XLabel: "step"}}, verdicts,
			}},
			{Heading: "Everything else on record", Blocks: []Block{
				Tokens{"Coloured by the ratio.", []TokenLine{{"Response 3", demoTokens()}}},
				Fold{"4 more metrics", []Block{Charts{reward, *demoKL()}}},
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
func demoTokens() []Token {
	var list []Token
	for i := range 120 {
		list = append(list, Token{Text: FormatNumber(float64(1000+37*i), 4), Note: "d", LogRatio: float64(i-60) / 60})
	}
	return list
}
