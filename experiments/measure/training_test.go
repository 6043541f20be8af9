package measure

import (
	"context"
	"slices"
	"testing"

	"driftlab/engine"
	runner "driftlab/experiments/run"
	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/trainertest"
)

// TestMeasuringIsTraining gives a measurement the prompts of a run's first step:
// both engines' log-probs equal the run's, whatever parts the recipe has.
func TestMeasuringIsTraining(t *testing.T) {
	for _, sets := range [][]string{
		nil,
		// More responses than an evaluation decodes side by side.
		{"rollout.prompts=20", "rollout.numerics=fp32-batch-variant"},
		{"rollout.slots=3", "rollout.numerics=bf16-batch-variant", "rollout.prefill_chunk=2", "rollout.prefix_cache=true"},
		{"rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "learner.numerics={base: bf16, kv_cache: fp8_e4m3}", "rollout.kv_scales={prompts: 2}"},
		{"rollout.fleet=[{numerics: fp16, share: 0.3}]", "rollout.numerics=fp8-w8a8", "invariant_scale=1.5"},
		{"rollout.speculative={draft: 3, drafter: " + trainertest.Model(t) + ", verify: lossy, tau: 0.5, log_probs: law}"},
		{"rollout.speculative={draft: 3, numerics: fp4-all, verify: greedy}", "rollout.numerics=bf16"},
		{"rollout.shared_prefix_cache={policy: none, block_tokens: 2}"},
		{"rollout.weight_sync={missed: [all]}", "rollout.numerics=bf16"},
		{"rollout.kv_retention={policy: heavy_hitter, keep: 0.5}", "retention.replay=true"},
		{"rollout.top_p=0.8", "rollout.temperature=1.2", "learner.temperature=1", "rollout.log_probs=raw"},
		{"rollout.top_p=0.8", "support.replay=true", "rollout.numerics=bf16"},
	} {
		r, p, err := trainer.Prepare(trainertest.Recipe(t, append(sets, "steps=1")...))
		must.Do(t, err)
		var tokens []int32
		var sampled, scored []float64
		for _, line := range trainertest.Dumped(t, func(w *record.DumpWriter) error {
			_, err := runner.Run(context.Background(), r, runner.Options{Dump: w})
			return err
		}) {
			tokens, sampled, scored = append(tokens, line.TokenIDs...), append(sampled, line.LogpRollout...), append(scored, line.LogpOld...)
		}
		w := must.Get(trainer.BeforeMeasurement(r, p, 1))(t)
		_, b, err := (&Probe{r, w, asked(r, 0), 1}).gap(r.Learner.Numerics)
		must.Do(t, err)
		switch {
		case !slices.Equal(b.Token, tokens) || !slices.Equal(b.LogpRoll, sampled):
			t.Errorf("%v: the rollout engine measured is not the run's", sets)
		case !slices.Equal(b.Old.Logp, scored):
			t.Errorf("%v: the learner measured is not the run's", sets)
		}
	}
}

// TestNoisyScales finds the scales of a measured engine's cache with the noise
// that a step has when it calibrates.
func TestNoisyScales(t *testing.T) {
	r, p, err := trainer.Prepare(trainertest.Recipe(t, "rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "rollout.kv_scales={prompts: 2}", "rollout.noise={start: 0.3, stages: 2}", "steps=2"))
	must.Do(t, err)
	requests := asked(r, 1)
	find := func(sigma float64) engine.KVScales {
		f := engines.NewFleet(r, r.Rollout.Numerics, 1)
		defer f.Close()
		f.Publish(0, p, 0, sigma, stream.New(r.Seed, stream.Noise, 0))
		f.Calibrate(0, requests)
		return slices.Clone(f.Main().KVScales())
	}
	quiet, noisy := find(0), find(r.Rollout.Noise.Start)
	f := (&Probe{r, trainer.Weights{Current: p, Calibrated: p, Drafter: p}, requests, 1}).fleet()
	defer f.Close()
	if got := f.Main().KVScales(); !slices.Equal(got, noisy) || slices.Equal(got, quiet) {
		t.Errorf("scales %v, with noise %v, without %v", got, noisy, quiet)
	}
}
