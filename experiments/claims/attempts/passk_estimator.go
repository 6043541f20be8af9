package attempts

import (
	"context"
	"math"
	"math/rand/v2"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
	"driftlab/results/stats/passk"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

// fewSamples is what the estimators of passk-estimator see of a prompt, and
// indicatorK the attempts for which single draws of k are compared.
const (
	fewSamples = 32
	indicatorK = 8
)

// passkKs are the attempts of the picture; the last is judged.
var passkKs = []int{1, 4, 16, 32, 64, 128, 256, 320}

// passkRanges are the difficulties of the prompts.
var passkRanges = []struct{ name, difficulty string }{
	{"hard", "[6, 12]"}, {"familiar", "[3, 8]"},
}

func passkEstimator() claim.Claim {
	return claim.Claim{
		ID:        "passk-estimator",
		Title:     "Ten times beyond the samples a fitted Beta distribution predicts pass@k better than each prompt by itself",
		Statement: "For k ten times the samples per prompt, the beta-binomial fit over prompts misses pass@k by less than 1 - (1 - c/N)^k does.",
		Source:    "Kazdan et al., 2510.05197; a practitioner's account of pass@k; the estimator of 2107.03374.",
		Figure:    "1 - C(N-c, k)/C(N, k) is unbiased; p = 0.05 has pass@10 = 0.40, p = 0.15 has 0.80; N = 32 is often sufficient to rank checkpoints",
		Threshold: "Mean |error| of pass@320 from 32 samples per prompt, Beta over per-prompt extrapolation, geometric mean over models: interval below 1. Reported: that ratio for pass@16 of familiar prompts; " +
			"the bias of counting and of extrapolation at k = 8 and 32; the variance of single draws of 8 over the combinatorial estimate's from 32; the rank correlation of the models' pass@1 by 32 samples with the truth.",
		Setup: "Models of a warm start each, on 48 held-out prompts of 6 to 12 operations, most of them harder than any in the warm start; 2,048 samples per prompt are the truth. Estimators see disjoint random 32 of them, 64 times over. " +
			"Also checked: prompts of 3 to 8 operations, all of which are solved within some 16 attempts.",
		Commands: []string{"simulate evaluate default --set task.difficulty=[6,12] --samples 32 --k 1,16,64,320"},
		Declared: claim.BeforeResults,
		Unit:     claim.Model,
		Version:  1,
		Measure:  measurePassk,
		Judge:    judgePassk,
	}
}

func measurePassk(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	p, err := e.Base(ctx, 0)
	if err != nil {
		return nil, err
	}
	for i, of := range passkRanges {
		r, err := recipe.Load("default", "task={name: chain, difficulty: "+of.difficulty+"}")
		if err != nil {
			return nil, err
		}
		r.Seed = e.Seed
		samples := e.Pick(2048, 512, 10*fewSamples)
		all, err := trainer.Evaluate(ctx, p, r, trainer.Attempts{Prompts: e.Pick(48, 24, 4), Samples: samples}, trainer.Options{Cores: e.Cores})
		if err != nil {
			return nil, err
		}
		estimatePassk(o, of.name, all, e.Rand(uint64(i)))
	}
	return o, nil
}

// estimatePassk compares estimates from few samples with those from all.
func estimatePassk(o *claim.Observation, name string, all trainer.Evaluation, rng *rand.Rand) {
	samples := all.Prompts[0].Samples
	blocks := samples / fewSamples
	few := make([][]passk.Tally, blocks)
	var whole []passk.Tally
	for _, p := range all.Prompts {
		whole = append(whole, p.Tally)
		for i, c := range partition(rng, p.Correct, samples) {
			few[i] = append(few[i], passk.Tally{Correct: c, Samples: fewSamples})
		}
	}
	var truth, beta, plugIn, betaError, plugInError []float64
	for _, k := range passkKs {
		want := passk.Mean(whole, k)
		var b, p, bMiss, pMiss []float64
		for _, tallies := range few {
			b, p = append(b, passk.Fit(tallies).PassAt(k)), append(p, extrapolated(tallies, k))
		}
		for i := range b {
			bMiss, pMiss = append(bMiss, math.Abs(b[i]-want)), append(pMiss, math.Abs(p[i]-want))
		}
		truth, beta, plugIn = append(truth, want), append(beta, stats.Average(b)), append(plugIn, stats.Average(p))
		betaError, plugInError = append(betaError, stats.Average(bMiss)), append(plugInError, stats.Average(pMiss))
	}
	o.Set(name+" truth", truth...)
	o.Set(name+" Beta", beta...)
	o.Set(name+" extrapolated", plugIn...)
	o.Set(name+" |error|, Beta", betaError...)
	o.Set(name+" |error|, extrapolated", plugInError...)
	var countBias, plugInBias []float64
	for _, k := range []int{indicatorK, fewSamples} {
		want := passk.Mean(whole, k)
		var c, p []float64
		for _, tallies := range few {
			c, p = append(c, passk.Mean(tallies, k)-want), append(p, extrapolated(tallies, k)-want)
		}
		countBias, plugInBias = append(countBias, stats.Average(c)), append(plugInBias, stats.Average(p))
	}
	o.Set(name+" bias, counted", countBias...)
	o.Set(name+" bias, extrapolated", plugInBias...)
	// A single draw of k says only whether it held a correct response; its variance
	// is known from the truth.
	var counted []float64
	single := 0.0
	for _, tallies := range few {
		counted = append(counted, passk.Mean(tallies, indicatorK))
	}
	for _, t := range whole {
		q := t.PassAt(indicatorK)
		single += float64(q*(1-q)) / float64(len(whole)*len(whole))
	}
	sd := stats.Deviation(counted)
	o.Set(name+" variance, single draw over counted", single/float64(sd*sd))
	o.Set(name+" pass@1 of 32 samples", passk.Mean(few[0], 1))
}

// extrapolated is the mean over prompts of 1 - (1 - c/N)^k.
func extrapolated(tallies []passk.Tally, k int) float64 {
	sum := 0.0
	for _, t := range tallies {
		sum += passk.PlugIn(t.Samples, t.Correct, k)
	}
	return sum / float64(len(tallies))
}

// partition deals samples, some of them correct, into hands of fewSamples and
// counts the correct ones of each.
func partition(rng *rand.Rand, correct, samples int) []int {
	hands := make([]int, samples/fewSamples)
	for dealt := range len(hands) * fewSamples {
		if rng.IntN(samples-dealt) < correct {
			correct--
			hands[dealt/fewSamples]++
		}
	}
	return hands
}

func judgePassk(j *claim.Judge) {
	last := len(passkKs) - 1
	j.Primary(claim.RatioBelow(claim.Natural, "mean |error| of pass@320, Beta over extrapolated", j.Entry("hard |error|, Beta", last), j.Entry("hard |error|, extrapolated", last), 1))
	j.Secondary(claim.ReportRatio(claim.Natural, "the same of pass@16, familiar prompts", j.Entry("familiar |error|, Beta", 2), j.Entry("familiar |error|, extrapolated", 2)))
	for i, k := range []string{"8", "32"} {
		j.Secondary(claim.Report(claim.Natural, "bias of counting, k = "+k, j.Entry("hard bias, counted", i)))
		j.Secondary(claim.Below(claim.Natural, "bias of extrapolation, k = "+k, j.Entry("hard bias, extrapolated", i), 0))
	}
	j.Secondary(claim.Above(claim.Natural, "variance of a single draw of 8 over that of counting 32", j.Column("hard variance, single draw over counted"), 1))
	j.Note("Models ranked by pass@1 of 32 samples per prompt and by all samples: Kendall's tau is %.2f.", stats.Kendall(j.Column("hard pass@1 of 32 samples"), j.Entry("hard truth", 0)))
	x := make([]float64, len(passkKs))
	for i, k := range passkKs {
		x[i] = float64(k)
	}
	j.Evidence.Picture = claim.Chart("Pass@k of hard prompts from 32 samples each", "k", "mean over prompts", "The truth is counted among 2,048 samples.", false,
		j.Arm("truth", x, "hard truth"), j.Arm("Beta over prompts", x, "hard Beta"), j.Arm("each prompt by itself", x, "hard extrapolated"))
	j.Evidence.Table = j.CurvesTable("Pass@k and mean |error|", "k", x, "hard truth", "hard Beta", "hard extrapolated", "hard |error|, Beta", "hard |error|, extrapolated",
		"familiar truth", "familiar |error|, Beta", "familiar |error|, extrapolated")
}
