package foreign

import (
	"fmt"
	"math"
	"strings"

	"driftlab/trainer/method/correction"
)

// areal: actor.rejection_sampling with the decoupled loss, and arealTable.
var areal = framework{
	name:     "areal",
	sections: []section{{"rejection_sampling", []string{"level", "action", "metric", "agg", "upper", "lower"}}},
	loose:    []string{"use_decoupled_loss", "recompute_logprob", "eps_clip_higher", "c_clip", "prox_logp_method", "behave_imp_weight_cap", "behave_imp_weight_mode", "actor.eps_clip"},
	own:      []string{"behave_imp_weight"},
	blocks:   []string{"actor."},
	table:    arealTable,
	lora:     [][2]string{{"actor.lora_rank", "actor.lora_alpha"}},
	read:     readAReaL,
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
actor.use_sapo_loss actor.sapo_tau_pos actor.sapo_tau_neg actor.m2_threshold actor.importance_sampling_level > loss
actor.reward_norm.mean_level actor.reward_norm.std_level actor.reward_norm.mean_leave1out actor.reward_norm.std_unbiased actor.reward_norm.eps actor.reward_norm > advantage
actor.group_reward_norm actor.discount actor.gae_lambda > advantage
actor.adv_norm.mean_level actor.adv_norm.std_level actor.adv_norm.mean_leave1out actor.adv_norm.std_unbiased > advantage
actor.adv_norm actor.adv_norm.* actor.reward_norm.group_size : feature
actor.kl_ctl actor.kl_estimator > kl
actor.ppo_n_minibatches = learner.minibatches
actor.temperature = learner.temperature
actor.lora_rank actor.lora_alpha > lora
gconfig.n_samples = rollout.group
gconfig.temperature = rollout.temperature
gconfig.top_p = rollout.top_p
gconfig.top_k = rollout.top_k
gconfig.max_new_tokens gconfig.max_tokens gconfig.min_new_tokens gconfig.max_total_len actor.max_new_tokens : length
gconfig.* : feature
rollout.max_head_offpolicyness > schedule
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
`)

func readAReaL(v *values, c *Config) {
	p := &correction.Pipeline{Clamp: math.Inf(1)}
	c.Pipeline = p
	arealRest(v, c)
	rejects := v.has("level") || v.has("action") || v.has("metric") || v.has("upper")
	v.truth("recompute_logprob", false)
	decoupled := v.truth("use_decoupled_loss", v.block)
	arealLoss(v, c, decoupled)
	if !decoupled {
		if rejects {
			c.Off = "rejection_sampling is set without use_decoupled_loss: AReaL leaves it out"
		}
		return
	}
	if !rejects && v.any("behave_imp_weight_cap", "behave_imp_weight_mode") {
		arealOlder(v, p)
		return
	}
	for _, key := range []string{"behave_imp_weight_cap", "behave_imp_weight_mode"} {
		v.leave(key, "AReaL has rejection_sampling in its place")
	}
	level, metric := v.choice("level", "token", "token", "sequence"), v.choice("metric", "ratio", "ratio", "kl_k1", "kl_k2", "kl_k3", "binary_kl")
	lower, upper := v.number("lower", math.Inf(-1)), v.number("upper", 5)
	top, floor := math.Inf(1), 0.0
	switch {
	case !rejects:
	case metric == "binary_kl":
		c.Unknown = "rejection_sampling.metric binary_kl: the correction is on, and this statistic is not known to a recipe"
		c.note("%s", c.Unknown)
	case v.choice("action", "mask", "mask", "clamp") == "clamp":
		top, floor = upper, max(lower, 0)
	default:
		m := &correction.Band{Level: level, Statistic: arealStatistics[metric], Aggregate: "mean", Low: lower, High: upper}
		if level == "sequence" {
			m.Aggregate = v.choice("agg", "mean", "mean", "sum", "max")
		}
		if metric == "ratio" {
			m.Low = max(lower, 0)
		}
		p.Masks = []correction.Masking{m}
	}
	p.Weights = &correction.TokenTIS{Cap: top, Floor: floor}
	if rejects && level == "sequence" && metric == "ratio" {
		p.Weights = &correction.GeometricTIS{Cap: top, Floor: floor}
	}
}

// arealOlder reads what AReaL had before rejection_sampling: a cap, and what happens above it.
func arealOlder(v *values, p *correction.Pipeline) {
	cap := v.number("behave_imp_weight_cap", 5)
	mode := v.choice("behave_imp_weight_mode", "token_mask", "token_mask", "token_truncate", "sequence_mask", "sequence_truncate", "disabled")
	level, action, _ := strings.Cut(mode, "_")
	top := math.Inf(1)
	switch action {
	case "truncate":
		top = cap
	case "mask":
		p.Masks = []correction.Masking{&correction.Band{Level: level, Statistic: "ratio", Aggregate: "mean", High: cap}}
	}
	p.Weights = &correction.TokenTIS{Cap: top}
	if level == "sequence" {
		p.Weights = &correction.GeometricTIS{Cap: top}
	}
}

// arealStatistics are the metrics by their names here; its k3 is that of the inverse ratio.
var arealStatistics = map[string]string{"ratio": "ratio", "kl_k1": "k1", "kl_k2": "k2", "kl_k3": "k3_inverse"}

// arealLoss reads the loss: SAPO, M2PO's mask, GSPO's ratio, else PPO's with or without
// the proximal policy of its own.
func arealLoss(v *values, c *Config, decoupled bool) {
	low := v.number("actor.eps_clip", 0.2)
	high, dual := v.number("eps_clip_higher", low), v.number("c_clip", 0)
	level := v.choice("actor.importance_sampling_level", "token", "token", "sequence")
	method := v.choice("prox_logp_method", "recompute", "recompute", "loglinear", "linear", "rollout", "metrics")
	if method == "metrics" { // recompute, and more figures
		method = "recompute"
	}
	l := &lossFields{}
	bounds := func() {
		l.set("eps_low", low)
		l.set("eps_high", high)
		l.set("dual_clip", dual)
	}
	switch {
	case v.truth("actor.use_sapo_loss", false):
		l.name = "sapo"
		l.set("tau_pos", v.number("actor.sapo_tau_pos", 1))
		l.set("tau_neg", v.number("actor.sapo_tau_neg", 1.05))
		l.set("aggregation", "token-mean@pre")
		v.leave("actor.eps_clip", "use_sapo_loss is true: nothing is clipped")
	case v.has("actor.m2_threshold"):
		l.name = "m2_mask"
		l.set("threshold", v.number("actor.m2_threshold", 0.04))
		bounds()
	case level == "sequence":
		l.name = "gspo"
		bounds()
		l.set("aggregation", "token-mean@pre")
	case decoupled:
		l.name = "decoupled_ppo"
		bounds()
		l.set("behave", "none")
		l.set("log_clamp", 0)
		l.set("prox", method)
	default:
		l.name = "ppo_clip"
		bounds()
		l.set("aggregation", "token-mean@pre")
	}
	c.Loss = l.String()
}

// arealRest reads what is not correction or loss.
func arealRest(v *values, c *Config) {
	mean, std := "actor.reward_norm.mean_level", "actor.reward_norm.std_level"
	_, stated := v.by[mean]
	if _, spread := v.by[std]; stated || spread {
		level := func(key string) string {
			if v.nulled(key) {
				return "none"
			}
			return v.choice(key, "batch", "batch", "group", "none")
		}
		v.number("actor.reward_norm.eps", 0)
		c.takeAdvantage("normalize", []string{"mean: " + level(mean), "std: " + level(std), fmt.Sprintf("eps: %v", v.number("actor.reward_norm.eps", 1e-5)),
			fmt.Sprintf("leave_one_out: %v", v.truth("actor.reward_norm.mean_leave1out", false)), fmt.Sprintf("biased: %v", !v.truth("actor.reward_norm.std_unbiased", true))}, mean, std)
	}
	for _, key := range []string{"actor.adv_norm.mean_level", "actor.adv_norm.std_level", "actor.adv_norm.mean_leave1out", "actor.adv_norm.std_unbiased"} {
		if v.text(key, "") != "" || v.nulled(key) {
			v.leave(key, "a second normalisation, of the advantages after that of the rewards, is not in a recipe")
		}
	}
	if coef := "actor.kl_ctl"; v.has(coef) {
		if estimator, ok := v.translated("actor.kl_estimator", "k1", penalties); ok {
			c.takeKL(estimator, v.number(coef, 0.1), "reward", coef, "actor.kl_estimator")
		}
	}
	if eta := "rollout.max_head_offpolicyness"; v.has(eta) {
		c.take("schedule", fmt.Sprintf("{name: areal, eta: %s}", decimal(v.number(eta, 0))), eta)
	}
}
