package foreign

import (
	"fmt"
	"math"

	"driftlab/trainer/method/correction"
)

// swift is ms-swift: flags of `swift rlhf --rlhf_type grpo` and of `megatron rlhf`.
var swift = framework{
	name: "ms-swift", program: "rlhf",
	loose: []string{"rollout_importance_sampling_mode", "rollout_importance_sampling_threshold", "off_policy_sequence_mask_delta"},
	own:   []string{"rollout_importance_sampling", "off_policy_sequence_mask"},
	table: swiftTable,
	read:  readSwift,
	unset: `
kl={name: k3, coef: 0.04, in: loss}
advantage={name: grpo, std: true}
rollout.group=8
rollout.temperature=0.9
learner.epochs=1`,
}

// swiftTable: modelscope/ms-swift swift/rlhf_trainers/args_mixin.py, swift/megatron/arguments/megatron_args.py,
// swift/rlhf_trainers/grpo_trainer.py.
var swiftTable = parseTable(`
loss_type importance_sampling_level epsilon epsilon_high delta max_completion_length tau_pos tau_neg real_tau fipo_decay_rate fipo_clip_range fipo_clip_high_only fipo_safety_threshold > loss
overlong_filter > correction
beta kl_in_reward > kl
scale_rewards advantage_estimator > advantage
num_generations = rollout.group
num_iterations = learner.epochs
temperature = rollout.temperature
top_p = rollout.top_p
top_k = rollout.top_k
async_generate > schedule
router_replay_mode > routing
rlhf_type train_type tuner_type : model
max_length vllm_max_model_len max_prompt_length : length
learning_rate lr lr_* min_lr warmup_* weight_decay adam_* max_grad_norm optim optimizer* use_precision_aware_optimizer : optimizer
per_device_train_batch_size gradient_accumulation_steps generation_batch_size steps_per_generation micro_batch_size global_batch_size : batch
model model_type load adapters template torch_dtype bf16 fp16 attn_impl lora_* target_modules freeze_* moe_* packing padding_free quant_* load_from_cache_file use_hf : model
reward_* cosine_* soft_* repetition_n_grams repetition_max_penalty external_plugins custom_* : reward
dynamic_sample max_resample_times : filter
rlsd_* chord_* sdar_* top_entropy_quantile sync_ref_model ref_model_* multi_turn_scheduler max_turns completion_length_limit_scope use_gym_env gym_env stop_words min_p repetition_penalty advantage_reweight teacher_kl_coef : feature
teacher_* gkd_* sft_alpha seq_kd lmbda : teacher
vllm_* use_vllm sleep_level offload_* move_model_batches deepspeed use_ray gradient_checkpointing* dataloader_* tensor_model_parallel_size pipeline_model_parallel_size context_parallel_size expert_* sequence_parallel* recompute_* enable_flattened_weight_sync ddp_* attention_backend gradient_accumulation_fusion cross_entropy_loss_fusion : place
dataset* val_dataset system columns split_dataset_ratio data_seed : data
no_save_* finetune output_dir logging_* log_* save_* report_to wandb_* swanlab_* save add_version create_checkpoint_symlink : log
num_train_epochs max_epochs max_steps seed train_iters : run
eval_* num_generations_eval per_device_eval_batch_size : eval
`)

// swiftAdvantages are its estimators other than grpo.
var swiftAdvantages = vocabulary{"advantage", map[string]string{"rloo": "rloo", "reinforce_plus_plus": "reinforce_plus_plus"}}

func readSwift(v *values, c *Config) {
	p := &correction.Pipeline{Denominator: correction.Pre, Clamp: math.Inf(1)}
	c.Pipeline = p
	cap := v.number("rollout_importance_sampling_threshold", 2)
	switch v.choice("rollout_importance_sampling_mode", "", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask") {
	case "token_truncate":
		p.Weights = &correction.TokenTIS{Cap: cap}
	case "token_mask":
		p.Weights = &correction.TokenMIS{High: cap}
	case "sequence_truncate":
		p.Weights = &correction.SequenceTIS{Cap: cap}
	case "sequence_mask":
		p.Weights = &correction.SequenceMIS{High: cap}
	default:
		v.leave("rollout_importance_sampling_threshold", "rollout_importance_sampling_mode is not given")
	}
	if v.has("off_policy_sequence_mask_delta") {
		p.Masks = append(p.Masks, &correction.OPSM{Delta: v.number("off_policy_sequence_mask_delta", 0), Signs: correction.Negative})
	}
	c.takeTruncated(v, "overlong_filter")
	switch kind := v.text("loss_type", "grpo"); kind {
	case "real":
		c.Loss = fmt.Sprintf("{name: real, tau: %v}", v.number("real_tau", 0.5))
	case "fipo":
		low := v.number("epsilon", 0.2)
		c.Loss = fmt.Sprintf("{name: fipo, eps_low: %v, eps_high: %v, delta: %v, half_life: %v, clip_range: %v, clip_high_only: %v, safety_threshold: %v}", low, v.number("epsilon_high", low), v.number("delta", 0),
			v.number("fipo_decay_rate", 32), v.number("fipo_clip_range", 0.2), v.truth("fipo_clip_high_only", true), v.number("fipo_safety_threshold", 4))
	default:
		trlLoss(v, c, "grpo", [2]string{"tau_pos", "tau_neg"})
	}
	v.leave("max_completion_length", reasons["length"].why)
	if estimator := v.text("advantage_estimator", "grpo"); estimator != "grpo" {
		if name, ok := v.translated("advantage_estimator", "grpo", swiftAdvantages); ok {
			c.takeAdvantage(name, nil, "advantage_estimator")
			v.leave("scale_rewards", "advantage_estimator has a normalisation of its own")
		}
	} else {
		trlScale(v, c)
	}
	if v.has("beta") {
		in := "loss"
		if v.truth("kl_in_reward", false) {
			in = "reward"
		}
		c.takeKL("k3", v.number("beta", 0.04), in, "beta", "kl_in_reward")
	}
	if v.truth("async_generate", false) {
		c.takeOneStepOff("{name: one_step_off}", "async_generate")
	}
	switch v.choice("router_replay_mode", "disabled", "disabled", "R2", "R3") {
	case "R2":
		c.Routing = "{replay: r2}"
	case "R3":
		c.Routing = "{replay: r3}"
	}
}
