package foreign

import (
	"fmt"
	"math"
	"strings"

	"driftlab/trainer/method/correction"
)

// nemo is NeMo-RL: loss_fn of its GRPO and PPO configurations, and nemoTable.
var nemo = framework{
	name: "nemo-rl",
	sections: []section{{"loss_fn", []string{"use_importance_sampling_correction", "truncated_importance_sampling_type", "truncated_importance_sampling_ratio",
		"truncated_importance_sampling_ratio_min", "sequence_level_importance_ratios", "force_on_policy_ratio", "ratio_clip_min", "ratio_clip_max", "ratio_clip_c",
		"reference_policy_kl_penalty", "reference_policy_kl_type", "kl_input_clamp_value", "kl_output_clamp_value", "use_on_policy_kl_approximation",
		"use_kl_in_reward", "token_level_loss", "disable_ppo_ratio", "use_cispo", "score_centering", "positive_example_nll_loss_weight", "positive_example_nll_weight"}}},
	loose:  []string{"grpo.seq_logprob_error_threshold"},
	own:    []string{"truncated_importance_sampling"},
	blocks: []string{"policy.", "grpo."},
	table:  nemoTable,
	read:   readNeMo,
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
grpo.adv_estimator.name grpo.adv_estimator.normalize_rewards grpo.adv_estimator.use_leave_one_out_baseline grpo.normalize_rewards grpo.use_leave_one_out_baseline ppo.adv_estimator.name > advantage
ppo.adv_estimator.gae_lambda ppo.adv_estimator.gae_gamma grpo.adv_estimator.gae_lambda grpo.adv_estimator.gae_gamma > advantage
grpo.async_grpo.enabled grpo.async_grpo.max_trajectory_age_steps ppo.async_ppo.enabled ppo.async_ppo.max_trajectory_age_steps > schedule
grpo.async_grpo.* ppo.async_ppo.* : feature
grpo.overlong_filtering > correction
grpo.use_dynamic_sampling grpo.dynamic_sampling_max_gen_batches grpo.batch_multiplier : filter
grpo.reward_shaping.* grpo.reward_scaling.* reward_penalties.* ppo.reward_shaping.* ppo.reward_scaling.* : reward
grpo.advantage_clip* grpo.invalid_tool_call_advantage grpo.malformed_thinking_advantage grpo.adv_estimator.* ppo.adv_estimator.* grpo.max_rollout_turns grpo.skip_reference_policy_logprobs_calculation : feature
grpo.val* grpo.max_val* ppo.val* ppo.max_val* : eval
ppo.num_epochs_per_step ppo.ppo_epochs = learner.epochs
grpo.* ppo.* : run
policy.generation.temperature = rollout.temperature
policy.generation.top_p = rollout.top_p
policy.generation.top_k = rollout.top_k
policy.megatron_cfg.fp8_cfg.enabled > learner.numerics
policy.precision ~ learner.numerics
policy.generation.vllm_cfg.precision policy.generation.sglang_cfg.quantization policy.generation.vllm_cfg.dtype ~ rollout.numerics
policy.generation.vllm_cfg.kv_cache_dtype policy.generation.sglang_cfg.kv_cache_dtype ~ rollout.numerics.kv_cache
policy.megatron_cfg.moe_router_dtype ~ learner.numerics.router
policy.generation.max_new_tokens policy.max_total_sequence_length policy.generation.vllm_cfg.max_model_len : length
policy.router_replay.enabled policy.megatron_cfg.enable_routing_replay > routing
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
async_rl.sampler.name async_rl.sampler.max_staleness_versions async_rl.sampler.max_lookahead_versions async_rl.sampler.sample_freshest_first > schedule
async_rl.sampler.* : feature
async_rl.* : mode
grpo.async_grpo : mode
defaults : base
loss_fn.* : feature
`)

func readNeMo(v *values, c *Config) {
	p := &correction.Pipeline{Clamp: math.Inf(1), Denominator: correction.Pre}
	c.Pipeline = p
	kind := v.choice("truncated_importance_sampling_type", "tis", "tis", "icepop", "seq-mask-tis")
	low, high := v.number("truncated_importance_sampling_ratio_min", 0), v.number("truncated_importance_sampling_ratio", math.Inf(1))
	sequence := v.truth("sequence_level_importance_ratios", false)
	switch {
	case !v.truth("use_importance_sampling_correction", v.block && v.has("truncated_importance_sampling_ratio")):
		if v.has("truncated_importance_sampling_ratio") {
			c.Off = "use_importance_sampling_correction is not true"
		}
	case kind == "icepop":
		p.Weights = &correction.IcePop{Low: low, High: high}
	case kind == "seq-mask-tis":
		p.Weights = &correction.TokenTIS{Cap: math.Inf(1)}
		p.Masks = []correction.Masking{&correction.Geometric{Low: low, High: high}}
	case sequence:
		p.Weights = &correction.SequenceTIS{Cap: high, Floor: low}
	default:
		p.Weights = &correction.TokenTIS{Cap: high, Floor: low}
	}
	c.takeTruncated(v, "grpo.overlong_filtering")
	nemoLoss(v, c, sequence)
	if v.truth("force_on_policy_ratio", false) {
		c.note("force_on_policy_ratio true: the old log-probs are the current ones, which a recipe has with one update per step")
	}
	if v.truth("score_centering", false) {
		v.leave("score_centering", "the centred score of the sampler's top-k has no counterpart in a recipe")
	}
	if v.has("grpo.seq_logprob_error_threshold") {
		v.leave("grpo.seq_logprob_error_threshold", "a bound of the mean of exp|d| per response is not in a recipe")
		c.note("grpo.seq_logprob_error_threshold, a bound of the mean of exp|d| per response, is not in a recipe")
	}
	nemoRest(v, c)
}

// nemoLoss reads the loss, its bounds and its aggregation.
func nemoLoss(v *values, c *Config, sequence bool) {
	l := &lossFields{name: "ppo_clip"}
	low, high := v.number("ratio_clip_min", 0.2), v.number("ratio_clip_max", 0.2)
	dual := v.number("ratio_clip_c", 0)
	v.nulled("ratio_clip_c")
	switch {
	case v.truth("disable_ppo_ratio", false):
		l.name = "reinforce"
		for _, key := range []string{"ratio_clip_min", "ratio_clip_max", "ratio_clip_c"} {
			v.leave(key, "disable_ppo_ratio is true: there is no ratio to clip")
		}
	case v.truth("use_cispo", false):
		l.name = "cispo"
		l.set("eps_low", low)
		l.set("eps_high", high)
	case sequence:
		l.name = "gspo"
		l.set("eps_low", low)
		l.set("eps_high", high)
		l.set("dual_clip", dual)
	default:
		l.set("eps_low", low)
		l.set("eps_high", high)
		l.set("dual_clip", dual)
	}
	if v.has("token_level_loss") {
		word := "token-mean"
		if !v.truth("token_level_loss", true) {
			word = "seq-mean-token-mean"
		}
		l.set("aggregation", word)
	}
	c.Loss = l.String()
	for _, key := range []string{"positive_example_nll_loss_weight", "positive_example_nll_weight"} {
		if v.number(key, 0) != 0 {
			c.take("terms", fmt.Sprintf("[{name: positive_nll, coef: %v}]", v.number(key, 0)), key)
		}
	}
	for _, key := range []string{"kl_input_clamp_value", "kl_output_clamp_value", "use_on_policy_kl_approximation"} {
		v.leave(key, "the recipe's penalty has bounds of its own (kl.bounds)")
	}
}

// nemoRest reads what is not correction or loss.
func nemoRest(v *values, c *Config) {
	if coef := "reference_policy_kl_penalty"; v.has(coef) {
		if estimator, ok := v.translated("reference_policy_kl_type", "k3", penalties); ok {
			in := "loss"
			if v.truth("use_kl_in_reward", false) {
				in = "reward"
			}
			c.takeKL(estimator, v.number(coef, 0.01), in, coef, "reference_policy_kl_type", "use_kl_in_reward")
		}
	} else {
		v.leave("reference_policy_kl_type", "without reference_policy_kl_penalty the coefficient is another file's")
		v.leave("use_kl_in_reward", "without reference_policy_kl_penalty the coefficient is another file's")
	}
	prompts, group, part := v.first("grpo.num_prompts_per_step", "ppo.num_prompts_per_step"), v.first("grpo.num_generations_per_prompt", "ppo.num_generations_per_prompt"), "policy.train_global_batch_size"
	if v.has(prompts) && v.has(group) && v.has(part) {
		c.takeMinibatches(v, v.number(prompts, 0)*v.number(group, 0), v.number(part, 0), part, prompts)
	} else {
		v.leave(part, "the prompts of a step or the responses of a prompt are another file's")
		v.leave(prompts, reasons["batch"].why)
	}
	nemoAdvantage(v, c)
	on, age := v.first("grpo.async_grpo.enabled", "ppo.async_ppo.enabled"), v.first("grpo.async_grpo.max_trajectory_age_steps", "ppo.async_ppo.max_trajectory_age_steps")
	versions := v.first("async_rl.sampler.max_staleness_versions", "async_rl.sampler.max_lookahead_versions")
	switch {
	case v.any(versions, "async_rl.sampler.name"):
		nemoSampler(v, c, versions)
	case v.has(on) && v.truth(on, false):
		k := v.number(age, 1)
		c.take("schedule", fmt.Sprintf("{name: lag, k: %v}", k), on, age)
		c.note("async_grpo: a trajectory is trained max_trajectory_age_steps after the weights that generate it; the recipe's lag has that age at every step")
	case v.has(on):
		v.leave(age, "async_grpo.enabled is false")
	default:
		v.leave(age, "async_grpo.enabled is another file's")
	}
	if key := "policy.megatron_cfg.fp8_cfg.enabled"; v.truth(key, false) {
		c.take("learner.numerics", "fp8-w8a8", key)
		v.leave("policy.precision", "fp8_cfg is enabled")
	}
	if v.truth("policy.router_replay.enabled", false) || v.truth("policy.megatron_cfg.enable_routing_replay", false) {
		c.Routing = "{replay: r3}"
	}
}

// nemoSampler reads the sampler of its single controller; without a name it is that of the key alone.
func nemoSampler(v *values, c *Config, versions string) {
	name, fresh := "async_rl.sampler.name", "async_rl.sampler.sample_freshest_first"
	otherwise := "windowed"
	if v.has(versions) && strings.HasSuffix(versions, "lookahead_versions") {
		otherwise = "in_order"
	}
	switch kind := v.choice(name, otherwise, "windowed", "ready_first", "weight_fifo", "in_order", "custom"); kind {
	case "custom":
		v.leave(versions, "the sampler is a class of the user")
	case "windowed":
		c.take("schedule", fmt.Sprintf("{name: nemo_windowed, max_staleness_versions: %v, sample_freshest_first: %v}", v.number(versions, 1), v.truth(fresh, false)), versions, name, fresh)
	default:
		c.take("schedule", fmt.Sprintf("{name: nemo_%s, max_staleness_versions: %v}", kind, v.number(versions, 1)), versions, name)
	}
}

// nemoAdvantages are NeMo-RL's estimators.
var nemoAdvantages = vocabulary{"advantage", map[string]string{"grpo": "normalize", "reinforce_plus_plus": "reinforce_plus_plus", "gdpo": "gdpo", "gae": "gae"}}

// nemoAdvantage reads the estimator.
func nemoAdvantage(v *values, c *Config) {
	name := v.first("grpo.adv_estimator.name", "ppo.adv_estimator.name")
	std, loo := v.first("grpo.adv_estimator.normalize_rewards", "grpo.normalize_rewards"), v.first("grpo.adv_estimator.use_leave_one_out_baseline", "grpo.use_leave_one_out_baseline")
	if !v.any(name, std, loo) {
		return
	}
	kind, ok := v.translated(name, "grpo", nemoAdvantages)
	if !ok {
		return
	}
	var fields []string
	switch kind {
	case "normalize":
		spread := "group"
		if !v.truth(std, true) {
			spread = "none"
		}
		fields = append(fields, "mean: group", "std: "+spread, fmt.Sprintf("leave_one_out: %v", v.truth(loo, true)))
	case "gae":
		fields = append(fields, fmt.Sprintf("gamma: %v", v.number(v.first("ppo.adv_estimator.gae_gamma", "grpo.adv_estimator.gae_gamma"), 1)),
			fmt.Sprintf("lam: %v", v.number(v.first("ppo.adv_estimator.gae_lambda", "grpo.adv_estimator.gae_lambda"), 1)))
	}
	c.takeAdvantage(kind, fields, name, std, loo)
}
