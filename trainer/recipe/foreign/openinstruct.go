package foreign

import (
	"math"

	"driftlab/trainer/method/correction"
)

// openInstruct is open-instruct: flags of grpo_fast.py, whose rho is the ratio between the engines.
var openInstruct = framework{
	name: "open-instruct", program: "open_instruct",
	loose: []string{"use_rho_correction", "rho_clamp_lower_bound", "rho_clamp_upper_bound", "rho_mask_lower_bound", "rho_mask_upper_bound",
		"rho_mask_sequence_level", "rho_mask_tv_divergence", "truncated_importance_sampling_ratio_cap", "use_vllm_logprobs"},
	own:      []string{"rho_clamp", "rho_mask"},
	table:    openInstructTable,
	syntax:   "flags",
	pipeline: correction.Pipeline{Denominator: correction.Pre, Clamp: math.Inf(1)},
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
num_samples_per_prompt_rollout = rollout.group
temperature = rollout.temperature
vllm_top_p = rollout.top_p
num_epochs = learner.epochs
num_mini_batches = learner.minibatches
response_length max_prompt_token_length pack_length max_token_length : length
learning_rate lr_scheduler_type warm_up_steps warmup_ratio weight_decay set_weight_decay_on_bias_and_norm max_grad_norm fused_optimizer : optimizer
num_unique_prompts_rollout per_device_train_batch_size gradient_accumulation_steps total_episodes num_training_steps : batch
model_name_or_path model_revision model_dtype attn_implementation use_liger tokenizer_name_or_path tokenizer_revision add_bos chat_template chat_template_name gradient_checkpointing : model
alpha ref_policy_update_freq mask_tool_use stop_strings* record_entropy tools* max_tool_calls* : feature
active_sampling filter_zero_std_samples no_resampling_pass_rate : filter
apply_* r1_style_* additive_format_reward verification_reward remap_verifier reward_* llm_judge_* code_* max_length_verifier_max_length non_stop_penalty* ground_truths_key sft_messages_key : reward
dataset_* system_prompt_override_file shuffle_eval_dataset seed : data
vllm_* deepspeed_* num_learners_per_node num_nodes sequence_parallel_size single_gpu_mode fsdp_* gather_whole_model backend_timeout world_size queue_* enable_queue_dashboard : place
exp_name with_tracking wandb_* verbose push_to_hub hf_* save_* checkpoint_* keep_last_n_checkpoints output_dir gs_* try_* send_slack_alerts run_name track* cache_dataset_only kl_log* : log
local_eval_every eval_* oe_eval_* : eval
inflight_updates : inflight

[mode]
use_vllm_logprobs=true -> bypass

CAP := cap=positive@rho_clamp_upper_bound?2 floor=rho_clamp_lower_bound?0
BAND := low=rho_mask_lower_bound?0 high=positive@rho_mask_upper_bound?0
ON := use_rho_correction?true=true !truncated_importance_sampling_ratio_cap
MASKED := ?rho_mask_lower_bound|rho_mask_upper_bound
[weights!]
use_vllm_logprobs=true -> none
use_rho_correction?true=false -> none
$ON $MASKED rho_mask_tv_divergence=true rho_mask_sequence_level=true -> geometric_tis $CAP ; mask tv_divergence $BAND
$ON $MASKED rho_mask_tv_divergence=true -> token_tis $CAP ; mask tv_divergence $BAND
$ON $MASKED rho_mask_sequence_level=true -> geometric_tis $CAP ; mask band level:sequence statistic:ratio aggregate:mean $BAND
$ON rho_mask_sequence_level=true -> geometric_tis $CAP
$ON $MASKED -> token_tis $CAP ; mask band level:token statistic:ratio aggregate:mean $BAND
$ON -> token_tis $CAP
truncated_importance_sampling_ratio_cap=0 -> none
?truncated_importance_sampling_ratio_cap -> token_tis cap=truncated_importance_sampling_ratio_cap

[mask]
mask_truncated_completions=true -> truncated

EPS := eps_low=clip_lower?0.2 eps_high=clip_higher?0.272
[loss!] loss_fn?dapo
dapo -> ppo_clip $EPS dual_clip:0
cispo -> cispo $EPS

[aggregation] loss_denominator?token
token -> token-mean@pre
* : a constant denominator is one of all tokens: see token-sum-norm of a recipe

[kl]
?beta load_ref_policy?true=false -> none coef:0
?beta -> k3 name={0>k1,1>k2,2>k3}@kl_estimator?2 coef=beta?0.05 in:loss

[advantage] advantage_normalization_type
standard -> grpo std:true
centered -> grpo std:false

[schedule]
?async_steps async_steps!=0 -> lag k=async_steps ; note async_steps is the most that the data may be ahead; the recipe's lag has that age at every step

`)
