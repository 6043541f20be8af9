package foreign

import (
	"fmt"
	"math"

	"driftlab/trainer/method/correction"
)

// openInstruct is open-instruct: flags of grpo_fast.py, whose rho is the ratio between the engines.
var openInstruct = framework{
	name: "open-instruct", program: "open_instruct",
	loose: []string{"use_rho_correction", "rho_clamp_lower_bound", "rho_clamp_upper_bound", "rho_mask_lower_bound", "rho_mask_upper_bound",
		"rho_mask_sequence_level", "rho_mask_tv_divergence", "truncated_importance_sampling_ratio_cap", "use_vllm_logprobs"},
	own:   []string{"rho_clamp", "rho_mask"},
	table: openInstructTable,
	read:  readOpenInstruct,
	unset: `
loss={name: ppo_clip, eps_low: 0.2, eps_high: 0.272, dual_clip: 0, aggregation: token-mean@pre}
kl={name: k3, coef: 0.05, in: loss}
advantage={name: grpo, std: false}
rollout.group=4
rollout.temperature=1
learner.epochs=1
learner.minibatches=1
schedule={name: lag, k: 8}`,
}

// openInstructTable: allenai/open-instruct open_instruct/grpo_utils.py, open_instruct/data_loader.py, open_instruct/grpo_fast.py.
var openInstructTable = parseTable(`
loss_fn clip_lower clip_higher loss_denominator > loss
beta kl_estimator load_ref_policy > kl
advantage_normalization_type > advantage
num_samples_per_prompt_rollout = rollout.group
temperature = rollout.temperature
vllm_top_p = rollout.top_p
num_epochs = learner.epochs
num_mini_batches = learner.minibatches
async_steps inflight_updates > schedule
response_length max_prompt_token_length pack_length max_token_length : length
learning_rate lr_scheduler_type warm_up_steps warmup_ratio weight_decay set_weight_decay_on_bias_and_norm max_grad_norm fused_optimizer : optimizer
num_unique_prompts_rollout per_device_train_batch_size gradient_accumulation_steps total_episodes num_training_steps : batch
model_name_or_path model_revision model_dtype attn_implementation use_liger tokenizer_name_or_path tokenizer_revision add_bos chat_template chat_template_name gradient_checkpointing : model
mask_truncated_completions > correction
alpha ref_policy_update_freq mask_tool_use stop_strings* record_entropy tools* max_tool_calls* : feature
active_sampling filter_zero_std_samples no_resampling_pass_rate : filter
apply_* r1_style_* additive_format_reward verification_reward remap_verifier reward_* llm_judge_* code_* max_length_verifier_max_length non_stop_penalty* ground_truths_key sft_messages_key : reward
dataset_* system_prompt_override_file shuffle_eval_dataset seed : data
vllm_* deepspeed_* num_learners_per_node num_nodes sequence_parallel_size single_gpu_mode fsdp_* gather_whole_model backend_timeout world_size queue_* enable_queue_dashboard : place
exp_name with_tracking wandb_* verbose push_to_hub hf_* save_* checkpoint_* keep_last_n_checkpoints output_dir gs_* try_* send_slack_alerts run_name track* cache_dataset_only kl_log* : log
local_eval_every eval_* oe_eval_* : eval
`)

func readOpenInstruct(v *values, c *Config) {
	p := &correction.Pipeline{Denominator: correction.Pre, Clamp: math.Inf(1)}
	c.Pipeline = p
	bypass := v.truth("use_vllm_logprobs", false)
	older := v.has("truncated_importance_sampling_ratio_cap")
	switch {
	case bypass: // the loss's own ratio is to the rollout engine
		p.Mode = correction.Bypass
		for _, key := range []string{"rho_clamp_upper_bound", "rho_clamp_lower_bound", "rho_mask_upper_bound", "rho_mask_lower_bound"} {
			v.leave(key, "use_vllm_logprobs is true")
		}
	case older:
		if cap := v.number("truncated_importance_sampling_ratio_cap", 0); cap > 0 {
			p.Weights = &correction.TokenTIS{Cap: cap}
		}
	case v.truth("use_rho_correction", true):
		openInstructRho(v, p)
	}
	c.takeTruncated(v, "mask_truncated_completions")
	{
		if name, ok := v.translated("loss_fn", "dapo", openInstructLosses); ok {
			l := &lossFields{name: name}
			l.set("eps_low", v.number("clip_lower", 0.2))
			l.set("eps_high", v.number("clip_higher", 0.272))
			if name == "ppo_clip" {
				l.set("dual_clip", 0)
			}
			switch text := v.text("loss_denominator", "token"); {
			case text == "token":
				l.set("aggregation", "token-mean@pre")
			case v.has("loss_denominator"):
				v.leave("loss_denominator", "a constant denominator is one of all tokens: see token-sum-norm of a recipe")
			}
			c.Loss = l.String()
		}
	}
	if v.has("beta") {
		if kind, ok := v.translated("kl_estimator", "2", openInstructPenalties); ok {
			coef := v.number("beta", 0.05)
			if !v.truth("load_ref_policy", true) {
				coef = 0
			}
			c.takeKL(kind, coef, "loss", "beta", "kl_estimator", "load_ref_policy")
		}
	}
	if v.has("advantage_normalization_type") {
		if std, ok := v.translated("advantage_normalization_type", "standard", openInstructScales); ok {
			c.takeAdvantage("grpo", []string{"std: " + std}, "advantage_normalization_type")
		}
	}
	if k := v.number("async_steps", 0); k > 0 {
		c.take("schedule", fmt.Sprintf("{name: lag, k: %v}", k), "async_steps")
		c.note("async_steps is the most that the data may be ahead; the recipe's lag has that age at every step")
	}
	if v.truth("inflight_updates", false) {
		v.leave("inflight_updates", "the recipe's lag does not change weights within a response: see the schedule pipeline_rl")
	}
}

// openInstructRho is the clamp of rho and the mask outside a band; 0 is no bound.
func openInstructRho(v *values, p *correction.Pipeline) {
	bound := func(key string, otherwise float64) float64 {
		if x := v.number(key, otherwise); x > 0 {
			return x
		}
		return math.Inf(1)
	}
	top, floor := bound("rho_clamp_upper_bound", 2), v.number("rho_clamp_lower_bound", 0)
	low, high := v.number("rho_mask_lower_bound", 0), bound("rho_mask_upper_bound", 0)
	masks := low > 0 || !math.IsInf(high, 1)
	sequence := v.truth("rho_mask_sequence_level", false)
	if v.truth("rho_mask_tv_divergence", false) {
		if masks {
			p.Masks = append(p.Masks, &correction.TVDivergence{Low: low, High: high})
		}
		masks = false
	}
	p.Weights = &correction.TokenTIS{Cap: top, Floor: floor}
	if sequence {
		p.Weights = &correction.GeometricTIS{Cap: top, Floor: floor}
	}
	if masks {
		level := "token"
		if sequence {
			level = "sequence"
		}
		p.Masks = append(p.Masks, &correction.Band{Level: level, Statistic: "ratio", Aggregate: "mean", Low: low, High: high})
	}
}

// open-instruct's names.
var (
	openInstructLosses    = vocabulary{"loss", map[string]string{"dapo": "ppo_clip", "cispo": "cispo"}}
	openInstructPenalties = vocabulary{"kl", map[string]string{"0": "k1", "1": "k2", "2": "k3"}}
	openInstructScales    = vocabulary{"advantage.std", map[string]string{"standard": "true", "centered": "false"}}
)
