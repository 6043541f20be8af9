package foreign

import (
	"math"

	"driftlab/trainer/method/correction"
)

// openrlhf: flags of train_ppo_ray, under their names of old and, with points, of 2026.
var openrlhf = framework{
	name: "openrlhf", program: "openrlhf",
	loose: []string{"enable_vllm_is_correction", "vllm_is_truncated_threshold", "vllm_is_correction_type",
		"is_correction_enable", "is_correction_threshold", "is_correction_type", "is_correction_level", "is_correction_mode", "is_correction_gating"},
	own:   []string{"vllm_is_", "is_correction_"},
	table: openrlhfTable, syntax: "flags",
	under:    map[string]string{"is_correction_level": "algo.advantage.", "is_correction_mode": "algo.advantage.", "is_correction_gating": "algo.advantage.", "is_correction_threshold.0": "algo.advantage.", "is_correction_threshold.1": "algo.advantage."},
	batch:    batches{[]string{"rollout.batch_size", "rollout_batch_size"}, []string{"rollout.n_samples_per_prompt", "n_samples_per_prompt"}, []string{"train.batch_size", "train_batch_size"}, [3]float64{0, 1, 0}, ""},
	pipeline: correction.Pipeline{Clamp: math.Inf(1), Denominator: correction.Pre},
	lora:     [][2]string{{"ds.lora.rank", "ds.lora.alpha"}, {"lora_rank", "lora_alpha"}},
	prepare: func(v *values, c *Config) { // one threshold is the upper one
		if s := v.by["is_correction_threshold"]; v.has("is_correction_threshold") {
			v.by["is_correction_threshold.1"] = s
			s.Text = "0"
			v.by["is_correction_threshold.0"] = s
			v.used["is_correction_threshold"] = true
		}
	},
	unset: `
loss={name: ppo_clip, eps_low: 0.2, eps_high: 0.2, dual_clip: 0}
kl={name: k1, coef: 0.01, in: reward}
rollout.group=1
rollout.temperature=1
rollout.top_p=1
learner.epochs=1`,
	removed: `
is_correction_enable enable_vllm_is_correction: removed from OpenRLHF on 14 September 2026; is_correction_level is in its place
is_correction_type vllm_is_correction_type: removed from OpenRLHF on 14 September 2026; is_correction_mode is in its place`,
}

// openrlhfTable: OpenRLHF/OpenRLHF openrlhf/cli/train_ppo_ray.py (0.9 and 0.8), openrlhf/models/loss.py,
// openrlhf/trainer/ppo_utils/experience_maker.py.
var openrlhfTable = parseTable(`
algo.kl.target kl_target algo.kl.horizon kl_horizon : feature
ds.lora.rank ds.lora.alpha lora_rank lora_alpha > lora
train.max_epochs max_epochs = learner.epochs
rollout.n_samples_per_prompt n_samples_per_prompt = rollout.group
ds.param_dtype ~ learner.numerics
vllm.dtype vllm.kv_cache_dtype : numerics
rollout.temperature temperature = rollout.temperature
rollout.top_p top_p = rollout.top_p
train.batch_size train_batch_size rollout.batch_size rollout_batch_size > learner.minibatches
train.partial_rollout_enable partial_rollout : feature
rollout.max_new_tokens generate_max_len prompt_max_len data.max_len max_len rollout.max_tokens_per_gpu : length
actor.adam.* actor.muon.* actor.optim actor.lr_scheduler actor.lr_warmup_ratio actor.min_lr_ratio actor.max_norm actor_learning_rate lr_scheduler lr_warmup_ratio max_norm adam_betas l2 learning_rate train.enable_ema train.ema_beta enable_ema ema_beta : optimizer
critic.adam.* critic.muon.* critic.optim critic.value_clip critic.freezing_steps critic_learning_rate value_clip freezing_actor_steps critic_pretrain critic.model_name_or_path : critic
actor.model_name_or_path pretrain actor.freeze_visual_encoder actor.aux_loss_coef aux_loss_coef ds.lora.* target_modules lora_dropout load_in_4bit ds.load_in_4bit bf16 ref.model_name_or_path : model
reward.* reward_pretrain remote_rm_url normalize_reward reward_clip_range overlong_buffer_len overlong_penalty_factor stop_properly_penalty_coef : reward
algo.dynamic_filtering_enable algo.dynamic_filtering_range dynamic_filtering dynamic_filtering_reward_range rollout.vllm_generate_batch_size vllm_generate_batch_size : filter
train.agent_func_path agent_func_path : feature
eval.* eval_dataset eval_steps eval_split eval_temperature eval_n_samples_per_prompt : eval
ckpt.* logger.* save_path save_steps save_hf_ckpt ckpt_path max_ckpt_num max_ckpt_mem load_checkpoint logging_steps use_wandb wandb_* use_tensorboard disable_ds_ckpt best_metric_key : log
train.num_episodes num_episodes train.seed seed train.full_determinism_enable full_determinism max_samples data.max_samples : run
data.* prompt_data prompt_data_probs prompt_split input_key label_key apply_chat_template input_template dataset_config tokenizer_chat_template image_key packing_samples use_ms : data
actor.* critic.* ref.* vllm.* ds.* train.* rollout.* : place
vllm_* ref_* actor_num_* critic_num_* reward_num_* colocate_* micro_train_batch_size micro_rollout_batch_size zero_stage zpg adam_offload flash_attn attn_implementation gradient_checkpointing* deepspeed_enable_sleep deepcompile enforce_eager enable_prefix_caching overlap_comm ring_attn_size ring_head_stride use_liger_kernel ds_tensor_parallel_size use_dynamic_batch train_max_tokens_per_gpu rollout_max_tokens_per_gpu grad_accum_dtype disable_fast_tokenizer local_rank : place

LEVEL := is_correction_level?off
MODE := is_correction_mode?mask
LOW := is_correction_threshold.0?0.5
HIGH := is_correction_threshold.1?5
OLD := is_correction_enable|enable_vllm_is_correction
KIND := is_correction_type|vllm_is_correction_type?tis
OLDLOW := is_correction_threshold.0|vllm_is_truncated_threshold.0?0.5
OLDHIGH := is_correction_threshold.1|vllm_is_truncated_threshold.1?5
[weights]
?is_correction_level $LEVEL=off ! is_correction_level is off
is_correction_gating?ratio=binary_kl ? is_correction_gating binary_kl: the correction is on, and this gate is not known to a recipe
is_correction_gating?ratio=tv ? is_correction_gating tv: the correction is on, and this gate is not known to a recipe
$LEVEL=token $MODE=mask -> icepop low=$LOW high=$HIGH
$LEVEL=token $MODE=clip,trunc -> token_tis cap=$HIGH floor=$LOW
$LEVEL=seq,geo $MODE=mask -> token_tis cap:.inf ; mask geometric low=$LOW high=$HIGH
$LEVEL=seq,geo $MODE=clip,trunc -> geometric_tis cap=$HIGH floor=$LOW
?is_correction_mode|is_correction_gating ! is_correction_level is off
$OLD=false ! enable_vllm_is_correction is not given
$KIND=icepop -> icepop low=$OLDLOW high=$OLDHIGH
$KIND=seq-mask-tis -> token_tis cap:.inf ; mask geometric low=$OLDLOW high=$OLDHIGH ; note seq-mask-tis: the weights of what is kept are not clamped, against the comment in the code
$KIND=tis -> token_tis cap=$OLDHIGH floor=$OLDLOW

EPS := eps_low=actor.eps_clip_low_high.0|eps_clip_low_high.0|actor.eps_clip|eps_clip?0.2 eps_high=actor.eps_clip_low_high.1|eps_clip_low_high.1|actor.eps_clip|eps_clip?0.2 dual_clip=actor.dual_clip|dual_clip?0
[loss!] actor.policy_loss_type|policy_loss_type?ppo
ppo -> ppo_clip $EPS
gspo -> gspo $EPS

[aggregation] actor.loss_agg_mode
token-mean -> token-mean
seq-mean-token-mean -> seq-mean-token-mean
seq-mean-token-sum -> seq-mean-token-sum

NOSTD := algo.advantage.no_std_norm|no_advantage_std_norm
[advantage] algo.advantage.estimator|advantage_estimator
group_norm $NOSTD=true -> grpo std:false
group_norm -> grpo std:true
dr_grpo -> grpo std:false
gae -> gae gamma=algo.advantage.gamma|gamma?1 lam=algo.advantage.lambd|lambd?1
reinforce -> reinforce_plus_plus
reinforce_baseline -> reinforce_plus_plus_baseline
rloo -> rloo
flash_reinforce -> normalize mean:batch std:none

COEF := coef=algo.kl.init_coef|init_kl_coef?0.01
ESTIMATOR := algo.kl.estimator|kl_estimator
LOSS := algo.kl.use_loss|use_kl_loss
[kl]
$LOSS=true algo.kl.unbiased_gradient=true $ESTIMATOR=k3 -> k3+ $COEF in:loss
$LOSS=true -> k1 name=kl@$ESTIMATOR?k1 $COEF in:loss
* -> k1 name=kl@$ESTIMATOR?k1 $COEF in:reward

[terms]
?actor.entropy_coef|entropy_loss_coef|entropy_coef -> entropy coef=actor.entropy_coef|entropy_loss_coef|entropy_coef?0

ASYNC := train.async_enable|async_train
[schedule]
$ASYNC=true train.async_queue_size|async_queue_size?1=1 -> one_step_off ; anchor old
$ASYNC=true -> lag k=train.async_queue_size|async_queue_size?1

`)
