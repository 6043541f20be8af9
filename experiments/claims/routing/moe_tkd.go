package routing

import (
	"context"
	"fmt"
	"math"

	"driftlab/experiments/claim"
	"driftlab/experiments/stats"
	"driftlab/precision/elementary"
	"driftlab/results"
)

// tkdSetting is a sampler of moe-tkd: how many layers have flips, which of the
// flip rates, and which of the token KLs the logit noise fills up to.
type tkdSetting struct{ layers, rate, kl int }

// tkdSettings are half of all combinations, chosen so that layers, rate and KL
// vary independently of each other.
var tkdSettings = []tkdSetting{
	{1, 0, 0}, {2, 1, 0}, {4, 0, 0}, {8, 1, 0},
	{1, 1, 1}, {2, 0, 1}, {4, 1, 1}, {8, 0, 1},
}

// tkdRates are the injected shares of flipped decisions per layer, and
// tkdKLSteps how the two token KLs compare.
var (
	tkdRates   = []float64{0.003, 0.006}
	tkdKLSteps = []float64{1, 1.5}
)

func moeTKD() claim.Claim {
	return claim.Claim{
		ID:        "moe-tkd",
		Title:     "At equal token KL, gradient bias follows length × layers × flip rate",
		Statement: "Gradient bias in routed models scales with length x layers x flip rate even at fixed token KL (a conjecture).",
		Source:    "A conjecture of the survey.",
		Figure:    "bias of order T·K·δ; refuted if it grows less than linearly in K·δ, or if token KL alone predicts it",
		Threshold: "Exponent of the bias in K·δ, from log bias on log Kδ, log KL and log T per seed: interval holds 1 and lies above 0.7: supported; interval below 1: refuted. " +
			"Partial R² of log Kδ given log KL and log T above 0.1 in every seed.",
		Setup: "Injected, not natural: a random model of 8 thin layers (0.13 million parameters) in fp32 on both sides. At K of 1, 2, 4, 8 layers router noise flips a share δ of 0.3 % or 0.6 % " +
			"of the decisions; noise on the output logits fills the exact token KL up to one of two values, the same for all K and δ, within 1e-5. T of 64, 128, 256. " +
			"Bias: norm of the mean gradient of all parameters under the sampler minus the oracle's, on 256 responses of the oracle, actions and logit noise integrated out, " +
			"the noise of the mean taken off.",
		LeftOut: "Credit beyond the token that earns the reward: with returns of whole responses the norm would need some 1e5 of them. " +
			"A flip here changes experts at one place; in a real gap flips feed on earlier ones.",
		Unit:    claim.Model,
		Version: 2,
		Measure: measureTKD,
		Judge:   judgeTKD,
	}
}

func measureTKD(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	lengths := []int{64, 128, 256}
	if e.Size == claim.Tiny {
		lengths = []int{4, 8, 16}
	}
	k := newGradientBias(e, e.Pick(256, 32, 4), e.Pick(16, 4, 1), lengths)
	defer k.close()
	sizes := make([]float64, len(tkdRates))
	for i, rate := range tkdRates {
		sizes[i] = k.sizeFor(rate)
	}
	var logits [][]float32
	rates, least := make([][]float64, len(tkdSettings)), 0.0
	for i, s := range tkdSettings {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var routes []uint8
		routes, rates[i] = k.flip(sizes[s.rate], chosenLayers(s.layers, k.params.Config.Layers))
		logits = append(logits, k.sampler(routes))
		for _, kl := range k.tokenKL(logits[i], make([]float64, len(lengths))) {
			least = max(least, kl/tkdKLSteps[s.kl])
		}
	}
	settings := append(append([]tkdSetting{}, tkdSettings...), tkdSetting{0, 0, 0}, tkdSetting{0, 0, 1})
	var weights [][][]float64
	kls := make([][]float64, len(settings))
	for i, s := range settings {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s.layers == 0 { // a control: logit noise alone
			logits = append(logits, append([]float32(nil), k.logp...))
		}
		var size []float64
		size, kls[i] = k.match(logits[i], 1.25*least*tkdKLSteps[s.kl])
		weights = append(weights, k.difference(logits[i], size))
	}
	bias, oracle := k.biases(logits, weights)
	return k.observe(settings, rates, kls, bias, oracle), nil
}

// observe lists the cells, one entry per setting and length, controls apart.
func (k *gradientBias) observe(settings []tkdSetting, rates, kls, bias [][]float64, oracle []float64) *claim.Observation {
	cells := map[string][]float64{}
	add := func(name string, v float64) { cells[name] = append(cells[name], v) }
	for i, s := range settings {
		kl := 0.0 // of the prefix, from those of its segments
		for at, length := range k.lengths {
			from, to := k.segment(at)
			kl += float64(kls[i][at] * float64(to-from))
			if s.layers == 0 {
				add("noise alone", bias[i][at]/oracle[at])
				continue
			}
			add("K", float64(s.layers))
			add("delta", rates[i][at])
			add("T", float64(length))
			add("KL", kl/float64(length))
			add("bias", bias[i][at])
			add("relative bias", bias[i][at]/oracle[at])
		}
	}
	o := new(claim.Observation)
	for _, name := range []string{"K", "delta", "T", "KL", "bias", "relative bias", "noise alone"} {
		o.Set(name, cells[name]...)
	}
	o.Set("oracle", oracle...)
	return o
}

// tkdLogs are the logarithms of the columns of a regression: flips per token,
// token KL and length.
func tkdLogs(o *claim.Observation) (bias, flips, kl, length []float64) {
	delta := o.List("delta")
	flips = make([]float64, len(delta))
	for i, layers := range o.List("K") {
		flips[i] = elementary.Log(layers * max(delta[i], 1e-6))
	}
	return stats.Logs(o.List("bias")), flips, stats.Logs(o.List("KL")), stats.Logs(o.List("T"))
}

func judgeTKD(j *claim.Judge) {
	slope := func(k int) []float64 {
		return j.Each(func(o *claim.Observation) float64 {
			bias, flips, kl, length := tkdLogs(o)
			_, slopes := stats.Regress(bias, flips, kl, length)
			return slopes[k]
		})
	}
	linear(j, claim.Amplified, "injected: exponent of the bias in K·δ", slope(0))
	j.Primary(claim.Above(claim.Amplified, "injected: partial R² of Kδ given KL and T", j.Each(func(o *claim.Observation) float64 {
		bias, flips, kl, length := tkdLogs(o)
		return stats.PartialR2(bias, flips, kl, length)
	}), 0.1))
	apart := func(k int) []float64 {
		return j.Each(func(o *claim.Observation) float64 {
			bias, _, kl, length := tkdLogs(o)
			delta := stats.Logs(o.List("delta"))
			for i, v := range delta {
				delta[i] = max(v, elementary.Log(1e-6))
			}
			_, slopes := stats.Regress(bias, stats.Logs(o.List("K")), delta, kl, length)
			return slopes[k]
		})
	}
	j.Also(claim.Report(claim.Amplified, "injected: exponent in K alone", apart(0)))
	j.Also(claim.Report(claim.Amplified, "injected: exponent in δ alone", apart(1)))
	net := j.Each(func(o *claim.Observation) float64 {
		_, flips, kl, length := tkdLogs(o)
		_, slopes := stats.Regress(stats.Logs(netBias(o)), flips, kl, length)
		return slopes[0]
	})
	j.Also(claim.Report(claim.Amplified, "injected: exponent in K·δ, the bias of logit noise alone taken off in squares", net))
	j.Also(claim.Report(claim.Amplified, "injected: exponent in the token KL", slope(1)))
	j.Also(claim.Report(claim.Amplified, "injected: exponent in T", slope(2)))
	lengths := len(j.Runs[0].List("oracle"))
	last := func(figure string, cell int) []float64 { return j.Entry(figure, cell*lengths+lengths-1) }
	j.Also(claim.Report(claim.Amplified, "bias over oracle at the longest T: most flips", last("relative bias", 3)))
	j.Also(claim.Report(claim.Amplified, "bias over oracle at the longest T: fewest flips", last("relative bias", 0)))
	j.Also(claim.Report(claim.Amplified, "bias over oracle at the longest T: logit noise alone, same KL", last("noise alone", 0)))
	raw, i := stats.T(slope(0)), stats.T(net)
	j.Note("The logit noise that holds the token KL equal has a bias of its own, %.2g of the oracle's norm at the longest T, which flattens the curve where flips are few: "+
		"the exponent is %.2f as judged, and %.2f [%.2f, %.2f] with that bias taken off in squares.", stats.Average(last("noise alone", 0)), raw.Estimate, i.Estimate, i.Low, i.High)
	j.Evidence.Picture = tkdChart(j, lengths)
	j.Evidence.Table = tkdTable(j)
}

// netBias is the bias of every cell, relative to the oracle, without that of the
// control of equal token KL and length, in squares, and not below a tenth of itself.
func netBias(o *claim.Observation) []float64 {
	out, alone := append([]float64(nil), o.List("relative bias")...), o.List("noise alone")
	lengths := len(o.List("oracle"))
	for i, b := range out {
		control := alone[tkdSettings[i/lengths].kl*lengths+i%lengths]
		out[i] = math.Sqrt(max(float64(b*b)-float64(control*control), 0.01*b*b))
	}
	return out
}

// linear is the rule of moe-tkd for an exponent: an interval that holds 1 and
// lies above 0.7 passes, one below 1 is contrary.
func linear(j *claim.Judge, d claim.Dose, name string, x []float64) {
	i := stats.T(x)
	out := claim.Open
	switch {
	case math.IsNaN(i.Estimate):
	case i.High < 1:
		out = claim.Contrary
	case i.Low > 1:
		out = claim.Failed
	case i.Low > 0.7:
		out = claim.Passed
	}
	j.Also(claim.Check{Name: name, Dose: d, Needs: "interval holds 1 and lies above 0.7", Value: i, Seeds: x, Outcome: out})
}

// tkdChart draws the bias over nominal flips per token, a line per length, two
// lines to compare with: proportionality through the fewest flips, and what
// logit noise does by itself. Cells of equal K·δ are averaged: their token KL is
// one of two values that have nothing to do with their place on the axis.
func tkdChart(j *claim.Judge, lengths int) results.Figure {
	var arms []results.Arm
	var x []float64
	for at := range lengths {
		arm := results.Arm{Name: fmt.Sprintf("T = %g", j.Runs[0].List("T")[at])}
		for n, o := range j.Runs {
			var y []float64
			x, y = tkdCurve(o.List("relative bias"), at, lengths)
			arm.Seeds = append(arm.Seeds, results.Curve{Name: fmt.Sprintf("seed %d", j.Seeds[n]), X: x, Y: y})
		}
		arms = append(arms, arm)
	}
	longest := arms[lengths-1].Seeds
	start, alone := 0.0, stats.Average(j.Entry("noise alone", lengths-1))
	for _, c := range longest {
		start += c.Y[0] / float64(len(longest))
	}
	line, floor := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		line[i], floor[i] = start*elementary.Pow(10, x[i]-x[0]), alone
	}
	arms = append(arms, results.Arm{Name: "proportional to K·δ", Seeds: []results.Curve{{X: x, Y: line}}},
		results.Arm{Name: "no flips, same KL", Seeds: []results.Curve{{X: x, Y: floor}}})
	return claim.Chart("Gradient bias over the oracle at equal token KL: flips are injected", "log10 of flips per token, K·δ", "share of the gradient's norm",
		"The proportional line starts at the fewest flips of the longest responses; the flat one is logit noise alone at the lower KL.", true, arms...)
}

// tkdCurve is a figure of one length over the logarithm of nominal flips per
// token, cells of equal flips averaged.
func tkdCurve(figure []float64, at, lengths int) (x, y []float64) {
	flips := make([]float64, len(tkdSettings))
	for i, s := range tkdSettings {
		flips[i] = elementary.Log10(float64(s.layers) * tkdRates[s.rate])
	}
	count := 0.0
	for _, i := range stats.Order(flips) {
		v := figure[i*lengths+at]
		if n := len(x); n > 0 && flips[i]-x[n-1] < 1e-9 {
			count++
			y[n-1] += (v - y[n-1]) / count
			continue
		}
		x, y, count = append(x, flips[i]), append(y, v), 1
	}
	return x, y
}

// tkdTable lists the cells.
func tkdTable(j *claim.Judge) *results.Table {
	t := &results.Table{Title: "Cells, flips and compensating logit noise injected", Note: "Means over seeds. Bias over oracle: norm of the mean gradient's difference over that of the oracle's gradient."}
	names := []string{"K", "delta", "T", "KL", "bias", "relative bias"}
	for _, name := range names {
		t.Columns = append(t.Columns, results.TableColumn{Name: name, Align: results.Right})
	}
	columns := make([][]float64, len(names))
	for i, name := range names {
		columns[i] = j.Mean(name)
	}
	for row := range columns[0] {
		var cells []results.Cell
		for i := range names {
			cells = append(cells, results.Number(columns[i][row], 3))
		}
		t.Add(cells...)
	}
	return t
}
