package foreign

import (
	"math"

	"driftlab/trainer/method/correction"
)

// swift is ms-swift: flags of `swift rlhf --rlhf_type grpo` and of `megatron rlhf`.
var swift = framework{
	name: "ms-swift", program: "rlhf",
	loose:    []string{"rollout_importance_sampling_mode", "rollout_importance_sampling_threshold", "off_policy_sequence_mask_delta"},
	own:      []string{"rollout_importance_sampling", "off_policy_sequence_mask"},
	table:    swiftTable,
	syntax:   "flags",
	pipeline: correction.Pipeline{Denominator: correction.Pre, Clamp: math.Inf(1)},
	read:     func(v *values, c *Config) { v.leave("max_completion_length", reasons["length"].why) },
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
num_generations = rollout.group
num_iterations = learner.epochs
temperature = rollout.temperature
top_p = rollout.top_p
top_k = rollout.top_k
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

CAP := rollout_importance_sampling_threshold?2
[weights] rollout_importance_sampling_mode
token_truncate -> token_tis cap=$CAP
token_mask -> token_mis high=$CAP
token_mask ~> icepop low:0 high=$CAP
sequence_truncate -> sequence_tis cap=$CAP
sequence_mask -> sequence_mis high=$CAP

[mask]
?off_policy_sequence_mask_delta -> opsm delta=off_policy_sequence_mask_delta?0 signs:negative

[mask]
overlong_filter=true -> truncated

PPO := dapo,grpo,bnpo,dr_grpo
LEVEL := importance_sampling_level?token
EPS := eps_low=epsilon?0.2 eps_high=epsilon_high|epsilon?0.2
[loss!] loss_type?grpo
$PPO $LEVEL=sequence -> gspo $EPS
$PPO $LEVEL=sequence_token -> gspo_token $EPS
$PPO $LEVEL=token -> ppo_clip $EPS dual_clip:0 delta=delta
cispo -> cispo eps_high=above1@epsilon_high
sapo -> sapo tau_pos=tau_pos?1 tau_neg=tau_neg?1.05
luspo -> luspo $EPS
vespo -> vespo
real -> real tau=real_tau?0.5
fipo -> fipo $EPS delta=delta?0 half_life=fipo_decay_rate?32 clip_range=fipo_clip_range?0.2 clip_high_only=fipo_clip_high_only?true safety_threshold=fipo_safety_threshold?4

[aggregation] loss_type
grpo $LEVEL=token -> grpo
bnpo $LEVEL=token -> bnpo
dapo $LEVEL=token -> dapo
dr_grpo $LEVEL=token ?max_completion_length -> dr_grpo scale=max_completion_length
dr_grpo $LEVEL=token -> dr_grpo

[advantage] advantage_estimator?grpo
rloo -> rloo
reinforce_plus_plus -> reinforce_plus_plus
grpo scale_rewards=group,true -> grpo std:true
grpo scale_rewards=none,false -> grpo std:false
grpo scale_rewards=batch -> normalize mean:group std:batch
grpo scale_rewards=gdpo -> gdpo

[kl]
?beta kl_in_reward=true -> k3 coef=beta?0.04 in:reward
?beta -> k3 coef=beta?0.04 in:loss

[schedule]
async_generate=true -> one_step_off ; anchor old

[routing] router_replay_mode
R2 -> r2
R3 -> r3
disabled -> none

`)
