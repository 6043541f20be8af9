package foreign

import (
	"fmt"
	"math"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe/foreign/source"
)

// roll: train_infer_correction.
var roll = framework{
	name: "roll",
	sections: []section{{"train_infer_correction", []string{"is_weight.enabled", "is_weight.weight_type", "is_weight.upper_bound", "is_weight.detach",
		"filters", "filters.*.enabled", "filters.*.agg_type", "filters.*.ratio_enabled", "filters.*.ratio_low", "filters.*.ratio_high",
		"filters.*.diff_enabled", "filters.*.diff_low", "filters.*.diff_high"}, "train_infer_correction."}},
	own:      []string{"train_infer_corr"},
	table:    rollTable,
	syntax:   "yaml",
	pipeline: correction.Pipeline{Clamp: math.Inf(1)},
	prepare: func(v *values, c *Config) {
		if top := "is_weight.upper_bound"; v.nulled(top) {
			v.by[top] = source.Setting{Text: "inf"}
		}
	},
	read: readROLL,
	unset: `
kl={name: none}
learner.epochs=1`,
}

func readROLL(v *values, c *Config) {
	p := c.Pipeline
	if !v.truth("is_weight.enabled", false) && v.any("is_weight.weight_type", "is_weight.upper_bound") {
		c.note("is_weight.enabled is false: no weights")
	}
	if !v.truth("is_weight.detach", true) {
		c.note("is_weight.detach false: a gradient through the weight is not in a recipe")
	}
	for i := range v.entries("filters") {
		at := fmt.Sprintf("filters.%d.", i)
		if !v.truth(at+"enabled", false) {
			continue
		}
		level, how := v.choice(at+"agg_type", "token", "token", "segment", "geometric", "sequence"), "mean"
		switch level {
		case "geometric":
			level = "sequence"
		case "sequence":
			how = "sum"
		}
		add := func(statistic, key string, low, high float64) {
			if !v.truth(at+key+"_enabled", false) {
				return
			}
			if len(p.Masks) > 0 {
				for _, k := range []string{key + "_enabled", key + "_low", key + "_high"} {
					v.text(at+k, "")
					v.leave(at+k, "a second filter: a recipe has one band, and the first is taken")
				}
				c.note("%s%s: a second filter is not taken over: a recipe has one band", at, key)
				return
			}
			p.Masks = append(p.Masks, &correction.Band{Level: level, Statistic: statistic, Aggregate: how, Eps: 1e-8,
				Low: v.number(at+key+"_low", low), High: v.number(at+key+"_high", high)})
		}
		add("ratio", "ratio", 0.8, 1.2)
		add("difference", "diff", -0.2, 0.2)
	}
	rollAdvantage(v, c)
	if p.Weights == nil && len(p.Masks) == 0 && v.given("train_infer_correction") {
		c.Off = "neither is_weight nor a filter is enabled"
	}
}

// rollAdvantage reads the estimator with what rewards are normalised over.
func rollAdvantage(v *values, c *Config) {
	if name := v.text("adv_estimator", ""); name == "grpo" || name == "reinforce" {
		mean, std := rollNormalization(v, name)
		switch {
		case name == "grpo" && mean == "group" && std == "group", name == "reinforce" && mean == "none" && std == "none":
			c.takeAdvantage(name, nil, "adv_estimator")
		default:
			c.takeAdvantage("normalize", []string{"mean: " + mean, "std: " + std}, "adv_estimator")
		}
	}
	if v.truth("whiten_advantages", false) {
		v.leave("whiten_advantages", "a second normalisation, of the advantages after that of the rewards, is not in a recipe")
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

// rollTable is of ROLL's RLVR and agentic pipelines: alibaba/ROLL roll/configs/base_config.py,
// roll/configs/worker_config.py, roll/configs/generating_args.py, roll/pipeline/agentic/agentic_actor_pg_worker.py.
var rollTable = parseTable(`
norm_mean_type norm_std_type reward_normalization.norm_mean_type reward_normalization.norm_std_type reward_normalization.grouping reward_normalization.method whiten_advantages > advantage
target_kl kl_horizon : feature
ppo_epochs = learner.epochs
train_env_manager.group_size num_return_sequences_in_group actor_infer.generating_args.num_return_sequences student_infer.generating_args.num_return_sequences = rollout.group
student_infer.generating_args.temperature actor_infer.generating_args.temperature = rollout.temperature
student_infer.generating_args.top_p actor_infer.generating_args.top_p = rollout.top_p
student_infer.generating_args.top_k actor_infer.generating_args.top_k = rollout.top_k
student_train.model_args.dtype actor_train.model_args.dtype ~ learner.numerics
student_infer.model_args.dtype actor_infer.model_args.dtype actor_infer.strategy_args.strategy_config.dtype ~ rollout.numerics
actor_infer.strategy_args.strategy_config.kv_cache_dtype ~ rollout.numerics.kv_cache
rollout_batch_size actor_train.training_args.gradient_accumulation_steps : batch
actor_infer.generating_args.max_new_tokens response_length prompt_length sequence_length max_tokens_per_step : length
actor_infer.generating_args.* : feature
actor_train.training_args.learning_rate actor_train.training_args.weight_decay actor_train.training_args.warmup_steps actor_train.training_args.warmup_ratio actor_train.training_args.lr_scheduler_type actor_train.training_args.num_train_epochs max_grad_norm : optimizer
actor_train.model_args.* pretrain reward_pretrain reference.model_args.* : model
advantage_clip : feature
reward_clip use_reward_scaling reward_normalize* use_reward_norm reward_norm reward_scale whiten_rewards add_len_reward reward_shift reward.* rewards.* : reward
difficulty* query_filter* max_additional_running_prompts is_use_additional_prompts max_running_requests is_num_return* use_additional_prompts : filter
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

TYPE := is_weight.enabled=true is_weight.weight_type?token
CAP := cap=is_weight.upper_bound?1.2
[weights]
$TYPE=sequence -> sequence_tis $CAP
$TYPE=geometric -> geometric_tis $CAP eps:1e-08
$TYPE=geometric ~> geometric_tis $CAP
$TYPE=segment -> segment_tis $CAP by:run geometric:true eps:1e-08
$TYPE=token -> token_tis $CAP

F := filters.0.enabled=true filters.0
RATIO := low=filters.0.ratio_low high=filters.0.ratio_high
DIFF := low=filters.0.diff_low high=filters.0.diff_high
[mask]
$F.agg_type=token filters.0.ratio_enabled=true ~> band level:token statistic:ratio aggregate:mean $RATIO
$F.agg_type=token filters.0.ratio_enabled=true ~> token_mask $RATIO
$F.agg_type=segment filters.0.ratio_enabled=true ~> band level:segment statistic:ratio aggregate:mean $RATIO
$F.agg_type=geometric filters.0.ratio_enabled=true ~> band level:sequence statistic:ratio aggregate:mean $RATIO
$F.agg_type=geometric filters.0.ratio_enabled=true ~> geometric $RATIO
$F.agg_type=sequence filters.0.ratio_enabled=true ~> band level:sequence statistic:ratio aggregate:sum $RATIO
$F.agg_type=sequence filters.0.ratio_enabled=true ~> sequence_mask $RATIO
$F.agg_type=token filters.0.diff_enabled=true ~> band level:token statistic:difference aggregate:mean $DIFF
$F.agg_type=segment filters.0.diff_enabled=true ~> band level:segment statistic:difference aggregate:mean $DIFF
$F.agg_type=geometric filters.0.diff_enabled=true ~> band level:sequence statistic:difference aggregate:mean $DIFF
$F.agg_type=sequence filters.0.diff_enabled=true ~> band level:sequence statistic:difference aggregate:sum $DIFF

[mask]
max_len_mask=true -> truncated

LOW := pg_clip_low?0.2
HIGH := pg_clip_high?0.2
[loss!] actor_train.pg_variant|pg_variant?ppo
use_topr_loss=true -> topr positive_weight=actor_train.topr_positive_weight?1 negative_weight=actor_train.topr_negative_weight?1
topr -> topr positive_weight=actor_train.topr_positive_weight?1 negative_weight=actor_train.topr_negative_weight?1
ppo use_pg_clip_range=true dual_clip_loss=true -> ppo_clip eps_low=$LOW eps_high=$HIGH dual_clip=roll@pg_clip_low?0.2
ppo use_pg_clip_range=true -> ppo_clip eps_low=$LOW eps_high=$HIGH dual_clip:0
ppo dual_clip_loss=true -> ppo_clip eps_low=pg_clip?0.2 eps_high=pg_clip?0.2 dual_clip=roll@pg_clip?0.2
ppo -> ppo_clip eps_low=pg_clip?0.2 eps_high=pg_clip?0.2 dual_clip:0
vanilla -> reinforce
cispo -> cispo eps_low=actor_train.cispo_epsilon_low?0.1 eps_high=actor_train.cispo_epsilon_high?0.1 unified_mask=actor_train.cispo_use_unified_mask?false
kimi15 -> kimi tau=actor_train.kimi15_tau?0.1 aggregation:own

[aggregation] loss_agg_mode
token-mean,seq-mean-token-sum,seq-mean-token-mean,seq-mean-token-sum-norm -> =

[advantage] adv_estimator
gae -> gae gamma=gamma?1 lam=lambd?0.95
grpo,reinforce -> -

[kl]
use_kl_loss=true -> k3 coef=kl_loss_coef?0 in:loss
add_token_level_kl=true -> k1 name=kl@kl_penalty?kl coef=init_kl_coef?0.2 in:reward
?init_kl_coef|use_kl_loss|add_token_level_kl -> none coef:0

[terms]
?entropy_loss_coef -> entropy coef=entropy_loss_coef?0

[schedule]
?async_generation_ratio async_generation_ratio!=0 -> roll_flash ratio_percent=percent@async_generation_ratio
?async_generation_ratio -> sync
`)
