package foreign

import "fmt"

const skyrlAlgorithm = "trainer.algorithm."

// skyrlTable is of SkyRL's trainer. Keys, defaults and meaning: NovaSky-AI/SkyRL
// skyrl/train/config/config.py, skyrl/backends/skyrl_train/utils/ppo_utils.py.
var skyrlTable = parseTable(`
trainer.algorithm.advantage_estimator trainer.algorithm.grpo_norm_by_std trainer.algorithm.lambd trainer.algorithm.gamma > advantage
trainer.algorithm.use_kl_loss trainer.algorithm.kl_loss_coef trainer.algorithm.kl_estimator_type trainer.algorithm.use_kl_in_reward trainer.algorithm.kl_coef trainer.algorithm.kl_ctrl.kl_coef > kl
trainer.algorithm.policy_loss_type trainer.algorithm.eps_clip_low trainer.algorithm.eps_clip_high trainer.algorithm.clip_ratio_c trainer.algorithm.loss_reduction trainer.algorithm.max_seq_len > loss
trainer.algorithm.sapo.tau_pos trainer.algorithm.sapo.tau_neg trainer.algorithm.clip_cov.clip_ratio trainer.algorithm.clip_cov.clip_cov_lb trainer.algorithm.clip_cov.clip_cov_ub > loss
trainer.algorithm.kl_cov.kl_cov_frac trainer.algorithm.kl_cov.ppo_kl_coef trainer.algorithm.cispo.cispo_eps_clip_low trainer.algorithm.cispo.cispo_eps_clip_high trainer.algorithm.cispo.cispo_anchor > loss
trainer.algorithm.dppo.dppo_type trainer.algorithm.dppo.delta_low trainer.algorithm.dppo.delta_high > loss
trainer.algorithm.use_tis trainer.algorithm.tis_imp_ratio_cap > correction
trainer.algorithm.use_entropy_loss trainer.algorithm.entropy_loss_coef > terms
trainer.algorithm.temperature = learner.temperature
trainer.algorithm.dynamic_sampling.* trainer.algorithm.zero_variance_filter* : filter
trainer.algorithm.value_clip trainer.algorithm.value_head_prefix : critic
trainer.algorithm.* : feature
trainer.update_epochs_per_batch = learner.epochs
trainer.train_batch_size trainer.policy_mini_batch_size > learner.minibatches
trainer.fully_async.enabled trainer.fully_async.max_staleness_steps > schedule
trainer.fully_async.sample_full_batch trainer.fully_async.clear_kv_cache_on_weight_sync : feature
trainer.fully_async.* : place
generator.n_samples_per_prompt = rollout.group
generator.sampling_params.temperature = rollout.temperature
generator.sampling_params.top_p = rollout.top_p
generator.sampling_params.top_k = rollout.top_k
generator.inference_engine.enable_return_routed_experts trainer.policy.megatron_config.moe_enable_routing_replay > routing
generator.sampling_params.max_generate_length generator.max_input_length trainer.max_prompt_length : length
generator.apply_overlong_filtering > correction
generator.sampling_params.* generator.zero_reward_on_non_stop generator.step_wise_trajectories generator.merge_stepwise_output generator.max_turns : feature
generator.chat_template* generator.use_conversation_multi_turn generator.append_eos* : data
generator.eval* trainer.eval* : eval
generator.* : place
trainer.policy.optimizer_config.* trainer.policy.megatron_config.optimizer_config_kwargs.* : optimizer
trainer.policy.model.* trainer.ref.model.* trainer.policy.megatron_config.transformer_config_kwargs.* trainer.policy.language_model_only trainer.policy.megatron_config.freeze_moe_router : model
trainer.critic.* : critic
trainer.micro_train_batch_size_per_gpu > loss
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
`)

// skyrlLosses are SkyRL's policy losses by their names here.
var skyrlLosses = vocabulary{"loss", map[string]string{"regular": "ppo_clip", "dual_clip": "ppo_clip", "gspo": "gspo_token", "clip_cov": "clip_cov", "kl_cov": "kl_cov", "cispo": "cispo",
	"sapo": "sapo", "rollout_is": "rollout_is", "cross_entropy": "cross_entropy", "importance_sampling": "importance_sampling", "dppo": "dppo_tv"}}

// skyrlReductions and skyrlAdvantages are its other names.
var (
	skyrlReductions = vocabulary{"aggregation", map[string]string{"token_mean": "token-mean", "token_mean_legacy": "token-mean", "sequence_mean": "seq-mean-token-mean", "seq_mean_token_sum_norm": "seq-mean-token-sum-norm", "prompt_mean": "prompt-mean"}}
	skyrlAdvantages = vocabulary{"advantage", map[string]string{"grpo": "grpo", "gae": "gae", "rloo": "rloo", "reinforce++": "reinforce_plus_plus", "maxrl": "maxrl"}}
)

// skyrlMicro is the size of the micro-batches whose means token_mean_legacy averages.
const skyrlMicro = "trainer.micro_train_batch_size_per_gpu"

// skyrlLoss reads the loss, its bounds and its reduction.
func skyrlLoss(v *values, c *Config) {
	const a = skyrlAlgorithm
	kind := a + "policy_loss_type"
	name, ok := v.translated(kind, "regular", skyrlLosses)
	if !ok {
		return
	}
	l := &lossFields{name: name}
	low, high := v.number(a+"eps_clip_low", 0.2), v.number(a+"eps_clip_high", 0.2)
	switch name {
	case "ppo_clip":
		l.set("eps_low", low)
		l.set("eps_high", high)
		if v.text(kind, "regular") == "dual_clip" {
			l.set("dual_clip", v.number(a+"clip_ratio_c", 3))
			break
		}
		l.set("dual_clip", 0)
		v.leave(a+"clip_ratio_c", "policy_loss_type is not dual_clip")
	case "gspo_token": // its mean log-ratio is over all tokens, those that a mask rejects too
		l.set("eps_low", low)
		l.set("eps_high", high)
		l.set("ratio_mask", "pre")
	case "rollout_is":
		l.set("eps_low", low)
		l.set("eps_high", high)
	case "clip_cov":
		l.set("eps_low", low)
		l.set("eps_high", high)
		l.set("share", v.number(a+"clip_cov.clip_ratio", 2e-4))
		l.set("low", v.number(a+"clip_cov.clip_cov_lb", 1))
		l.set("high", v.number(a+"clip_cov.clip_cov_ub", 5))
	case "kl_cov":
		l.set("share", v.number(a+"kl_cov.kl_cov_frac", 0.2))
		l.set("beta", v.number(a+"kl_cov.ppo_kl_coef", 1))
	case "cispo":
		l.set("eps_low", v.number(a+"cispo.cispo_eps_clip_low", 1))
		l.set("eps_high", v.number(a+"cispo.cispo_eps_clip_high", 4))
		if v.choice(a+"cispo.cispo_anchor", "old", "old", "rollout") == "rollout" {
			l.set("anchor", "roll")
		}
	case "sapo":
		l.set("tau_pos", v.number(a+"sapo.tau_pos", 1))
		l.set("tau_neg", v.number(a+"sapo.tau_neg", 1.05))
	case "dppo_tv":
		if v.choice(a+"dppo.dppo_type", "binary_tv", "binary_tv", "binary_kl") == "binary_kl" {
			l.name = "dppo_kl"
		}
		l.set("delta_low", v.number(a+"dppo.delta_low", 0.2))
		l.set("delta_high", v.number(a+"dppo.delta_high", 0.2))
	}
	if reduction := a + "loss_reduction"; v.has(reduction) {
		word, ok := v.translated(reduction, "token_mean", skyrlReductions)
		if n := v.number(a+"max_seq_len", 0); n > 0 && word == "seq-mean-token-sum-norm" {
			word += ":" + decimal(n)
		}
		if n := v.number(skyrlMicro, 0); v.text(reduction, "") == "token_mean_legacy" {
			c.note("token_mean_legacy is the mean of the token means of micro-batches of %s responses; the recipe takes the token mean of the batch, and loss.aggregation=token-mean-legacy:%[1]s is exact", decimal(max(n, 1)))
		}
		if ok {
			l.set("aggregation", word)
		}
	}
	c.Loss = l.String()
}

// skyrlRest reads what is not correction or loss.
func skyrlRest(v *values, c *Config) {
	const a = skyrlAlgorithm
	estimator, std := a+"advantage_estimator", a+"grpo_norm_by_std"
	if v.has(estimator) {
		if name, ok := v.translated(estimator, "grpo", skyrlAdvantages); ok {
			var fields []string
			switch name {
			case "grpo":
				fields = append(fields, fmt.Sprintf("std: %v", v.truth(std, true)))
			case "gae":
				fields = append(fields, fmt.Sprintf("gamma: %v", v.number(a+"gamma", 1)), fmt.Sprintf("lam: %v", v.number(a+"lambd", 1)))
			}
			c.takeAdvantage(name, fields, estimator, std)
		}
	} else if v.has(std) {
		c.take("advantage.std", fmt.Sprint(v.truth(std, true)), std)
	}
	use, coef, inReward := a+"use_kl_loss", a+"kl_loss_coef", a+"use_kl_in_reward"
	kind := a + "kl_estimator_type"
	if v.any(use, inReward, coef) {
		estimator, ok := v.translated(kind, "k3", penalties)
		switch {
		case !ok:
		case v.truth(inReward, false):
			key := v.first(a+"kl_ctrl.kl_coef", a+"kl_coef", coef)
			c.takeKL(estimator, v.number(key, 0.001), "reward", inReward, key, kind)
		case v.truth(use, true):
			c.takeKL(estimator, v.number(coef, 0.001), "loss", use, coef, kind)
		default:
			c.take("kl", "{name: none}", use, inReward)
			v.leave(coef, "use_kl_loss is false")
			v.leave(kind, "use_kl_loss is false")
		}
	}
	if v.truth(a+"use_entropy_loss", false) {
		c.takeEntropy(v, a+"entropy_loss_coef")
	} else {
		v.leave(a+"entropy_loss_coef", "use_entropy_loss is not true")
	}
	whole, part := "trainer.train_batch_size", "trainer.policy_mini_batch_size"
	if v.has(whole) && v.has(part) {
		c.takeMinibatches(v, v.number(whole, 0), v.number(part, 0), part, whole)
	}
	enabled, staleness := "trainer.fully_async.enabled", "trainer.fully_async.max_staleness_steps"
	if v.has(enabled) && !v.truth(enabled, true) {
		v.leave(staleness, "trainer.fully_async.enabled is false")
	} else if v.any(enabled, staleness) {
		c.take("schedule", fmt.Sprintf("{name: skyrl, staleness: %s}", decimal(v.number(staleness, 4))), enabled, staleness)
		c.take("anchor", "old", enabled, staleness) // its trainer scores the batch before the update
	}
	if v.truth("generator.inference_engine.enable_return_routed_experts", false) || v.truth("trainer.policy.megatron_config.moe_enable_routing_replay", false) {
		c.Routing = "{replay: r3}"
	}
}
