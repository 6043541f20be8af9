package foreign

import (
	"math"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe/foreign/source"
)

// trl: fields of GRPOConfig. Without any of them the correction is on.
var trl = framework{
	name: "trl", program: "GRPOConfig",
	loose: []string{"vllm_importance_sampling_correction", "vllm_importance_sampling_mode", "vllm_importance_sampling_clip_max",
		"vllm_importance_sampling_clip_min", "vllm_importance_sampling_cap", "off_policy_mask_threshold", "use_vllm"},
	own:      []string{"vllm_importance_sampling", "off_policy_mask"},
	table:    trlTable,
	syntax:   "call",
	pipeline: correction.Pipeline{Denominator: correction.Pre, Clamp: math.Inf(1)},
	prepare: func(v *values, c *Config) {
		if high := "vllm_importance_sampling_clip_max"; v.nulled(high) {
			v.by[high] = source.Setting{Text: "1e9"}
			c.note("vllm_importance_sampling_clip_max None: 1e9 stands for no bound")
		}
	},
	read: func(v *values, c *Config) { v.leave("max_completion_length", reasons["length"].why) },
	unset: `
kl={name: none}
advantage={name: grpo, std: true}
rollout.group=8
rollout.temperature=1
rollout.top_p=1
learner.epochs=1`,
}

// trlTable is of GRPOConfig and AsyncGRPOConfig: huggingface/trl trl/trainer/grpo_config.py,
// trl/trainer/grpo_trainer.py, trl/experimental/async_grpo/async_grpo_config.py.
var trlTable = parseTable(`
num_generations = rollout.group
cast_lm_head_to_fp32 ~ learner.numerics.head
num_iterations = learner.epochs
temperature = rollout.temperature
top_p = rollout.top_p
top_k = rollout.top_k
queue_maxsize max_inflight_tasks request_timeout heartbeat_stale_after_s token_budget fork_threshold_tokens : place
max_prompt_length vllm_max_model_length vllm_max_model_len : length
learning_rate lr_scheduler_type lr_scheduler_kwargs* warmup_* weight_decay adam_* max_grad_norm optim optim_* : optimizer
per_device_train_batch_size gradient_accumulation_steps generation_batch_size steps_per_generation : batch
model_name_or_path model_init_kwargs* attn_implementation torch_dtype dtype bf16 fp16 tf32 use_peft lora_* load_in_4bit load_in_8bit bnb_* trust_remote_code router_aux_loss_coef disable_dropout : model
reward_funcs* reward_weights* reward_model* multi_objective_aggregation : reward
min_p repetition_penalty generation_kwargs* cache_implementation sync_ref_model ref_model_* max_tool_calling_iterations use_transformers_paged use_liger_loss use_liger_kernel num_generations_eval : feature
chat_template_kwargs* remove_unused_columns shuffle_dataset dataset_* script_args* pad_to_multiple_of data_seed : data
vllm_* ds3_gather_for_generation gradient_checkpointing* ddp_* deepspeed fsdp* dataloader_* torch_* : place
output_dir run_name logging_* log_* report_to save_* push_to_hub hub_* num_completions_to_print wandb_* project trackio* : log
num_train_epochs max_steps seed : run
eval_* do_eval per_device_eval_batch_size : eval

ASYNC := ?max_staleness|weight_sync_steps|max_inflight_tasks
[mode]
program=AsyncGRPO* -> bypass
$ASYNC -> bypass

ON := vllm_importance_sampling_correction?true=true
OFF := vllm_importance_sampling_correction?true=false
MODE := vllm_importance_sampling_mode?sequence_mask
HIGH := vllm_importance_sampling_clip_max|vllm_importance_sampling_cap?3
LOW := vllm_importance_sampling_clip_min?0
[weights!]
program=AsyncGRPO* !vllm_importance_sampling_correction|vllm_importance_sampling_mode -> none
$ASYNC !vllm_importance_sampling_correction|vllm_importance_sampling_mode -> none
?vllm_importance_sampling_mode|vllm_importance_sampling_clip_max $OFF ! vllm_importance_sampling_correction is false
$OFF -> none
$ON use_vllm?true=false ! use_vllm is false, so there is no other engine to correct for
$ON $MODE=token_truncate -> token_tis cap=$HIGH floor=$LOW
$ON $MODE=token_mask -> token_mis low=$LOW high=$HIGH
$ON $MODE=token_mask ~> icepop low=$LOW high=$HIGH
$ON $MODE=sequence_truncate -> sequence_tis cap=$HIGH floor=$LOW
$ON $MODE=sequence_mask -> sequence_mis low=$LOW high=$HIGH

[mask]
?off_policy_mask_threshold -> opsm delta=off_policy_mask_threshold?0 signs:negative

[mask]
mask_truncated_completions=true -> truncated

PPO := dapo,grpo,bnpo,dr_grpo
LEVEL := importance_sampling_level?token
EPS := eps_low=epsilon?0.2 eps_high=epsilon_high|epsilon?0.2
[loss!] loss_type?dapo
$PPO $LEVEL=sequence -> gspo $EPS
$PPO $LEVEL=sequence_token -> gspo_token $EPS
$PPO $LEVEL=token -> ppo_clip $EPS dual_clip:0 delta=delta
cispo -> cispo eps_high=above1@epsilon_high
sapo -> sapo tau_pos=sapo_temperature_pos?1 tau_neg=sapo_temperature_neg?1.05
luspo -> luspo $EPS
vespo -> vespo k_pos=vespo_k_pos lambda_pos=vespo_lambda_pos k_neg=vespo_k_neg lambda_neg=vespo_lambda_neg

[aggregation] loss_type
grpo $LEVEL=token -> grpo
bnpo $LEVEL=token -> bnpo
dapo $LEVEL=token -> dapo
dr_grpo $LEVEL=token ?max_completion_length -> dr_grpo scale=max_completion_length
dr_grpo $LEVEL=token -> dr_grpo

[advantage] scale_rewards
group,true -> grpo std:true
none,false -> grpo std:false
batch -> normalize mean:group std:batch
gdpo -> gdpo

[kl]
?beta use_bias_correction_kl?true=true -> k3_unbiased coef=beta?0 in:loss
?beta -> k3 coef=beta?0 in:loss

[terms]
top_entropy_quantile!=1 -> top_entropy share=top_entropy_quantile?1

[terms]
use_adaptive_entropy=true -> adaptive_entropy coef=entropy_coef?0 min=entropy_coef_min?0 max=entropy_coef_max?1 delta=entropy_coef_delta?0.005 target=entropy_target?0.2
?entropy_coef -> entropy coef=entropy_coef?0

[schedule]
program=AsyncGRPO* -> trl max_staleness=max_staleness?4 weight_sync_steps=weight_sync_steps?1
$ASYNC -> trl max_staleness=max_staleness?4 weight_sync_steps=weight_sync_steps?1

`)
