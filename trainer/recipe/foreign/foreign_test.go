package foreign

import (
	"strings"
	"testing"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"

	"github.com/google/go-cmp/cmp"
)

// TestRead reads each framework as people write it: a block, a whole file, flags,
// overrides, TOML, a call.
func TestRead(t *testing.T) {
	for _, c := range []struct{ name, text, framework, correction, more, off string }{
		{"verl block", "rollout_is: token\nrollout_is_threshold: 2.0\nrollout_rs: seq_mean_k1\nrollout_rs_threshold: 1.01\n", "verl",
			"weights: {name: token_tis, cap: 2, floor: 0, from_turn: 0}, batch_normalize: false, masks: [{name: seq_mean_k1, low: 0.9900990099009901, high: 1.01}]", "", ""},
		{"verl file", "data: {train_files: a.parquet}\nalgorithm:\n  adv_estimator: grpo\n  rollout_correction: {rollout_is: token, rollout_is_threshold: \"0.5_5.0\"}\n" +
			"actor_rollout_ref: {rollout: {name: vllm, calculate_log_probs: false}, actor: {router_replay: {mode: R3}}}\n", "verl",
			"icepop", "routing={replay: r3}", "calculate_log_probs is false, so there are no log-probs of the rollout engine"},
		{"verl bypass", "algorithm: {rollout_correction: {bypass_mode: true, rollout_is: token}}", "verl", "mode: bypass, order", "loss={name: ppo_clip", ""},
		{"verl overrides", "python -m verl.trainer.main_ppo \\\n  algorithm.rollout_correction.rollout_is=sequence \\\n  +algorithm.rollout_correction.rollout_is_threshold=3.0 \\\n  actor_rollout_ref.rollout.calculate_log_probs=True trainer.logger='[\"console\"]'\n",
			"verl", "sequence_tis, cap: 3", "", ""},
		{"skyrl", "trainer: {algorithm: {off_policy_correction: {tis_ratio_type: token, sequence_mask_metric: geometric, outlier_token_is_threshold_high: 100}}}", "skyrl",
			"weights: {name: token_tis, cap: 2, floor: 0, from_turn: 0}, batch_normalize: false, masks: [{name: outlier, low: 0, high: 100}, {name: geometric, low: 0.99, high: 1.01}], order: sequential, weights_after: 1, denominator: post, names: skyrl", "", ""},
		{"skyrl gspo", "trainer: {algorithm: {policy_loss_type: gspo, eps_clip_low: 3e-4, off_policy_correction: {token_mask_is_threshold_low: 0.5, token_mask_is_threshold_high: 2}}}", "skyrl",
			"token_mask, low: 0.5, high: 2", "loss={name: gspo_token, eps_low: 0.0003, eps_high: 0.2, ratio_mask: pre}", ""},
		{"skyrl one bound", "off_policy_correction: {token_mask_is_threshold_high: 2}", "skyrl", "order: sequential", "", "token_mask_is_threshold_* has one bound of two"},
		{"skyrl script", "TIS_TYPE=token\npython -m main trainer.algorithm.off_policy_correction.tis_ratio_type=$TIS_TYPE trainer.algorithm.eps_clip_low=0.2\n", "skyrl", "token_tis, cap: 2", "", ""},
		{"trl call", "GRPOConfig(output_dir=\"x\", vllm_importance_sampling_mode=\"token_truncate\", vllm_importance_sampling_clip_max=2.0,\n  off_policy_mask_threshold=0.5)", "trl",
			"token_tis, cap: 2, floor: 0, from_turn: 0}, batch_normalize: false, masks: [{name: opsm, delta: 0.5", "", ""},
		{"trl default", "use_vllm: true\nlearning_rate: 1e-6\nvllm_importance_sampling_correction: true\n", "trl", "sequence_mis, low: 0, high: 3", "", ""},
		{"trl none", "vllm_importance_sampling_mode: token_truncate\nvllm_importance_sampling_clip_max: null\n", "trl", "token_tis, cap: 1e+09", "", ""},
		{"slime", "GRPO_ARGS=(\n   --advantage-estimator grpo\n   --use-tis --tis-clip 1.5 # as in the paper\n   --use-rollout-routing-replay\n)\n", "slime", "token_tis, cap: 1.5", "routing={replay: r3}", ""},
		{"slime off", "--tis-clip 2.0", "slime", "order", "", "--use-tis is not given"},
		{"slime icepop", "--use-tis --tis-clip 5.0 --tis-clip-low 0.5 --custom-tis-function-path slime.backends.megatron_utils.loss.icepop_function", "slime", "icepop, low: 0.5, high: 5", "", ""},
		{"nemo", "loss_fn:\n  ratio_clip_min: 0.2\n  ratio_clip_max: 0.28\n  ratio_clip_c: null\n  use_importance_sampling_correction: true\n  truncated_importance_sampling_type: seq-mask-tis\n" +
			"  truncated_importance_sampling_ratio: 1.002\n  truncated_importance_sampling_ratio_min: 0.999\n", "nemo-rl",
			"weights: {name: token_tis, cap: .inf, floor: 0, from_turn: 0}, batch_normalize: false, masks: [{name: geometric, low: 0.999, high: 1.002}]", "loss={name: ppo_clip, eps_low: 0.2, eps_high: 0.28, dual_clip: 0}", ""},
		{"nemo off", "loss_fn: {use_importance_sampling_correction: false, truncated_importance_sampling_ratio: 2}", "nemo-rl", "order", "", "use_importance_sampling_correction is not true"},
		{"areal off", "actor:\n  rejection_sampling: {level: token, action: mask, metric: ratio, upper: 5.0}\n", "areal", "order", "", "rejection_sampling is set without use_decoupled_loss: AReaL leaves it out"},
		{"openrlhf", "python -m openrlhf.cli.train_ppo_ray --enable_vllm_is_correction --vllm_is_truncated_threshold 0.5 5.0 --vllm_is_correction_type icepop", "openrlhf", "icepop, low: 0.5, high: 5", "", ""},
		{"openrlhf 2026", "--algo.advantage.is_correction_enable --algo.advantage.is_correction_threshold 0.8 1.25", "openrlhf", "token_tis, cap: 1.25, floor: 0.8", "", ""},
		{"roll", "train_infer_correction:\n  is_weight: {enabled: true, weight_type: segment}\n  filters:\n    - {enabled: true, agg_type: token, diff_enabled: true}\n", "roll",
			"segment_tis, cap: 1.2, floor: 0, by: run, geometric: true, eps: 1e-08}, batch_normalize: false, masks: [{name: band, level: token, statistic: difference, aggregate: mean, eps: 1e-08, floor: 0, low: -0.2, high: 0.2}]", "", ""},
		{"prime", "[trainer.loss]\nkl_tau = 1e-3\ndppo_mask_high = 0.3\n", "prime-rl", "order", "loss={name: prime_dppo, delta_low: 0.2, delta_high: 0.3, adv_tau: 1, kl_tau: 0.001, log_clamp: 0}", ""},
	} {
		got, err := Read("x", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		all := strings.Join(got.Assignments(), "\n")
		if got.Framework != c.framework || !strings.Contains(all, c.correction) || !strings.Contains(all, c.more) || got.Off != c.off {
			t.Errorf("%s: %s, off %q, notes %q:\n%s", c.name, got.Framework, got.Off, got.Notes, all)
		}
		if got.Off == "" {
			recipeOf(t, got)
		}
	}
}

// TestFaults reads what is wrong: each message names the line and the fix.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"algorithm:\n  rollout_correction:\n    rollout_is: token\n    rollout_is_treshold: 2\n", `x:4: algorithm.rollout_correction.rollout_is_treshold: unknown to verl; did you mean "rollout_is_threshold"?`},
		{"rollout_is: token\nrollout_si: 2\n", `x:2: rollout_si: unknown to verl; did you mean "rollout_is"?`},
		{"rollout_is: tokens\n", `x:1: rollout_is: rollout_is: unknown name "tokens": did you mean "token"? (known: token, sequence)`},
		{"--use-tis --tis-cilp 2", `x:1: tis_cilp: unknown to slime; did you mean "tis_clip"?`},
		{"vllm_importance_sampling_mode: token\n", `x:1: vllm_importance_sampling_mode: unknown name "token"`},
		{"off_policy_correction: {tis_ratio_type: token, token_tis_ratio_clip_high: high}", `x:1: off_policy_correction.token_tis_ratio_clip_high: expected a number, got the text "high"`},
		{"off_policy_correction: {tis_ratio_type: token, token_tis_ratio_clip_high: 0.5}", `x: skyrl: weights: cap 0.5: must be at least 1`},
		{"--use-tis --tis-clip 2 --use-rollout-logprobs", `x:1: use_rollout_logprobs: slime refuses it together with use_tis: leave one`},
		{"rollout_corection: {rollout_is: token}\nalgorithm: {rollout_correction: {rollout_rs: null}}", `x:1: rollout_corection.rollout_is: unknown to verl`},
		{"steps: 3\n", "x: no setting of a correction is known here: expected those of verl, skyrl, trl, slime, vime, nemo-rl, areal, openrlhf, roll, prime-rl"},
		{"\x00", "x: not a text"},
		{"", "x: no setting of a correction is known here"},
	} {
		if got, err := Read("x", []byte(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\ngot  %v %v\nwant %s", c.text, err, got, c.want)
		}
	}
}

// TestRoundTrip writes a correction in every syntax and reads it back: what the syntax
// can say is the same to the last bit.
func TestRoundTrip(t *testing.T) {
	for _, set := range []struct {
		framework string
		sets      []string
	}{
		{"verl", []string{"correction=decoupled_token_is"}},
		{"verl", []string{"correction=decoupled_geo_rs_seq_tis"}},
		{"verl", []string{"correction=decoupled_token_icepop"}},
		{"verl", []string{"correction={weights: {name: sequence_mis, low: 0.5, high: 3}, masks: [{name: token_k1, low: 0.8, high: 1.3}, {name: seq_max_k2, high: 0.05}]}"}},
		{"verl", []string{"correction={weights: {name: token_tis, cap: 1.7}, batch_normalize: true}", "routing.replay=r3"}},
		{"verl", []string{"correction={preset: bypass_pg_geo_rs_seq_tis}", "loss=reinforce"}},
		{"verl", []string{"correction={preset: bypass_ppo_clip}"}},
		{"skyrl", []string{"correction=skyrl_all"}},
		{"skyrl", []string{"correction=skyrl_sequence_tis"}},
		{"skyrl", []string{"correction=skyrl_product"}},
		{"skyrl", []string{"correction=skyrl_all", "loss={name: gspo_token, ratio_mask: pre}"}},
		{"trl", []string{"correction={weights: {name: token_tis, cap: 2, floor: 0.1, from_turn: 0}, masks: [{name: opsm, delta: 0.3}], denominator: pre, clamp: .inf}"}},
		{"trl", []string{"correction={weights: {name: sequence_mis, low: 0.5, high: 3}, denominator: pre, clamp: .inf}"}},
		{"trl", []string{"correction={weights: {name: token_mis, low: 0.5, high: 3}, denominator: pre, clamp: .inf}"}},
		{"trl", []string{"correction={denominator: pre, clamp: .inf}"}},
		{"slime", []string{"correction={weights: {name: token_tis, cap: 2, floor: 0.5, from_turn: 0}, clamp: .inf}", "routing.replay=r2"}},
		{"slime", []string{"correction={weights: {name: icepop, low: 0.5, high: 5}, clamp: .inf}", "routing.replay=r3"}},
		{"slime", []string{"correction={weights: {name: sequence_tis, cap: 2}, masks: [{name: geometric, low: 0.99, high: 1.01}, {name: veto, threshold: 1e-4}]}"}},
		{"slime", []string{"correction={weights: {name: token_tis, cap: 2, floor: 0.5, from_turn: 0}, batch_normalize: true}"}},
		{"slime", []string{"correction={masks: [{name: opsm, delta: 0.1}], mode: bypass}"}},
		{"prime-rl", []string{"loss={name: ipo, delta: 0.1, adv_tau: 0.9, kl_tau: 0, log_clamp: 0}"}},
		{"prime-rl", []string{"loss={name: rollout_is, eps_low: 0.75, eps_high: 3}"}},
	} {
		want, err := recipe.Load("default", set.sets...)
		if err != nil {
			t.Fatal(err)
		}
		text, notes := Write(set.framework, want)
		if len(notes) > 0 {
			t.Errorf("%s %v: %v", set.framework, set.sets, notes)
		}
		c, err := Read("back", []byte(text))
		if err != nil {
			t.Errorf("%s %v: %v\n%s", set.framework, set.sets, err, text)
			continue
		}
		got := recipeOf(t, c)
		if c.Framework != set.framework || got.Routing != want.Routing || got.Loss.Name != want.Loss.Name {
			t.Errorf("%s %v: %s, %v, %v\n%s", set.framework, set.sets, c.Framework, got.Routing, got.Loss, text)
		}
		if diff := cmp.Diff(want.Correction.Pipeline().Recipe(), got.Correction.Pipeline().Recipe()); diff != "" {
			t.Errorf("%s: %s\n%s", set.framework, diff, text)
		}
		if want.Loss.Name == "ppo_clip" { // its bounds are the framework's, and are not written
			continue
		}
		if diff := cmp.Diff(want.Loss.Params, got.Loss.Params); diff != "" {
			t.Errorf("%s: %s\n%s", set.framework, diff, text)
		}
	}
}

// TestCannotSay holds the notes to what is left out.
func TestCannotSay(t *testing.T) {
	r, err := recipe.Load("default", "correction={weights: {name: token_tis}, masks: [{name: geometric}]}")
	if err != nil {
		t.Fatal(err)
	}
	for framework, want := range map[string]string{
		"verl":     "verl bounds the inverse ratio: 0.99_1.01 there is 0.9901 to 1.0101 of the ratio",
		"skyrl":    "",
		"trl":      "trl has no mask geometric",
		"slime":    "",
		"prime-rl": "prime-rl has no mask geometric",
	} {
		text, notes := Write(framework, r)
		if got := strings.Join(notes, "; "); got != want {
			t.Errorf("%s: %q, want %q", framework, got, want)
		}
		c, err := Read("back", []byte(text))
		if err != nil || c.Framework != framework {
			t.Errorf("%s: %v\n%s", framework, err, text)
			continue
		}
		if w, ok := c.Pipeline.Weights.(*correction.TokenTIS); framework != "prime-rl" && (!ok || w.Cap != 2) {
			t.Errorf("%s: %v\n%s", framework, c.Pipeline.Weights, text)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"rollout_is: token", "--use-tis --tis-clip 2", "[trainer.loss]\nkl_tau = 1", "GRPOConfig(use_vllm=True)", "a: &x [*x]", "loss_fn: {<<: 3}", "--a b c d\n--tis-clip [1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read("x", text)
		if err == nil && c.Off == "" {
			_, _ = c.Changes()
		}
	})
}
