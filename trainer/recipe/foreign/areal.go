package foreign

import (
	"math"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe/foreign/source"
)

// areal: actor.rejection_sampling with the decoupled loss, and arealTable.
var areal = framework{
	name:     "areal",
	sections: []section{{"rejection_sampling", []string{"level", "action", "metric", "agg", "upper", "lower"}, "actor.rejection_sampling."}},
	loose:    []string{"use_decoupled_loss", "recompute_logprob", "eps_clip_higher", "c_clip", "prox_logp_method", "behave_imp_weight_cap", "behave_imp_weight_mode", "actor.eps_clip"},
	own:      []string{"behave_imp_weight"},
	blocks:   []string{"actor."},
	table:    arealTable,
	lora:     [][2]string{{"actor.lora_rank", "actor.lora_alpha"}},
	syntax:   "yaml",
	under:    map[string]string{"use_decoupled_loss": "actor.", "eps_clip_higher": "actor.", "c_clip": "actor.", "prox_logp_method": "actor."},
	pipeline: correction.Pipeline{Clamp: math.Inf(1)},
	prepare: func(v *values, c *Config) {
		if v.block && !v.has("use_decoupled_loss") {
			v.by["use_decoupled_loss"] = source.Setting{Text: "true"} // stated where the block stands
		}
		for _, key := range []string{"actor.reward_norm.mean_level", "actor.reward_norm.std_level"} {
			if v.nulled(key) {
				v.by[key] = source.Setting{Text: "none"}
			}
		}
		v.truth("recompute_logprob", false)
		if v.any("level", "action", "metric", "upper") {
			for _, key := range []string{"behave_imp_weight_cap", "behave_imp_weight_mode"} {
				v.leave(key, "AReaL has rejection_sampling in its place")
			}
		}
	},
	read: func(v *values, c *Config) {
		for _, key := range []string{"actor.adv_norm.mean_level", "actor.adv_norm.std_level", "actor.adv_norm.mean_leave1out", "actor.adv_norm.std_unbiased"} {
			v.leave(key, "a second normalisation, of the advantages after that of the rewards, is not in a recipe")
		}
	},
	unset: `
kl={name: k1, coef: 0.1, in: reward}
learner.minibatches=4
rollout.group=1
rollout.temperature=1
rollout.top_p=1`,
	removed: `
behave_imp_weight_cap behave_imp_weight_mode: removed from AReaL; rejection_sampling is in its place`,
}

// arealTable: inclusionAI/AReaL areal/api/cli_args.py, areal/trainer/ppo/actor.py, areal/utils/functional/functional.py.
var arealTable = parseTable(`
actor.adv_norm.mean_level actor.adv_norm.std_level actor.adv_norm.mean_leave1out actor.adv_norm.std_unbiased > advantage
actor.reward_norm actor.group_reward_norm actor.discount actor.gae_lambda > advantage
actor.adv_norm actor.adv_norm.* actor.reward_norm.group_size : feature
actor.ppo_n_minibatches = learner.minibatches
actor.temperature = learner.temperature
actor.lora_rank actor.lora_alpha > lora
gconfig.n_samples = rollout.group
gconfig.temperature = rollout.temperature
gconfig.top_p = rollout.top_p
gconfig.top_k = rollout.top_k
gconfig.max_new_tokens gconfig.max_tokens gconfig.min_new_tokens gconfig.max_total_len actor.max_new_tokens : length
gconfig.* : feature
sglang.dtype vllm.dtype ~ rollout.numerics
sglang.kv_cache_dtype vllm.kv_cache_dtype ~ rollout.numerics.kv_cache
actor.dtype ~ learner.numerics
actor.enable_fp32_lm_head ~ learner.numerics.head
actor.moe_router_dtype actor.megatron.moe_router_dtype ~ learner.numerics.router
actor.optimizer.* : optimizer
actor.reward_scaling actor.reward_bias actor.reward_clip actor.overlong* actor.mask_no_eos_with_zero : reward
actor.dynamic_sampling dynamic_bs dynamic_filter* : filter
actor.path actor.attn_impl actor.init_from_scratch actor.disable_dropout actor.use_lora actor.target_modules actor.peft_type actor.is_critic : model
actor.* ref.* : place
critic.* : critic
teacher.* : teacher
eval_gconfig.* evaluator.* eval_rollout.* : eval
rollout.* vllm.* sglang.* allocation_mode scheduler.* cluster.* launcher.* enable_offload weight_update_mode : place
train_dataset.* valid_dataset.* tokenizer_path async_training dataset* : data
experiment_name trial_name seed total_train_epochs total_train_steps total_train_n_seqs train_steps : run
saver.* recover.* stats_logger.* checkpointer.* perf_tracer.* session_tracer.* memory_profiler.* logger.* : log
workflow* agent* env* econfig.* n_trajs max_turns max_tokens_per_trajectory turn_discount reward* judge* user* tool* log* openai* solver* : feature

ON := use_decoupled_loss=true
ANY := ?level|action|metric|upper
HIGH := high=upper?5
OLD := behave_imp_weight_mode?token_mask
CAP := behave_imp_weight_cap?5
[weights]
$ANY use_decoupled_loss=false ! rejection_sampling is set without use_decoupled_loss: AReaL leaves it out
$ANY $ON metric=binary_kl ? rejection_sampling.metric binary_kl: the correction is on, and this statistic is not known to a recipe
$ANY $ON action=clamp metric?ratio=ratio level?token=sequence -> geometric_tis cap=upper?5 floor=least0@lower?0
$ANY $ON action=clamp -> token_tis cap=upper?5 floor=least0@lower?0
$ANY $ON action?mask=mask metric?ratio=ratio level?token=sequence -> geometric_tis cap:.inf ; mask band level:sequence statistic:ratio aggregate={mean,sum,max}@agg?mean low=least0@lower?0 $HIGH
$ANY $ON action?mask=mask metric?ratio=ratio level?token=token -> token_tis cap:.inf ; mask band level:token statistic:ratio aggregate:mean low=least0@lower?0 $HIGH
$ANY $ON action?mask=mask level?token=sequence -> token_tis cap:.inf ; mask band level:sequence statistic={kl_k1>k1,kl_k2>k2,kl_k3>k3_inverse}@metric aggregate={mean,sum,max}@agg?mean low=lower?-.inf $HIGH
$ANY $ON action?mask=mask level?token=token -> token_tis cap:.inf ; mask band level:token statistic={kl_k1>k1,kl_k2>k2,kl_k3>k3_inverse}@metric aggregate:mean low=lower?-.inf $HIGH
?behave_imp_weight_cap|behave_imp_weight_mode $ON $OLD=token_mask -> token_tis cap:.inf ; mask band level:token statistic:ratio aggregate:mean high=$CAP
?behave_imp_weight_cap|behave_imp_weight_mode $ON $OLD=sequence_mask -> geometric_tis cap:.inf ; mask band level:sequence statistic:ratio aggregate:mean high=$CAP
?behave_imp_weight_cap|behave_imp_weight_mode $ON $OLD=token_truncate -> token_tis cap=$CAP
?behave_imp_weight_cap|behave_imp_weight_mode $ON $OLD=sequence_truncate -> geometric_tis cap=$CAP
$ON -> token_tis cap:.inf

EPS := eps_low=actor.eps_clip?0.2 eps_high=eps_clip_higher|actor.eps_clip?0.2 dual_clip=c_clip?0
[loss!]
actor.use_sapo_loss=true -> sapo tau_pos=actor.sapo_tau_pos?1 tau_neg=actor.sapo_tau_neg?1.05 aggregation:token-mean@pre
?actor.m2_threshold -> m2_mask threshold=actor.m2_threshold?0.04 $EPS
actor.importance_sampling_level?token=sequence -> gspo $EPS aggregation:token-mean@pre
$ON -> decoupled_ppo $EPS behave:none log_clamp:0 prox={recompute,loglinear,linear,rollout,reuse_train_logp>recompute,metrics>recompute}@prox_logp_method?recompute
actor.importance_sampling_level?token=token -> ppo_clip $EPS aggregation:token-mean@pre

NORM := eps=actor.reward_norm.eps?1e-5 leave_one_out=actor.reward_norm.mean_leave1out?false biased=not@actor.reward_norm.std_unbiased?true
[advantage]
?actor.reward_norm.mean_level|actor.reward_norm.std_level -> normalize mean={batch,group,none}@actor.reward_norm.mean_level?batch std={batch,group,none}@actor.reward_norm.std_level?batch $NORM

[kl]
?actor.kl_ctl -> k1 name=kl@actor.kl_estimator?k1 coef=actor.kl_ctl?0.1 in:reward

[schedule]
?rollout.max_head_offpolicyness -> areal eta=rollout.max_head_offpolicyness?0

`)
