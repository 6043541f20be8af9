package foreign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/trainer/recipe"
)

// TestDialects reads more than the correction of every framework: the recipe has the values.
func TestDialects(t *testing.T) {
	for _, c := range []struct{ name, text, framework, want string }{
		{"verl.sh", "python -m verl.trainer.main_ppo algorithm.adv_estimator=rloo data.train_batch_size=256 actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.rollout.n=5 " +
			"actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.actor.kl_loss_coef=0.002 actor_rollout_ref.actor.policy_loss.loss_mode=gspo actor_rollout_ref.actor.clip_ratio_low=3e-4 actor_rollout_ref.actor.clip_ratio_high=4e-4",
			"verl", "loss={name: gspo, eps_low: 0.0003, eps_high: 0.0004} advantage={name: rloo} kl={name: k3, coef: 0.002, in: loss} learner.minibatches=4 rollout.group=5"},
		{"actor.yaml", "ppo_mini_batch_size: 256\nclip_ratio_high: 0.28\nentropy_coeff: 0\ncheckpoint: {async_save: false}\nprofiler: {enable: false}\n", "verl", "eps_high: 0.28"},
		{"async.yaml", "async_training: {staleness_threshold: 0.5, trigger_parameter_sync_step: 8, require_batches: 2}\nrollout: {n: 4}\nactor_rollout_ref: {actor: {clip_ratio_c: 10.0, loss_agg_mode: token-mean}}", "verl",
			"loss={name: ppo_clip, eps_low: 0.2, eps_high: 0.2, dual_clip: 10, aggregation: token-mean} schedule={name: verl_partial, staleness_percent: 50, k: 8, require_batches: 2, partial: true} rollout.group=4"},
		{"v1.sh", "python -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=4 trainer.use_v1=True trainer.v1.trainer_mode=separate_async trainer.v1.separate_async.num_warmup_batches=2 trainer.v1.separate_async.parameter_sync_step=3 " +
			"trainer.v1.sampler.max_off_policy_threshold=6 trainer.v1.sampler.max_off_policy_strategy=wait", "verl",
			"schedule={name: verl_v1, max_off_policy_threshold: 6, wait: true, num_warmup_batches: 2, parameter_sync_step: 3} rollout.group=4"},
		{"old.yaml", "algorithm: {rollout_correction: {rollout_is: token, rollout_is_threshold: 2.0, rollout_rs: geometric, rollout_rs_threshold: 1.02, rollout_rs_threshold_lower: 0.98, rollout_token_veto_threshold: 1e-4}}", "verl",
			"geometric, low: 0.98, high: 1.02 veto, threshold: 0.0001"},
		{"roll.yaml", "adv_estimator: reinforce\nnorm_mean_type: batch\nnorm_std_type: batch\nactor_train: {pg_variant: topr}", "roll", "advantage={name: normalize, mean: batch, std: batch}"},
		{"agentic.yaml", "adv_estimator: grpo\nreward_normalization: {grouping: traj_group_id, method: mean}\nactor_train: {pg_variant: ppo}", "roll", "advantage={name: normalize, mean: group, std: none}"},
		{"grpo.yaml", "adv_estimator: grpo\nnorm_mean_type: batch\nactor_train: {pg_variant: ppo}", "roll", "advantage={name: grpo"},
		{"rllm.sh", "python -m x.train rllm/backend=tinker rllm.algorithm.adv_estimator=grpo training.group_size=4 sampling.train.temperature=0.5", "rllm", "rollout.group=4 rollout.temperature=0.5"},
		{"sky.yaml", "trainer: {algorithm: {use_tis: true, tis_imp_ratio_cap: 3.0, policy_loss_type: rollout_is, eps_clip_high: 2.0}, fully_async: {max_staleness_steps: 6}, train_batch_size: 64, policy_mini_batch_size: 16}", "skyrl",
			"token_tis, cap: 3 loss={name: rollout_is, eps_low: 0.2, eps_high: 2} schedule={name: skyrl, staleness: 6} learner.minibatches=4"},
		{"gspo.yaml", "actor: {eps_clip: 3e-4, importance_sampling_level: sequence, use_decoupled_loss: true, kl_ctl: 0.0}\ngconfig: {n_samples: 4}\nrollout: {max_head_offpolicyness: 2}", "areal",
			"loss={name: gspo, eps_low: 0.0003, eps_high: 0.0003, dual_clip: 0, aggregation: token-mean@pre} kl={name: none} schedule={name: areal, eta: 2} rollout.group=4"},
		{"m2.yaml", "actor: {eps_clip: 0.2, m2_threshold: 0.04, use_decoupled_loss: true, prox_logp_method: metrics, reward_norm: {mean_level: group, std_level: null}}", "areal",
			"loss={name: m2_mask, threshold: 0.04, eps_low: 0.2, eps_high: 0.2, dual_clip: 0} advantage={name: normalize, mean: group, std: none"},
		{"before.yaml", "actor: {use_decoupled_loss: true, behave_imp_weight_cap: 4.0, behave_imp_weight_mode: token_mask}", "areal", "band, level: token high: 4"},
		{"nemo.yaml", "grpo: {num_prompts_per_step: 32, num_generations_per_prompt: 16, async_grpo: {enabled: true, max_trajectory_age_steps: 2}}\nloss_fn: {use_cispo: true, ratio_clip_max: 3.0, reference_policy_kl_penalty: 0.01, positive_example_nll_weight: 0.1}\n" +
			"policy: {train_global_batch_size: 128, generation: {temperature: 0.7, vllm_cfg: {precision: fp8}}}", "nemo-rl",
			"loss={name: cispo, eps_low: 0.2, eps_high: 3} kl={name: k3, coef: 0.01, in: loss} learner.minibatches=4 schedule={name: lag, k: 2} rollout.numerics=fp8-w8a8 rollout.group=16 rollout.temperature=0.7"},
		{"run.sh", "ARGS=(--advantage-estimator gspo --eps-clip 4e-4 --use-kl-loss --kl-loss-coef 0.01 --kl-loss-type low_var_kl)\nray job submit -- python3 train_async.py --rollout-batch-size 32 --n-samples-per-prompt 8 --global-batch-size 64 ${ARGS[@]}", "slime",
			"loss={name: gspo, eps_low: 0.0004, eps_high: 0.0004} advantage={name: grpo, std: true} kl={name: k3, coef: 0.01, in: loss} learner.minibatches=4 schedule={name: one_step_off, interval: 1} rollout.group=8"},
		{"miles.sh", "python3 train.py --eps-clip 0.2 --rollout-batch-size 32 --n-samples-per-prompt 8 --fully-async --max-weight-staleness 3 --rollout-submission-granularity group --pause-generation-mode in_place", "slime",
			"schedule={name: miles, max_weight_staleness: 3, group: true, retry: false, in_place: true} rollout.group=8"},
		{"orl.sh", "python -m openrlhf.cli.train_ppo_ray --advantage_estimator group_norm --init_kl_coef 1e-3 --use_kl_loss --kl_estimator k3 --eps_clip_low_high 0.2 0.27 --n_samples_per_prompt 8 --rollout_batch_size 128 --train_batch_size 256 --async_train", "openrlhf",
			"loss={name: ppo_clip, eps_low: 0.2, eps_high: 0.27, dual_clip: 0} advantage={name: grpo, std: true} kl={name: k3, coef: 0.001, in: loss} learner.minibatches=4 schedule={name: one_step_off} rollout.group=8"},
		{"roll.yaml", "adv_estimator: grpo\nactor_train: {pg_variant: cispo, cispo_epsilon_high: 0.2}\nnum_return_sequences_in_group: 8\nasync_generation_ratio: 2\nactor_infer: {generating_args: {top_p: 0.9}}\nloss_agg_mode: seq-mean-token-mean", "roll",
			"loss={name: cispo, eps_low: 0.1, eps_high: 0.2, unified_mask: false, aggregation: seq-mean-token-mean} advantage={name: grpo} schedule={name: roll_flash, ratio_percent: 200} rollout.group=8 rollout.top_p=0.9"},
		{"trl.py", "from trl import GRPOConfig\nN = 16\nargs = GRPOConfig(\n    output_dir=\"x\",  # a comment\n    loss_type=\"dr_grpo\", max_completion_length=1024, scale_rewards=False, num_generations=N,\n    beta=0.04, use_vllm=True, vllm_importance_sampling_clip_max=2.0)\n", "trl",
			"sequence_mis, low: 0, high: 2 loss={name: ppo_clip, eps_low: 0.2, eps_high: 0.2, dual_clip: 0, aggregation: dr_grpo:1024} advantage={name: grpo, std: false} kl={name: k3_unbiased, coef: 0.04, in: loss} rollout.group=16"},
		{"top.py", "GRPOConfig(loss_type=\"grpo\", top_entropy_quantile=0.2, entropy_coef=0.01, num_generations=8)\n", "trl",
			"terms=[{name: top_entropy, share: 0.2}, {name: entropy, coef: 0.01}] rollout.group=8"},
		{"adaptive.py", "GRPOConfig(use_adaptive_entropy=True, entropy_coef=0.01, entropy_target=0.5, entropy_coef_max=0.1, mask_truncated_completions=True, num_generations=8)\n", "trl",
			"truncated terms=[{name: adaptive_entropy, coef: 0.01, min: 0, max: 0.1, delta: 0.005, target: 0.5}] rollout.group=8"},
		{"sampler.yaml", "loss_fn: {positive_example_nll_weight: 0.1, ratio_clip_min: 0.2, ratio_clip_max: 0.28}\ngrpo: {overlong_filtering: true}\nasync_rl: {sampler: {name: weight_fifo, max_staleness_versions: 3}}\n", "nemo-rl",
			"truncated terms=[{name: positive_nll, coef: 0.1}] schedule={name: nemo_weight_fifo, max_staleness_versions: 3}"},
		{"tv.sh", "uv run python open_instruct/grpo_fast.py --rho_mask_tv_divergence True --rho_mask_upper_bound 0.3 --mask_truncated_completions True --num_samples_per_prompt_rollout 8", "open-instruct",
			"tv_divergence, low: 0, high: 0.3 truncated"},
		{"fipo.sh", "swift rlhf --rlhf_type grpo --loss_type fipo --epsilon 0.2 --epsilon_high 0.28 --fipo_decay_rate 16 --overlong_filter true --num_generations 8", "ms-swift",
			"truncated loss={name: fipo, eps_low: 0.2, eps_high: 0.28, delta: 0, half_life: 16, clip_range: 0.2, clip_high_only: true, safety_threshold: 4}"},
		{"async.py", "AsyncGRPOConfig(num_generations=8, max_staleness=2, weight_sync_steps=1, epsilon=0.2, epsilon_high=0.28, max_inflight_tasks=64)", "trl",
			"mode: bypass schedule={name: trl, max_staleness: 2, weight_sync_steps: 1} eps_high: 0.28 rollout.group=8"},
		{"prime.toml", "max_steps = 100\n[orchestrator]\nbatch_size = 512\ngroup_size = 16\nmax_off_policy_steps = 4\n[orchestrator.train.sampling]\ntemperature = 0.8\n[trainer.loss]\ntype = \"default\"\nkl_tau = 0\n[trainer.optim]\nlr = 1e-6\n", "prime-rl",
			"kl_tau: 0 schedule={name: prime_rl, max_off_policy: 4} rollout.group=16 rollout.temperature=0.8"},
		{"oi.sh", "uv run python open_instruct/grpo_fast.py --beta 0.0 --clip_higher 0.28 --num_samples_per_prompt_rollout 8 --num_unique_prompts_rollout 64 --num_mini_batches 2 --rho_mask_lower_bound 0.5 --rho_mask_upper_bound 5 --advantage_normalization_type centered --async_steps 4", "open-instruct",
			"token_tis, cap: 2 band, level: token, statistic: ratio low: 0.5, high: 5 eps_high: 0.28 kl={name: none} advantage={name: grpo, std: false} schedule={name: lag, k: 4} learner.minibatches=2"},
		{"swift.sh", "swift rlhf --rlhf_type grpo --loss_type cispo --epsilon_high 5.0 --num_generations 8 --rollout_importance_sampling_mode token_mask --rollout_importance_sampling_threshold 3 --off_policy_sequence_mask_delta 0.4 --beta 0.04 --scale_rewards batch --async_generate true", "ms-swift",
			"token_mis, low: 0, high: 3 opsm, delta: 0.4 loss={name: cispo, eps_high: 4} advantage={name: normalize, mean: group, std: batch} kl={name: k3, coef: 0.04, in: loss} schedule={name: one_step_off}"},
		{"rllm.sh", "python -m rllm.train rllm.algorithm.adv_estimator=grpo rllm.algorithm.rollout_correction.tis_mode=token rllm.algorithm.rollout_correction.tis_cap=3.0 rllm.rollout.n=4 actor_rollout_ref.actor.ppo_epochs=2 rllm.algorithm.eps_clip_high=0.28", "rllm",
			"token_tis, cap: 3 eps_high: 0.28 advantage={name: grpo} learner.epochs=2 rollout.group=4"},
		{"tt.py", "def config():\n    return Controller.Config(\n        async_loop=AsyncLoopConfig(num_samples_per_prompt=16, target_offpolicy_steps=4, validation=ValidationConfig(num_samples=30)),\n" +
			"        trainer=PolicyTrainer.Config(optimizer=default_adamw(lr=1e-6), loss=ChunkedLossWrapper.Config(num_chunks=8, loss_fn=DAPOLoss.Config(ratio_clip_low=0.2, ratio_clip_high=0.28))),\n" +
			"        generator=VLLMGenerator.Config(sampling=SamplingConfig(temperature=0.9)),\n    )\n", "torchtitan",
			"mode: bypass loss={name: ppo_clip, eps_low: 0.2, eps_high: 0.28, dual_clip: 0, aggregation: token-mean} schedule={name: windowed_fifo, target_offpolicy_steps: 4, window_percent: 30} rollout.group=16 rollout.temperature=0.9"},
		{"ready.yaml", "defaults: parent.yaml\nasync_rl: {sampler: {name: ready_first}}\nloss_fn: {ratio_clip_min: 0.2}\n", "nemo-rl", "schedule={name: nemo_ready_first, max_staleness_versions: 1}"},
		{"flow.yaml", "algorithm: {adv_estimator: grpo}\nasync_flow: {staleness: 2}\nactor_rollout_ref: {actor: {megatron: {dtype: float16}}, rollout: {n: 4, dtype: float16}}\n", "verl",
			"schedule={name: lag, k: 2} rollout.numerics=fp16 learner.numerics=fp16 rollout.group=4 kl={name: none}"},
		{"weights.toml", "[orchestrator]\nbatch_size = 64\n[trainer.loss]\ntype = \"icepop\"\nratio_low = 0.25\nratio_high = 4.0\n[weight_broadcast]\nquantize_in_weight_transfer = true\n[inference.vllm]\nkv_cache_dtype = \"fp8\"\n", "prime-rl",
			"loss={name: rollout_is, eps_low: 0.75, eps_high: 3} rollout.numerics=fp8-w8a8 rollout.numerics.kv_cache=fp8_e4m3 advantage={name: grpo, std: false} learner.numerics.router=fp32"},
		{"launch.py", "import miles.utils.command_utils as U\nN = \"8\"\nargs = (\n    \"--advantage-estimator grpo \"\n    f\"--n-samples-per-prompt {N} \"\n    \"--use-tis --tis-clip 3.0 \"\n)\nif DEBUG:\n    args += \"--eps-clip 0.9 \"\nU.execute_train(train_args=args)\n", "slime",
			"token_tis, cap: 3 rollout.group=8 eps_low: 0.2, eps_high: 0.2"},
		{"vime.sh", "python train.py --rollout-function-path vime.rollout.x --pg-loss-type reinforce --use-tis --vllm-kv-cache-dtype fp8_e4m3 --n-samples-per-prompt 4\n", "vime",
			"loss={name: reinforce} token_tis, cap: 2 rollout.numerics.kv_cache=fp8_e4m3 rollout.group=4"},
		{"gate.sh", "python -m openrlhf.cli.train_ppo_ray --algo.advantage.is_correction_level token --algo.advantage.is_correction_mode clip --algo.advantage.is_correction_threshold 3\n", "openrlhf",
			"token_tis, cap: 3, floor: 0 eps_low: 0.2, eps_high: 0.2"},
		{"flash.sh", "python -m openrlhf.cli.train_ppo_ray --algo.advantage.is_correction_level seq --algo.advantage.is_correction_gating binary_kl --algo.advantage.is_correction_threshold 0.004\n", "openrlhf",
			"token_tis, cap: .inf level: sequence, statistic: roll_binary_kl, aggregate: mean, eps: 0, floor: 1e-06, low: 0, high: 0.004"},
		{"kpop.yaml", "actor: {use_decoupled_loss: true, overlong_reward_penalty: true, overlong_penalty_factor: 0.5, rejection_sampling: {metric: binary_kl, upper: 0.1}}", "areal",
			"level: token, statistic: binary_kl, aggregate: mean, eps: 0, floor: 1e-08, low: -.inf, high: 0.1 reward=[{name: exact}, {name: overlong, coef: 0.5}]"},
		{"tinker.sh", "python -m tinker_cookbook.recipes.math_rl.train env=math group_size=16 groups_per_batch=64 loss_fn=ppo loss_fn_config='{\"clip_low_threshold\": 0.8, \"clip_high_threshold\": 1.28}' kl_penalty_coef=0.01 num_substeps=2 max_steps_off_policy=3", "tinker-cookbook",
			"mode: bypass eps_low: 0.2, eps_high: 0.28 kl={name: k1, coef: 0.01, in: reward} schedule={name: trl, max_staleness: 3} learner.minibatches=2 rollout.group=16"},
	} {
		got, err := Read(c.name, []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		all := strings.Join(got.Assignments(), "\n")
		for _, part := range strings.Split(wanted(c.want), "\n") {
			if !strings.Contains(all, part) {
				t.Errorf("%s (%s): no %q in\n%s\n%s", c.name, got.Framework, part, all, got.Table())
			}
		}
		if got.Framework != c.framework {
			t.Errorf("%s: taken for %s", c.name, got.Framework)
		}
		if len(got.Settings) == 0 {
			t.Errorf("%s: nothing is said of its settings", c.name)
		}
		recipeOf(t, got)
	}
}

// wanted cuts a list of parts at the blanks outside braces where a part begins.
func wanted(text string) string {
	depth := 0
	out := []byte(text)
	for i := range out {
		switch out[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ' ':
			if depth == 0 && (i == 0 || out[i-1] != ':' && out[i-1] != ',') {
				out[i] = '\n'
			}
		}
	}
	return string(out)
}

// TestUncertain holds texts that two frameworks could have written: both are named.
func TestUncertain(t *testing.T) {
	text := []byte("--num_generations 8 --epsilon 0.2 --beta 0.04")
	if _, err := Read("x", text); err == nil || !strings.Contains(err.Error(), "could be of trl or of ms-swift: say which with --dialect") {
		t.Error(err)
	}
	if c, err := ReadAs("ms-swift", "x", text); err != nil || c.Framework != "ms-swift" {
		t.Error(c, err)
	}
	if _, err := ReadAs("swift", "x", text); err == nil || !strings.Contains(err.Error(), `unknown name "swift"`) {
		t.Error(err)
	}
}

// TestFates holds that every setting is in the table once, and no other.
func TestFates(t *testing.T) {
	c, err := Read("x.yaml", []byte("actor_rollout_ref:\n  rollout: {n: 5, temperature: \"${oops.where}\"}\n  actor: {optim: {lr: 1e-6}, fsdp_config: {offload_policy: true}, mystery: 3}\ndata: {train_files: a}\nodd: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Fate{"actor_rollout_ref.rollout.n": Taken, "actor_rollout_ref.rollout.temperature": NotTaken, "actor_rollout_ref.actor.optim.lr": NotTaken,
		"actor_rollout_ref.actor.fsdp_config.offload_policy": NoEffect, "actor_rollout_ref.actor.mystery": NoEffect, "data.train_files": NoEffect, "odd": NotTaken}
	for _, s := range c.Settings {
		if fate, ok := want[s.Key]; !ok || fate != s.Fate || s.Why == "" {
			t.Errorf("%+v", s)
		}
		delete(want, s.Key)
	}
	if len(want) > 0 {
		t.Error(want)
	}
	if table := c.Table(); !strings.Contains(table, "`actor_rollout_ref.rollout.n` = 5") || strings.Count(table, "optim.lr") != 1 {
		t.Error(table)
	}
}

// TestPublicConfigurations reads every file below the folder that DRIFTLAB_CONFIGS names:
// each is accepted, and each of its settings has a fate. Without the variable it is left out.
func TestPublicConfigurations(t *testing.T) {
	folder := os.Getenv("DRIFTLAB_CONFIGS")
	if folder == "" {
		t.Skip("DRIFTLAB_CONFIGS names no folder")
	}
	n := 0
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Dir(path) == filepath.Clean(folder) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		c, err := Read(path, text)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		changes, err := c.Changes()
		if err == nil {
			_, err = recipe.LoadChanged("default", changes...)
		}
		if err != nil || len(c.Settings) == 0 {
			t.Errorf("%s: %d settings, %v", path, len(c.Settings), err)
		}
		return nil
	})
	if err != nil || n == 0 {
		t.Errorf("%d files, %v", n, err)
	}
}
