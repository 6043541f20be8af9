package foreign

import (
	"math"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe/foreign/source"
)

// noCentering is why score centering is left.
const noCentering = "the centred score of the sampler's top-k has no counterpart in a recipe"

// nemo is NeMo-RL: loss_fn of its GRPO and PPO configurations, and nemoTable.
var nemo = framework{
	name: "nemo-rl",
	sections: []section{{"loss_fn", []string{"use_importance_sampling_correction", "truncated_importance_sampling_type", "truncated_importance_sampling_ratio",
		"truncated_importance_sampling_ratio_min", "sequence_level_importance_ratios", "force_on_policy_ratio", "ratio_clip_min", "ratio_clip_max", "ratio_clip_c",
		"reference_policy_kl_penalty", "reference_policy_kl_type", "kl_input_clamp_value", "kl_output_clamp_value", "use_on_policy_kl_approximation",
		"use_kl_in_reward", "token_level_loss", "disable_ppo_ratio", "use_cispo", "score_centering", "positive_example_nll_loss_weight", "positive_example_nll_weight"}, "loss_fn."}},
	loose:    []string{"grpo.seq_logprob_error_threshold"},
	own:      []string{"truncated_importance_sampling"},
	blocks:   []string{"policy.", "grpo."},
	table:    nemoTable,
	syntax:   "yaml",
	pipeline: correction.Pipeline{Clamp: math.Inf(1), Denominator: correction.Pre},
	batch:    batches{[]string{"grpo.num_prompts_per_step", "ppo.num_prompts_per_step"}, []string{"grpo.num_generations_per_prompt", "ppo.num_generations_per_prompt"}, []string{"policy.train_global_batch_size"}, [3]float64{}, ""},
	prepare: func(v *values, c *Config) {
		if v.block && v.has("truncated_importance_sampling_ratio") && !v.has("use_importance_sampling_correction") {
			v.by["use_importance_sampling_correction"] = source.Setting{Text: "true"} // stated where the block stands
		}
	},
	read: func(v *values, c *Config) {
		if v.truth("force_on_policy_ratio", false) {
			c.note("force_on_policy_ratio true: the old log-probs are the current ones, which a recipe has with one update per step")
		}
		if v.has("grpo.seq_logprob_error_threshold") {
			v.leave("grpo.seq_logprob_error_threshold", "a bound of the mean of exp|d| per response is not in a recipe")
			c.note("grpo.seq_logprob_error_threshold, a bound of the mean of exp|d| per response, is not in a recipe")
		}
		for _, key := range []string{"kl_input_clamp_value", "kl_output_clamp_value", "use_on_policy_kl_approximation"} {
			v.leave(key, "the recipe's penalty has bounds of its own (kl.bounds)")
		}
		if v.truth("score_centering", false) {
			v.leave("score_centering", noCentering)
		}
		if v.truth("policy.megatron_cfg.fp8_cfg.enabled", false) {
			v.leave("policy.precision", "fp8_cfg is enabled")
		}
	},
	unset: `
kl={name: k3, coef: 0.01, in: loss}
advantage={name: normalize, mean: group, std: group, leave_one_out: true}
rollout.group=16
rollout.temperature=1
rollout.top_p=1`,
}

// nemoTable: NVIDIA-NeMo/RL examples/configs/grpo_math_1B.yaml, nemo_rl/algorithms/loss/loss_functions.py,
// nemo_rl/algorithms/grpo.py, nemo_rl/algorithms/async_utils.py.
var nemoTable = parseTable(`
grpo.num_generations_per_prompt ppo.num_generations_per_prompt = rollout.group
grpo.num_prompts_per_step ppo.num_prompts_per_step policy.train_global_batch_size > learner.minibatches
grpo.async_grpo.* ppo.async_ppo.* : feature
grpo.use_dynamic_sampling grpo.dynamic_sampling_max_gen_batches grpo.batch_multiplier : filter
grpo.reward_shaping.* grpo.reward_scaling.* reward_penalties.* ppo.reward_shaping.* ppo.reward_scaling.* : reward
grpo.advantage_clip* grpo.invalid_tool_call_advantage grpo.malformed_thinking_advantage grpo.adv_estimator.* ppo.adv_estimator.* grpo.max_rollout_turns grpo.skip_reference_policy_logprobs_calculation : feature
grpo.val* grpo.max_val* ppo.val* ppo.max_val* : eval
ppo.num_epochs_per_step ppo.ppo_epochs = learner.epochs
grpo.* ppo.* : run
policy.generation.temperature = rollout.temperature
policy.generation.top_p = rollout.top_p
policy.generation.top_k = rollout.top_k
policy.precision ~ learner.numerics
policy.generation.vllm_cfg.precision policy.generation.sglang_cfg.quantization policy.generation.vllm_cfg.dtype ~ rollout.numerics
policy.generation.vllm_cfg.kv_cache_dtype policy.generation.sglang_cfg.kv_cache_dtype ~ rollout.numerics.kv_cache
policy.megatron_cfg.moe_router_dtype ~ learner.numerics.router
policy.generation.max_new_tokens policy.max_total_sequence_length policy.generation.vllm_cfg.max_model_len : length
policy.generation.val* : eval
policy.generation.quant_cfg : numerics
policy.generation.stop* policy.generation.vllm_cfg.logprobs_mode : feature
policy.generation.* : place
policy.optimizer.* policy.scheduler.* policy.megatron_cfg.optimizer.* policy.megatron_cfg.scheduler.* policy.max_grad_norm policy.megatron_cfg.peft.* policy.dtensor_cfg.lora_cfg.* : optimizer
policy.model_name policy.tokenizer.* policy.hf_config_overrides* policy.megatron_cfg.fp8_cfg.* policy.megatron_cfg.moe_router* policy.megatron_cfg.freeze_moe_router policy.megatron_cfg.mtp* policy.draft.* : model
policy.* : place
value.* critic.* : critic
teacher* on_policy_distillation.* distillation.* : teacher
data.* : data
env.* reward_model* : reward
checkpointing.* logger.* : log
cluster.* data_plane.* : place
value_loss_fn.* : critic
async_rl.sampler.* : feature
async_rl.* : mode
grpo.async_grpo : mode
defaults : base
loss_fn.* : feature

USE := use_importance_sampling_correction
TYPE := truncated_importance_sampling_type?tis
CAP := truncated_importance_sampling_ratio?.inf
FLOOR := truncated_importance_sampling_ratio_min?0
[weights]
?truncated_importance_sampling_ratio $USE=false ! use_importance_sampling_correction is not true
$USE=true $TYPE=icepop -> icepop low=$FLOOR high=$CAP
$USE=true $TYPE=seq-mask-tis -> token_tis cap:.inf ; mask geometric low=$FLOOR high=$CAP
$USE=true sequence_level_importance_ratios=true $TYPE=tis -> sequence_tis cap=$CAP floor=$FLOOR
$USE=true $TYPE=tis -> token_tis cap=$CAP floor=$FLOOR

[mask]
grpo.overlong_filtering=true -> truncated

EPS := eps_low=ratio_clip_min?0.2 eps_high=ratio_clip_max?0.2
[loss!]
disable_ppo_ratio=true -> reinforce
use_cispo=true -> cispo $EPS
sequence_level_importance_ratios=true -> gspo $EPS dual_clip=ratio_clip_c?0
* -> ppo_clip $EPS dual_clip=ratio_clip_c?0

[aggregation]
?token_level_loss token_level_loss?true=true -> token-mean
?token_level_loss token_level_loss?true=false -> seq-mean-token-mean

[terms]
?positive_example_nll_weight|positive_example_nll_loss_weight -> positive_nll coef=positive_example_nll_weight|positive_example_nll_loss_weight?0

[kl]
?reference_policy_kl_penalty use_kl_in_reward=true -> k3 name=kl@reference_policy_kl_type?k3 coef=reference_policy_kl_penalty?0.01 in:reward
?reference_policy_kl_penalty -> k3 name=kl@reference_policy_kl_type?k3 coef=reference_policy_kl_penalty?0.01 in:loss

STD := grpo.adv_estimator.normalize_rewards|grpo.normalize_rewards?true
LOO := leave_one_out=grpo.adv_estimator.use_leave_one_out_baseline|grpo.use_leave_one_out_baseline?true
[advantage] grpo.adv_estimator.name|ppo.adv_estimator.name?grpo
grpo $STD=true -> normalize mean:group std:group $LOO
grpo -> normalize mean:group std:none $LOO
gae -> gae gamma=ppo.adv_estimator.gae_gamma|grpo.adv_estimator.gae_gamma?1 lam=ppo.adv_estimator.gae_lambda|grpo.adv_estimator.gae_lambda?1
reinforce_plus_plus -> reinforce_plus_plus
gdpo -> gdpo

VERSIONS := max_staleness_versions=async_rl.sampler.max_staleness_versions|async_rl.sampler.max_lookahead_versions?1
ON := grpo.async_grpo.enabled|ppo.async_ppo.enabled
[schedule] async_rl.sampler.name
windowed -> nemo_windowed $VERSIONS sample_freshest_first=async_rl.sampler.sample_freshest_first?false
ready_first -> nemo_ready_first $VERSIONS
weight_fifo -> nemo_weight_fifo $VERSIONS
in_order -> nemo_in_order $VERSIONS
custom : the sampler is a class of the user
?async_rl.sampler.max_staleness_versions -> nemo_windowed $VERSIONS sample_freshest_first=async_rl.sampler.sample_freshest_first?false
?async_rl.sampler.max_lookahead_versions -> nemo_in_order $VERSIONS
$ON=true -> lag k=grpo.async_grpo.max_trajectory_age_steps|ppo.async_ppo.max_trajectory_age_steps?1 ; note async_grpo: a trajectory is trained max_trajectory_age_steps after the weights that generate it; the recipe's lag has that age at every step

[learner.numerics]
policy.megatron_cfg.fp8_cfg.enabled=true -> fp8-w8a8

[routing]
policy.router_replay.enabled=true -> r3
policy.megatron_cfg.enable_routing_replay=true -> r3

`)
