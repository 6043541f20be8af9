package routing

import (
	"context"
	"fmt"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// tkdExperts are the models of moe-tkd, K experts each, and tkdRates the
// injected flips of each: Kδ, memberships that change per decision. At equal Kδ
// the rate δ of one expert falls with K.
var (
	tkdExperts = []int{4, 8, 16, 32}
	tkdRates   = []float64{0.02, 0.06, 0.18}
)

func moeTKD() claim.Claim {
	return claim.Claim{
		ID:        "moe-tkd",
		Title:     "At equal token KL, gradient bias is proportional to experts × flip rate (injected flips, 4 layers)",
		Statement: "At fixed token KL the gradient bias of a routed model is proportional to K·δ, the number of experts times the rate at which a token's membership of one of them flips.",
		Source:    "A conjecture of the survey (P3).",
		Figure:    "bias of order T·K·δ; refuted if it grows less than linearly in K·δ, or if token KL alone predicts it",
		Threshold: "Exponent β of bias² = a·(Kδ)^2β·T^2γ + control², fitted over all cells to the means over models, the control being the bias of logit noise alone at the same token KL; " +
			"its interval, by the jackknife over models, holds 1 and lies above 0.7: supported; below 1: refuted. Reported: the exponent in K in a regression on Kδ and K, that in T, and whether the bias grows with the flips at equal token KL at all.",
		Setup: "Injected, not natural: random models of 4 thin layers with K of 4, 8, 16 and 32 experts, two a token, in fp32 on both sides. Router noise makes Kδ 0.02, 0.06 or 0.18 per decision in every layer, " +
			"a factor of 9, and δ itself one of 72; noise on the output logits fills the exact token KL up to the same value in all cells, within 1e-5. T of 4, 8, 16. " +
			"Bias: norm of the mean gradient of all parameters under the sampler minus the oracle's, over the oracle's, on 1,024 responses of the oracle, actions and logit noise integrated out, " +
			"the noise of the mean taken off its square, which is what is averaged over models. An earlier version took the layers for K, over a factor of 2 in δ, without the control. Tried with seeds 9001 and 9002: T of 32 to 128, " +
			"where at this token KL the sequence weights hang on single responses, and Kδ of 0.008 to 0.072, where most cells are noise. Published gaps flip one router of ten: Kδ of 0.2. At these levels either of the two models shows no excess over its control.",
		LeftOut: "Longer responses, see above. Credit beyond the token that earns the reward: with returns of whole responses the norm would need some 1e5 of them. " +
			"A flip here changes experts at one place; in a real gap flips feed on earlier ones. Warm-started models along K.",
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Refuted,
			Check: "all 2 checks in five seeds; decisive: amplified, injected: exponent of the bias in K·δ: interval holds 1 and lies above 0.7, opposite"},
		Unit:    claim.Model,
		Version: 4,
		Measure: measureTKD,
		Judge:   judgeTKD,
	}
}

func measureTKD(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	lengths := []int{4, 8, 16}
	if e.Size == claim.Tiny {
		lengths = []int{2, 4, 8}
	}
	var models []*gradientBias
	defer func() {
		for _, k := range models {
			k.close()
		}
	}()
	logits, rates, least := make([][][]float32, len(tkdExperts)), make([][][]float64, len(tkdExperts)), 0.0
	for m, experts := range tkdExperts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		k := newGradientBias(e, experts, e.Pick(1024, 64, 4), e.Pick(32, 4, 1), lengths)
		models = append(models, k)
		for _, rate := range tkdRates {
			routes, have := k.flip(k.sizeFor(rate))
			sampler := k.sampler(routes)
			logits[m], rates[m] = append(logits[m], sampler), append(rates[m], have)
			least = max(least, stats.Max(k.tokenKL(sampler, make([]float64, len(lengths)))))
		}
		// The control: logit noise alone.
		logits[m] = append(logits[m], append([]float32(nil), k.logp...))
	}
	cells := map[string][]float64{}
	add := func(name string, v float64) { cells[name] = append(cells[name], v) }
	for m, k := range models {
		var weights [][][]float64
		var kls [][]float64
		for _, sampler := range logits[m] {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			size, kl := k.match(sampler, 1.25*least)
			weights, kls = append(weights, k.difference(sampler, size)), append(kls, kl)
		}
		bias, oracle := k.biases(logits[m], weights)
		control := bias[len(tkdRates)]
		for i := range tkdRates {
			for at, length := range lengths {
				add("K", float64(tkdExperts[m]))
				add("K delta", rates[m][i][at])
				add("T", float64(length))
				add("KL", kls[i][at])
				add("bias²", bias[i][at]/oracle[at])
				add("control²", control[at]/oracle[at])
			}
		}
	}
	o := new(claim.Observation)
	for _, name := range []string{"K", "K delta", "T", "KL", "bias²", "control²"} {
		o.Set(name, cells[name]...)
	}
	return o, nil
}

// tkdMean is the law of the means over models, without model number skip:
// squares of bias and control, and the logarithms of Kδ, T and K. The noise of
// a square grows with the number of flips.
func tkdMean(j *claim.Judge, skip int) *excess {
	var runs claim.Judge
	for i, o := range j.Runs {
		if i != skip {
			runs.Runs = append(runs.Runs, o)
		}
	}
	rates := stats.Each(runs.Mean("K delta"), func(v float64) float64 { return max(v, 1e-6) })
	return &excess{y: runs.Mean("bias²"), floor: runs.Mean("control²"), scale: rates,
		x: [][]float64{stats.Logs(rates), stats.Logs(runs.Mean("T")), stats.Logs(runs.Mean("K"))}}
}

// jackknife gives each model the value that it adds to a statistic of the
// means over models: their mean and deviation are the statistic's.
func jackknife(j *claim.Judge, of func(*excess) float64) []float64 {
	all, n := of(tkdMean(j, -1)), len(j.Runs)
	if n == 1 {
		return []float64{all}
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(float64(n)*all) - float64(float64(n-1)*of(tkdMean(j, i)))
	}
	return out
}

func judgeTKD(j *claim.Judge) {
	exponent := func(k int) []float64 {
		return jackknife(j, func(f *excess) float64 {
			f.x = f.x[:2]
			return f.fit(2, 0)[k] / 2
		})
	}
	withK := func(k int) []float64 {
		return jackknife(j, func(f *excess) float64 { return f.fit(2, 0, 0)[k] / 2 })
	}
	beta := exponent(1)
	j.Primary(linear(claim.Amplified, "injected: exponent of the bias in K·δ", beta))
	if math.IsNaN(stats.Average(beta)) {
		j.Note("Over these models the bias of the flips does not exceed that of logit noise at the same token KL: there is no excess that could have an exponent.")
	}
	j.Secondary(claim.Report(claim.Amplified, "injected: exponent in T", exponent(2)))
	j.Secondary(claim.Report(claim.Amplified, "injected: exponent in K·δ, with K as a second regressor", withK(1)))
	j.Secondary(claim.Report(claim.Amplified, "injected: exponent in K at equal K·δ", withK(3)))
	j.Secondary(claim.Above(claim.Amplified, "injected: bias² over oracle², longest T, most flips minus fewest, at equal token KL", j.Each(func(o *claim.Observation) float64 {
		sum, cells := 0.0, o.List("bias²")
		lengths := tkdLengths(j)
		per := len(tkdRates) * lengths
		for m := range tkdExperts {
			sum += (cells[(m+1)*per-1] - cells[m*per+lengths-1]) / float64(len(tkdExperts))
		}
		return sum
	}), 0))
	last := len(tkdRates) * tkdLengths(j)
	root := func(x []float64) []float64 {
		return stats.Each(x, func(v float64) float64 { return math.Sqrt(max(v, 0)) })
	}
	j.Secondary(claim.Report(claim.Amplified, "bias over oracle at the longest T, K = 4: most flips", root(j.Entry("bias²", last-1))))
	j.Secondary(claim.Report(claim.Amplified, "bias over oracle at the longest T, K = 4: logit noise alone, same KL", root(j.Entry("control²", last-1))))
	j.Evidence.Picture = tkdChart(j)
	j.Evidence.Table = tkdTable(j)
}

// tkdLengths is how many lengths a cell was measured at.
func tkdLengths(j *claim.Judge) int {
	return len(j.Runs[0].List("T")) / len(tkdExperts) / len(tkdRates)
}

// linear is the rule of moe-tkd for an exponent: an interval that holds 1 and
// lies above 0.7 passes, one below 1 is contrary.
func linear(d claim.Level, name string, x []float64) claim.Check {
	i := stats.T(x)
	out := claim.Open
	switch {
	case math.IsNaN(i.Estimate) || math.IsNaN(i.Low):
	case i.High < 1:
		out = claim.Contrary
	case i.Low > 1:
		out = claim.Failed
	case i.Low > 0.7:
		out = claim.Passed
	}
	return claim.Check{Name: name, Level: d, Needs: "interval holds 1 and lies above 0.7", Value: i, P: stats.TTest(x, 0.7), Seeds: x, Outcome: out}
}

// tkdChart draws the bias at the longest T over nominal Kδ, a line per K, with
// two to compare with: proportionality through the most flips, and what logit
// noise does by itself. All are roots of means over models of squares.
func tkdChart(j *claim.Judge) *figure.Figure {
	x := stats.Each(tkdRates, elementary.Log10)
	cells, lengths := tkdMean(j, -1), tkdLengths(j)
	most, alone := 0.0, 0.0
	var arms []figure.Series
	for m, experts := range tkdExperts {
		y := make([]float64, len(x))
		for i := range y {
			cell := (m*len(x)+i+1)*lengths - 1
			y[i] = math.Sqrt(max(cells.y[cell], cells.floor[cell]/100, 1e-12))
			alone += math.Sqrt(max(cells.floor[cell], 0)) / float64(len(x)*len(tkdExperts))
		}
		most += y[len(x)-1] / float64(len(tkdExperts))
		arms = append(arms, figure.Series{Name: fmt.Sprintf("K = %d", experts), Seeds: []figure.Series{{X: x, Y: y}}})
	}
	line, floor := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		line[i], floor[i] = most*elementary.Pow(10, x[i]-x[len(x)-1]), alone
	}
	arms = append(arms, figure.Series{Name: "proportional to K·δ", Seeds: []figure.Series{{X: x, Y: line}}},
		figure.Series{Name: "no flips, same KL", Seeds: []figure.Series{{X: x, Y: floor}}})
	return claim.Chart("Gradient bias over the oracle at equal token KL: flips are injected", "log10 of memberships changed per decision, K·δ", "share of the gradient's norm",
		"At the longest responses. The proportional line ends at the mean of the most flips; the flat one is logit noise alone.", true, arms...)
}

// tkdTable lists the cells.
func tkdTable(j *claim.Judge) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "Cells, flips and compensating logit noise injected", Note: "Means over models. Bias and control: norm of the mean gradient's difference over that of the oracle's gradient, squared."}
	names := []string{"K", "K delta", "T", "KL", "bias²", "control²"}
	columns := make([][]float64, len(names))
	for i, name := range names {
		t.Columns = append(t.Columns, figure.Column{Name: name, Align: figure.Right})
		columns[i] = j.Mean(name)
	}
	for row := range columns[0] {
		var cells []figure.Cell
		for i := range names {
			cells = append(cells, figure.Number(columns[i][row], 3))
		}
		t.Add(cells...)
	}
	return t
}
