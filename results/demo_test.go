package results

import (
	"math"
	"math/rand/v2"
)

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
