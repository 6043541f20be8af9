package dynamic

import (
	"context"
	"fmt"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

var noiseRates = []string{"5e-4", "1e-3"}

// noiseFormats are the engines whose entropy is measured before training.
var noiseFormats = []string{"bf16", "fp8-w8a8", "fp4-w4a16", "fp4-all"}

// noiseTasks are trained with bf16 and with 4-bit weights in both engines.
var noiseTasks = []struct{ name, set string }{
	{"easy task", "task={name: chain, difficulty: [3, 8]}"},
	{"hard task", "task={name: chain, difficulty: [9, 10]}"},
}

const (
	policyEntropy = "actor/entropy"
	startEntropy  = "entropy before training, by format"
	fourBits      = "fp4-w4a16"
)

func noiseArm(task, format string) string { return fmt.Sprintf("%s, %s", task, format) }

func quantNoiseEntropy() claim.Claim {
	return claim.Claim{
		ID:        "quant-noise-entropy",
		Title:     "Four-bit weights raise the entropy of a warm-started sampler",
		Statement: "Before its first update, a warm-started model samples with a higher entropy per token when its weights are rounded to four bits than in bf16.",
		Source:    "QeRL, 2510.11696.",
		Figure:    "entropy with 4-bit weights above that of the 16-bit run; GSM8K 90.8 and MATH500 77.4 at 7B",
		Threshold: "Entropy per token, 4-bit weights over bf16, each on its own responses to the same prompts: interval above 1; below 1 refutes.",
		Setup: "Frozen chain-base, 512 responses to the task's prompts; nvfp4 weights with 16-bit activations are QeRL's format, the amplified level adds fp8 inputs, KV cache and head. " +
			"Also trained, as in QeRL with the same format in both engines: 120 updates of 8 prompts with 8 responses at 5e-4 and 1e-3, on the task as it is and on one that is longer than any of the warm start, at most 40 tokens, which the model solves greedily in about a quarter. " +
			"Pilot runs with the shipped weights on seed 9001: the pass rates before training, 0.54 and 0.21, greedy 1.00 and 0.27, to choose the harder task; the entropies of the first 25 updates with both engines in fp4-all, 0.26, and in bf16, 0.24, at different rates; a preview of the claim on seed 9001, with ratios of 1.04 and 1.09. Nothing was changed.",
		LeftOut:  "Noise that is added and fades (AQN); LoRA adapters over frozen 4-bit weights; a correction, which has nothing to correct between equal engines. That entropy is exploration is only reported: the pass rates by task.",
		Commands: []string{"simulate train qerl --set rollout.noise.start=0 --set rollout.noise.end=0", "simulate train headline --set rollout.numerics=fp4-w4a16 --set learner.numerics=fp4-w4a16"},
		Declared: claim.BeforeResults,
		Unit:     claim.Model,
		Version:  1,
		Measure:  measureNoise,
		Judge:    judgeNoise,
	}
}

func measureNoise(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	p, err := e.Base(ctx, 0)
	if err != nil {
		return nil, err
	}
	var start []float64
	for _, f := range noiseFormats {
		engine := claim.Numerics(f)
		b, _ := e.Measure(claim.Probe{Params: p, Rollout: engine, Sequences: e.Pick(512, 128, 8), Tokens: 32, Stops: true}, engine)
		start = append(start, stats.Average(b.Old.Entropy))
	}
	o.Set(startEntropy, start...)
	var arms []claim.Arm
	for _, t := range noiseTasks {
		for _, f := range []string{"bf16", fourBits} {
			arms = append(arms, claim.Arm{Name: noiseArm(t.name, f), Set: []string{t.set, "rollout.max_tokens=40", "rollout.numerics=" + f, "learner.numerics=" + f}})
		}
	}
	return o, e.TrainArms(ctx, o, claim.Training{Steps: []int{120, 60, 6}, Rates: noiseRates, Columns: []string{policyEntropy}, Sixths: true, Arms: arms})
}

func judgeNoise(j *claim.Judge) {
	at := func(k int) []float64 { return j.Entry(startEntropy, k) }
	j.Primary(claim.Ratio(claim.Natural, "entropy, 4-bit weights over bf16", at(2), at(0), 1))
	j.Primary(claim.Ratio(claim.Amplified, "entropy, 4-bit weights and fp8 elsewhere over bf16", at(3), at(0), 1))
	j.Secondary(claim.ReportRatio(claim.Natural, "entropy, fp8 over bf16", at(1), at(0)))
	early := func(task, format string) []float64 {
		return j.OverRates(noiseRates, noiseArm(task, format), func(o *claim.Observation, name string) float64 {
			return o.List(claim.ArmColumn(name, policyEntropy))[0]
		})
	}
	for _, t := range noiseTasks {
		bf16, four := noiseArm(t.name, "bf16"), noiseArm(t.name, fourBits)
		j.Secondary(claim.ReportRatio(claim.Natural, "entropy of the first 20 updates, 4-bit weights over bf16, "+t.name, early(t.name, fourBits), early(t.name, "bf16")))
		j.Secondary(claim.ReportRatio(claim.Natural, "entropy of all updates, 4-bit weights over bf16, "+t.name, j.Average(noiseRates, four, policyEntropy), j.Average(noiseRates, bf16, policyEntropy)))
		j.Secondary(claim.Above(claim.Natural, "pass rate, 4-bit weights minus bf16, "+t.name, stats.Differences(j.Late(noiseRates, four), j.Late(noiseRates, bf16)), 0))
		for _, rate := range noiseRates {
			one := []string{rate}
			j.Secondary(claim.Report(claim.Natural, "pass rate, 4-bit weights minus bf16, "+t.name+", lr "+rate, stats.Differences(j.Late(one, four), j.Late(one, bf16))))
		}
	}
	j.Evidence.Picture = j.Bars("Entropy before training", "nats per token", false, noiseFormats, j.Listed("own responses", startEntropy))
	j.Evidence.Table = j.NamedTable("Entropy before training", "engine", noiseFormats, startEntropy)
}
