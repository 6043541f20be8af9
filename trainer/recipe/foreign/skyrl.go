package foreign

import "driftlab/trainer/method/correction"

// skyrl: trainer.algorithm.off_policy_correction, and the loss where the correction
// changes what it means.
var skyrl = framework{
	name: "skyrl",
	sections: []section{{"off_policy_correction", []string{"tis_ratio_type", "token_tis_ratio_clip_high", "sequence_tis_ratio_clip_high",
		"sequence_mask_metric", "geo_mask_high", "geo_mask_low", "product_mask_high", "product_mask_low",
		"outlier_token_is_threshold_low", "outlier_token_is_threshold_high", "token_mask_is_threshold_low", "token_mask_is_threshold_high"}, "trainer.algorithm.off_policy_correction."}},
	loose:    []string{"generator.sampling_params.logprobs"},
	own:      []string{"tis_ratio_type", "geo_mask", "product_mask", "outlier_token_is"},
	blocks:   []string{"trainer.algorithm.", "trainer.", "generator."},
	table:    skyrlTable,
	syntax:   "yaml",
	also:     []pair{{"generator.sampling_params.logprobs", "1"}},
	pipeline: correction.Pipeline{Order: correction.Sequential, Names: "skyrl"},
	batch:    batches{[]string{"trainer.train_batch_size"}, nil, []string{"trainer.policy_mini_batch_size"}, [3]float64{}, ""},
	read:     readSkyRL,
	unset: `
kl={name: k3, coef: 0.001, in: loss}
advantage={name: grpo, std: true}
rollout.group=5
rollout.temperature=1
rollout.top_p=1
learner.epochs=1`,
}

func readSkyRL(v *values, c *Config) {
	p := c.Pipeline
	low, high := v.has("token_mask_is_threshold_low"), v.has("token_mask_is_threshold_high")
	if low != high {
		c.note("token_mask_is_threshold_* has one bound, and does nothing without the other")
	}
	const a = "trainer.algorithm."
	if v.text(a+"loss_reduction", "") == "token_mean_legacy" {
		c.note("token_mean_legacy is the mean of the token means of micro-batches of %s responses; the recipe takes the token mean of the batch, and loss.aggregation=token-mean-legacy:%[1]s is exact",
			decimal(max(v.number("trainer.micro_train_batch_size_per_gpu", 0), 1)))
	}
	switch on := p.Weights != nil || len(p.Masks) > 0; {
	case on && v.nulled("generator.sampling_params.logprobs"):
		c.Off = "generator.sampling_params.logprobs is null, so there are no log-probs of the rollout engine"
	case !on && low != high:
		c.Off = "token_mask_is_threshold_* has one bound of two"
	}
}

// skyrlTable is of SkyRL's trainer. Keys, defaults and meaning: NovaSky-AI/SkyRL
// skyrl/train/config/config.py, skyrl/backends/skyrl_train/utils/ppo_utils.py.
var skyrlTable = parseTable(`
trainer.micro_train_batch_size_per_gpu > loss
trainer.algorithm.temperature = learner.temperature
trainer.algorithm.dynamic_sampling.* trainer.algorithm.zero_variance_filter* : filter
trainer.algorithm.value_clip trainer.algorithm.value_head_prefix : critic
trainer.algorithm.* : feature
trainer.update_epochs_per_batch = learner.epochs
trainer.train_batch_size trainer.policy_mini_batch_size > learner.minibatches
trainer.fully_async.sample_full_batch trainer.fully_async.clear_kv_cache_on_weight_sync : feature
trainer.fully_async.* : place
generator.n_samples_per_prompt = rollout.group
generator.sampling_params.temperature = rollout.temperature
generator.sampling_params.top_p = rollout.top_p
generator.sampling_params.top_k = rollout.top_k
generator.sampling_params.max_generate_length generator.max_input_length trainer.max_prompt_length : length
generator.sampling_params.* generator.zero_reward_on_non_stop generator.step_wise_trajectories generator.merge_stepwise_output generator.max_turns : feature
generator.chat_template* generator.use_conversation_multi_turn generator.append_eos* : data
generator.eval* trainer.eval* : eval
generator.* : place
trainer.policy.optimizer_config.* trainer.policy.megatron_config.optimizer_config_kwargs.* : optimizer
trainer.policy.model.* trainer.ref.model.* trainer.policy.megatron_config.transformer_config_kwargs.* trainer.policy.language_model_only trainer.policy.megatron_config.freeze_moe_router : model
trainer.critic.* : critic
trainer.policy.* trainer.ref.* trainer.placement.* trainer.micro_* trainer.max_tokens_per_microbatch trainer.strategy trainer.gradient_checkpointing* trainer.use_expandable_segments : place
trainer.use_sample_packing trainer.remove_microbatch_padding trainer.flash_attn trainer.sequence_parallel_backend trainer.logprobs_chunk_size : place
trainer.critic_mini_batch_size : critic
trainer.epochs trainer.max_training_steps trainer.seed trainer.resume_mode trainer.resume_path : run
trainer.mtp.* trainer.update_ref_every_epoch trainer.recompute_old_logprobs_per_minibatch : feature
trainer.* : log
data.* : data
environment.* : reward
terminal_bench_config.* harbor_trial_config.* agent.* env.* : feature
config_path config_name defaults : base

A := trainer.algorithm
[mask]
?outlier_token_is_threshold_low|outlier_token_is_threshold_high -> outlier low=outlier_token_is_threshold_low?0 high=outlier_token_is_threshold_high?.inf

[mask]
?token_mask_is_threshold_low ?token_mask_is_threshold_high -> token_mask low=token_mask_is_threshold_low?0 high=token_mask_is_threshold_high?.inf

[weights] tis_ratio_type
token -> token_tis cap=token_tis_ratio_clip_high?2
sequence -> sequence_tis cap=sequence_tis_ratio_clip_high?5
* $A.use_tis=true $A.tis_imp_ratio_cap?2!=-1 -> token_tis cap=$A.tis_imp_ratio_cap?2

[mask] sequence_mask_metric
product -> sequence_mask low=product_mask_low?0.5 high=product_mask_high?2
geometric -> geometric low=geo_mask_low?0.99 high=geo_mask_high?1.01

[mask]
generator.apply_overlong_filtering=true -> truncated

EPS := eps_low=$A.eps_clip_low?0.2 eps_high=$A.eps_clip_high?0.2
DELTA := delta_low=$A.dppo.delta_low?0.2 delta_high=$A.dppo.delta_high?0.2
[loss!] $A.policy_loss_type?regular
regular -> ppo_clip $EPS dual_clip:0
dual_clip -> ppo_clip $EPS dual_clip=$A.clip_ratio_c?3
gspo -> gspo_token $EPS ratio_mask:pre
clip_cov -> clip_cov $EPS share=$A.clip_cov.clip_ratio?2e-4 low=$A.clip_cov.clip_cov_lb?1 high=$A.clip_cov.clip_cov_ub?5
kl_cov -> kl_cov share=$A.kl_cov.kl_cov_frac?0.2 beta=$A.kl_cov.ppo_kl_coef?1
cispo $A.cispo.cispo_anchor?old=rollout -> cispo eps_low=$A.cispo.cispo_eps_clip_low?1 eps_high=$A.cispo.cispo_eps_clip_high?4 anchor:roll
cispo $A.cispo.cispo_anchor?old=old -> cispo eps_low=$A.cispo.cispo_eps_clip_low?1 eps_high=$A.cispo.cispo_eps_clip_high?4
sapo -> sapo tau_pos=$A.sapo.tau_pos?1 tau_neg=$A.sapo.tau_neg?1.05
rollout_is -> rollout_is $EPS
cross_entropy -> cross_entropy
importance_sampling -> importance_sampling
dppo $A.dppo.dppo_type?binary_tv=binary_tv -> dppo_tv $DELTA
dppo $A.dppo.dppo_type?binary_tv=binary_kl -> dppo_kl $DELTA

[aggregation] $A.loss_reduction
token_mean -> token-mean
token_mean_legacy -> token-mean
sequence_mean -> seq-mean-token-mean
seq_mean_token_sum_norm -> seq-mean-token-sum-norm scale=$A.max_seq_len
prompt_mean -> prompt-mean

[advantage] $A.advantage_estimator
grpo -> grpo std=$A.grpo_norm_by_std?true
gae -> gae gamma=$A.gamma?1 lam=$A.lambd?1
rloo -> rloo
reinforce++ -> reinforce_plus_plus
maxrl -> maxrl

[advantage.std]
?$A.grpo_norm_by_std !$A.advantage_estimator $A.grpo_norm_by_std?true=true -> true
?$A.grpo_norm_by_std !$A.advantage_estimator -> false

KIND := k3 name=kl@$A.kl_estimator_type?k3
[kl]
?$A.use_kl_loss|$A.use_kl_in_reward|$A.kl_loss_coef $A.use_kl_in_reward=true -> $KIND coef=$A.kl_ctrl.kl_coef|$A.kl_coef|$A.kl_loss_coef?0.001 in:reward
?$A.use_kl_loss|$A.use_kl_in_reward|$A.kl_loss_coef $A.use_kl_loss?true=true -> $KIND coef=$A.kl_loss_coef?0.001 in:loss
?$A.use_kl_loss|$A.use_kl_in_reward|$A.kl_loss_coef -> none coef:0

[terms]
$A.use_entropy_loss=true -> entropy coef=$A.entropy_loss_coef?0

STALE := staleness=trainer.fully_async.max_staleness_steps?4
[schedule]
?trainer.fully_async.enabled|trainer.fully_async.max_staleness_steps trainer.fully_async.enabled?true=true -> skyrl $STALE ; anchor old

[routing]
generator.inference_engine.enable_return_routed_experts=true -> r3
trainer.policy.megatron_config.moe_enable_routing_replay=true -> r3
`)
