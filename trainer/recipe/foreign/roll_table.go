package foreign

import "fmt"

// rollTable is of ROLL's RLVR and agentic pipelines: alibaba/ROLL roll/configs/base_config.py,
// roll/configs/worker_config.py, roll/configs/generating_args.py, roll/pipeline/agentic/agentic_actor_pg_worker.py.
var rollTable = parseTable(`
adv_estimator norm_mean_type norm_std_type reward_normalization.norm_mean_type reward_normalization.norm_std_type reward_normalization.grouping reward_normalization.method whiten_advantages gamma lambd > advantage
init_kl_coef add_token_level_kl kl_penalty use_kl_loss kl_loss_coef > kl
target_kl kl_horizon : feature
pg_variant actor_train.pg_variant pg_clip pg_clip_low pg_clip_high use_pg_clip_range dual_clip_loss loss_agg_mode use_topr_loss > loss
actor_train.topr_positive_weight actor_train.topr_negative_weight actor_train.cispo_epsilon_low actor_train.cispo_epsilon_high actor_train.cispo_use_unified_mask actor_train.kimi15_tau > loss
entropy_loss_coef > terms
ppo_epochs = learner.epochs
train_env_manager.group_size num_return_sequences_in_group actor_infer.generating_args.num_return_sequences student_infer.generating_args.num_return_sequences = rollout.group
student_infer.generating_args.temperature actor_infer.generating_args.temperature = rollout.temperature
student_infer.generating_args.top_p actor_infer.generating_args.top_p = rollout.top_p
student_infer.generating_args.top_k actor_infer.generating_args.top_k = rollout.top_k
student_train.model_args.dtype actor_train.model_args.dtype ~ learner.numerics
student_infer.model_args.dtype actor_infer.model_args.dtype actor_infer.strategy_args.strategy_config.dtype ~ rollout.numerics
actor_infer.strategy_args.strategy_config.kv_cache_dtype ~ rollout.numerics.kv_cache
async_generation_ratio > schedule
rollout_batch_size actor_train.training_args.gradient_accumulation_steps : batch
actor_infer.generating_args.max_new_tokens response_length prompt_length sequence_length max_tokens_per_step : length
actor_infer.generating_args.* : feature
actor_train.training_args.learning_rate actor_train.training_args.weight_decay actor_train.training_args.warmup_steps actor_train.training_args.warmup_ratio actor_train.training_args.lr_scheduler_type actor_train.training_args.num_train_epochs max_grad_norm : optimizer
actor_train.model_args.* pretrain reward_pretrain reference.model_args.* : model
advantage_clip : feature
reward_clip use_reward_scaling reward_normalize* use_reward_norm reward_norm reward_scale whiten_rewards add_len_reward reward_shift reward.* rewards.* : reward
difficulty* query_filter* max_additional_running_prompts is_use_additional_prompts max_running_requests is_num_return* use_additional_prompts : filter
max_len_mask > correction
enable_old_logprobs_recompute force_disable_old_logprobs_recompute enable_reference importance_sampling use_length* length_loss_weight difficulty_loss_weight* postive_loss_coef positive_loss_coef use_segment* ratio_type error_max_len* : feature
step_reward_gamma step_reward_weight episode_reward_weight max_actions_per_traj val_env_manager.* train_env_manager.* custom_envs.* env* : reward
student_infer.generating_args.max_new_tokens : length
student_infer.generating_args.* : feature
student_train.training_args.* : optimizer
student_train.* student_infer.* : place
critic.* critic_warmup value_clip : critic
opd* teacher* student* is_pure_opd use_opd : teacher
validation.* val_* eval_* : eval
actor_train.* actor_infer.* reference.* system_envs.* num_gpus_per_node num_nodes is_offload* model_update* transfer* router_args.* : place
checkpoint_config.* track_with tracker_kwargs.* logging* render_save_dir output_dir base_dir save_* exp_name rollout_dump_dir profiler* max_ckpt_to_keep log_* resume_from_checkpoint length_profiler_dir hydra.* : log
max_steps seed local_rank rpc_timeout offload* : run
data* tag* domain* : data
defaults defaults.* : base
pg_* actor_train.pg_* : feature
`)

// rollLosses are ROLL's policy gradients by their names here.
var rollLosses = vocabulary{"loss", map[string]string{"vanilla": "reinforce", "ppo": "ppo_clip", "topr": "topr", "cispo": "cispo", "kimi15": "kimi"}}

// rollAggregations and rollAdvantages are its other names.
var (
	rollAggregations = vocabulary{"aggregation", map[string]string{"token-mean": "token-mean", "seq-mean-token-sum": "seq-mean-token-sum", "seq-mean-token-mean": "seq-mean-token-mean", "seq-mean-token-sum-norm": "seq-mean-token-sum-norm"}}
	rollAdvantages   = vocabulary{"advantage", map[string]string{"gae": "gae", "grpo": "grpo", "reinforce": "reinforce"}}
)

// rollLoss reads the loss, its bounds and its aggregation.
func rollLoss(v *values, c *Config) {
	variant := v.first("actor_train.pg_variant", "pg_variant")
	name, ok := v.translated(variant, "ppo", rollLosses) // without a variant the pipeline has PPO's loss
	if !ok {
		return
	}
	if v.truth("use_topr_loss", false) {
		name = "topr"
	}
	l := &lossFields{name: name}
	switch name {
	case "ppo_clip":
		low := v.number("pg_clip", 0.2)
		high := low
		if v.truth("use_pg_clip_range", false) {
			low, high = v.number("pg_clip_low", 0.2), v.number("pg_clip_high", 0.2)
		} else {
			v.leave("pg_clip_low", "use_pg_clip_range is not true")
			v.leave("pg_clip_high", "use_pg_clip_range is not true")
		}
		l.set("eps_low", low)
		l.set("eps_high", high)
		dual := 0.0
		if v.truth("dual_clip_loss", false) {
			dual = 1 + 2*low // ROLL: max(loss, -A·(1 + 2·pg_clip))
		}
		l.set("dual_clip", dual)
	case "topr":
		l.set("positive_weight", v.number("actor_train.topr_positive_weight", 1))
		l.set("negative_weight", v.number("actor_train.topr_negative_weight", 1))
	case "cispo":
		l.set("eps_low", v.number("actor_train.cispo_epsilon_low", 0.1))
		l.set("eps_high", v.number("actor_train.cispo_epsilon_high", 0.1))
		l.set("unified_mask", v.truth("actor_train.cispo_use_unified_mask", false))
	case "kimi":
		l.set("tau", v.number("actor_train.kimi15_tau", 0.1))
	}
	if agg := "loss_agg_mode"; v.has(agg) && name != "kimi" {
		if word, ok := v.translated(agg, "seq-mean-token-mean", rollAggregations); ok {
			l.set("aggregation", word)
		}
	}
	c.Loss = l.String()
}

// rollRest reads what is not correction or loss.
func rollRest(v *values, c *Config) {
	if v.has("adv_estimator") {
		if name, ok := v.translated("adv_estimator", "gae", rollAdvantages); ok {
			var fields []string
			switch name {
			case "gae":
				fields = append(fields, fmt.Sprintf("gamma: %v", v.number("gamma", 1)), fmt.Sprintf("lam: %v", v.number("lambd", 0.95)))
			case "grpo", "reinforce":
				if mean, std := rollNormalization(v, name); (mean != "group" || std != "group" || name != "grpo") && (mean != "none" || std != "none" || name != "reinforce") {
					name, fields = "normalize", []string{"mean: " + mean, "std: " + std}
				}
			}
			c.takeAdvantage(name, fields, "adv_estimator")
		}
	}
	if v.truth("whiten_advantages", false) {
		v.leave("whiten_advantages", "a second normalisation, of the advantages after that of the rewards, is not in a recipe")
	}
	switch kind, ok := v.translated("kl_penalty", "kl", penalties); {
	case !ok:
	case v.truth("use_kl_loss", false):
		c.takeKL("k3", v.number("kl_loss_coef", 0), "loss", "use_kl_loss", "kl_loss_coef")
	case v.truth("add_token_level_kl", false):
		c.takeKL(kind, v.number("init_kl_coef", 0.2), "reward", "add_token_level_kl", "init_kl_coef", "kl_penalty")
	case v.any("init_kl_coef", "use_kl_loss", "add_token_level_kl"):
		c.take("kl", "{name: none}", "use_kl_loss", "add_token_level_kl")
		v.leave("init_kl_coef", "add_token_level_kl is not true")
		v.leave("kl_loss_coef", "use_kl_loss is not true")
		v.leave("kl_penalty", "add_token_level_kl is not true")
	}
	c.takeEntropy(v, "entropy_loss_coef")
	v.number("entropy_loss_coef", 0)
	if ratio := "async_generation_ratio"; v.has(ratio) {
		if r := v.number(ratio, 0); r > 0 {
			c.take("schedule", fmt.Sprintf("{name: roll_flash, ratio_percent: %v}", 100*r), ratio)
		} else {
			c.take("schedule", "{name: sync}", ratio)
		}
	}
}

// rollNormalization is over what the rewards are normalised: batch, group or none. In the pipeline of verified rewards
// GRPO's is the group's whatever is written; the agentic pipeline has a section of its own, whose older keys are a method
// and what is grouped.
//
// Source: alibaba/ROLL roll/utils/functionals.py, reward_postprocess; roll/pipeline/agentic/agentic_config.py.
func rollNormalization(v *values, estimator string) (mean, std string) {
	const agentic = "reward_normalization."
	word := func(key, without string) string {
		switch x := v.text(key, without); x {
		case "batch", "group":
			return x
		case "running":
			v.leave(key, "running statistics of rewards are not in a recipe")
		}
		return "none"
	}
	switch {
	case v.any(agentic+"norm_mean_type", agentic+"norm_std_type"):
		return word(agentic+"norm_mean_type", ""), word(agentic+"norm_std_type", "")
	case v.has(agentic + "method"):
		over := "group"
		if g := v.text(agentic+"grouping", "batch"); g == "batch" || g == "global" {
			over = "batch"
		}
		switch v.choice(agentic+"method", "identity", "identity", "mean", "mean_std", "asym_clip") {
		case "mean":
			return over, "none"
		case "mean_std", "asym_clip":
			return over, over
		}
		return "none", "none"
	case estimator == "grpo":
		for _, key := range []string{"norm_mean_type", "norm_std_type"} {
			if v.has(key) && v.text(key, "group") != "group" {
				v.leave(key, "adv_estimator grpo normalises over the group, whatever this is")
			}
		}
		return "group", "group"
	}
	return word("norm_mean_type", ""), word("norm_std_type", "")
}
