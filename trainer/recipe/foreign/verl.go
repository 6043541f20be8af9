package foreign

import (
	"fmt"
	"math"
	"strings"

	"driftlab/trainer/method/correction"
)

// verl: algorithm.rollout_correction, what must be on for it, and verlTable. The keys of
// its versions of 2025 (one threshold for each side, the veto) are read next to those of 2026.
var verl = framework{
	name: "verl", program: "verl.",
	sections: []section{{"rollout_correction", []string{"rollout_is", "rollout_is_threshold", "rollout_is_batch_normalize",
		"rollout_rs", "rollout_rs_threshold", "rollout_rs_threshold_lower", "rollout_token_veto_threshold", "bypass_mode", "loss_type", "_target_",
		"rollout_is_threshold_lower", "rollout_is_level", "rollout_is_mode", "use_policy_gradient"}}},
	loose:  []string{"rollout.calculate_log_probs", "router_replay.mode"},
	own:    []string{"rollout_is_", "rollout_rs_"},
	blocks: []string{"actor_rollout_ref.actor.", "actor_rollout_ref.rollout.", "actor_rollout_ref.", "algorithm."},
	table:  verlTable,
	lora:   [][2]string{{"actor_rollout_ref.model.lora_rank", "actor_rollout_ref.model.lora_alpha"}, {"actor_rollout_ref.model.lora.rank", "actor_rollout_ref.model.lora.alpha"}},
	read:   readVerl, write: writeVerl,
	unset: `
kl={name: none}
rollout.group=1
rollout.temperature=1
rollout.top_p=1
learner.epochs=1`,
	removed: `
rollout_is_level rollout_is_mode rollout_is_threshold_lower rollout_token_veto_threshold rollout_rs_threshold_lower: removed from verl; rollout_is, rollout_rs and their thresholds are in its place
use_policy_gradient: removed from verl on 14 December 2025; loss_type is in its place`,
}

func readVerl(v *values, c *Config) {
	v.text("_target_", "")
	config := correction.VerlConfig{
		IS: v.text("rollout_is", ""), ISThreshold: v.text("rollout_is_threshold", "2.0"), ISBatchNormalize: v.truth("rollout_is_batch_normalize", false),
		RS: v.text("rollout_rs", ""), RSThreshold: v.text("rollout_rs_threshold", ""),
		Bypass: v.truth("bypass_mode", false), LossType: v.choice("loss_type", "ppo_clip", "ppo_clip", "reinforce"),
	}
	if v.has("loss_type") && !config.Bypass {
		v.leave("loss_type", "verl reads it in bypass mode alone")
	}
	if config.Bypass && !v.has("loss_type") && v.truth("use_policy_gradient", false) {
		config.LossType = "reinforce"
	}
	older := verlOlder(v, &config)
	p, err := config.Pipeline()
	if err != nil {
		s := v.by["rollout_is"]
		if strings.HasPrefix(err.Error(), "rollout_rs") {
			s = v.by["rollout_rs"]
		}
		v.fault(s, "%v", err)
		return
	}
	p.Masks = append(p.Masks, older...)
	if v.has("rollout_token_veto_threshold") {
		p.Masks = append(p.Masks, &correction.Veto{Threshold: v.number("rollout_token_veto_threshold", 1)})
	}
	c.Pipeline = p
	verlLoss(v, c, config)
	if config.Bypass {
		if c.Loss == "" || config.LossType == "reinforce" {
			c.Loss = config.LossType
		}
		if config.IS != "" && config.LossType == "ppo_clip" {
			c.note("rollout_is is not applied: in bypass mode the ratio of ppo_clip holds the weight already")
		}
	}
	// rollout.yaml has false for what is not set. In bypass mode the engine's log-probs are the old ones, so they are there.
	if logged := v.truth("rollout.calculate_log_probs", v.block || config.Bypass); (config.IS != "" || config.RS != "") && !logged {
		c.Off = "calculate_log_probs is false, so there are no log-probs of the rollout engine"
		if !v.has("rollout.calculate_log_probs") {
			c.Off = "actor_rollout_ref.rollout.calculate_log_probs is not set, and verl's default is false: set it to true"
		}
	}
	switch mode := v.choice("router_replay.mode", "disabled", "disabled", "R2", "R3"); mode {
	case "R2", "R3":
		c.Routing = "{replay: " + strings.ToLower(mode) + "}"
	}
	v.truth("actor_rollout_ref.rollout.enable_rollout_routing_replay", false)
	verlRest(v, c)
}

// verlOlder are the masks of 2025: a level and one threshold for each side of the ratio.
// verl-recipe rep_exp/config/algorithm/rollout_correction.yaml.
func verlOlder(v *values, config *correction.VerlConfig) []correction.Masking {
	switch config.RS {
	case "token", "sequence", "geometric":
	default:
		if v.has("rollout_rs_threshold_lower") {
			v.text("rollout_rs_threshold_lower", "")
			v.leave("rollout_rs_threshold_lower", "rollout_rs names no level that it bounds")
		}
		return nil
	}
	level := config.RS
	config.RS, config.RSThreshold = "", ""
	high := v.number("rollout_rs_threshold", v.number("rollout_is_threshold", 2))
	return []correction.Masking{bandAt(level, v.number("rollout_rs_threshold_lower", 1/high), high)}
}

const (
	verlActor   = "actor_rollout_ref.actor."
	verlRollout = "actor_rollout_ref.rollout."
)

// verlLosses are verl's policy losses by their names here.
var verlLosses = vocabulary{"loss", map[string]string{"vanilla": "ppo_clip", "gspo": "gspo", "gpg": "gpg", "clip_cov": "clip_cov", "kl_cov": "kl_cov", "geo_mean": "gmpo",
	"sapo": "sapo", "cispo": "cispo", "dppo_tv": "dppo_tv", "dppo_kl": "dppo_kl", "dro": "dro", "bypass_mode": "ppo_clip"}}

// verlAdvantages are its estimators.
var verlAdvantages = vocabulary{"advantage", map[string]string{"gae": "gae", "grpo": "grpo", "grpo_vectorized": "grpo", "grpo_passk": "grpo_passk", "reinforce_plus_plus": "reinforce_plus_plus", "reinforce_plus_plus_baseline": "reinforce_plus_plus_baseline", "remax": "remax", "rloo": "rloo", "rloo_vectorized": "rloo", "opo": "opo", "gpg": "gpg", "gdpo": "gdpo", "optimal_token_baseline": "optimal_token_baseline", "tir_optimal_token_baseline": "tir_optimal_token_baseline"}}

// verlLoss reads the loss, its bounds and its aggregation.
func verlLoss(v *values, c *Config, config correction.VerlConfig) {
	mode := v.first(verlActor+"policy_loss.loss_mode", verlActor+"loss_mode")
	agg := verlActor + "loss_agg_mode"
	name, ok := v.translated(mode, "vanilla", verlLosses)
	if !ok {
		return
	}
	l := &lossFields{name: name}
	both := v.number(verlActor+"clip_ratio", 0.2)
	low, high := v.number(verlActor+"clip_ratio_low", both), v.number(verlActor+"clip_ratio_high", both)
	switch name {
	case "ppo_clip":
		l.set("eps_low", low)
		l.set("eps_high", high)
		l.set("dual_clip", v.number(verlActor+"clip_ratio_c", 3))
	case "gspo", "gmpo", "cispo":
		l.set("eps_low", low)
		l.set("eps_high", high)
	case "dppo_tv", "dppo_kl":
		l.set("delta_low", low)
		l.set("delta_high", high)
	case "clip_cov":
		l.set("eps_low", low)
		l.set("eps_high", high)
		l.set("share", v.number(verlActor+"policy_loss.clip_cov_ratio", 2e-4))
		l.set("low", v.number(verlActor+"policy_loss.clip_cov_lb", 1))
		l.set("high", v.number(verlActor+"policy_loss.clip_cov_ub", 5))
	case "kl_cov":
		l.set("share", v.number(verlActor+"policy_loss.kl_cov_ratio", 2e-4))
		l.set("beta", v.number(verlActor+"policy_loss.ppo_kl_coef", 0.1))
	case "sapo":
		l.set("tau_pos", v.number(v.first(verlActor+"tau_pos", verlActor+"policy_loss.tau_pos"), 1))
		l.set("tau_neg", v.number(v.first(verlActor+"tau_neg", verlActor+"policy_loss.tau_neg"), 1.05))
	case "dro":
		l.set("beta", v.number(verlActor+"policy_loss.dro_beta", 1))
	}
	switch name {
	case "gspo", "sapo", "gmpo": // verl's own code ignores loss_agg_mode here
		if v.has(agg) {
			v.leave(agg, "verl's "+v.text(mode, "")+" has an aggregation of its own")
		}
	default:
		if word := v.choice(agg, "token-mean", "token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-sum-norm", "seq-mean-token-mean"); v.has(agg) {
			if factor := v.number(verlActor+"loss_scale_factor", 0); factor > 0 && word == "seq-mean-token-sum-norm" {
				word += ":" + decimal(factor)
			}
			l.set("aggregation", word)
		}
	}
	c.Loss = l.String()
}

// The sections of verl's asynchronous trainers.
const (
	verlAsync = "async_training."
	verlV1    = "trainer.v1."
)

// verlRest reads what is not correction, loss or routing.
func verlRest(v *values, c *Config) {
	const estimator = "algorithm.adv_estimator"
	if v.has(estimator) {
		if name, ok := v.translated(estimator, "gae", verlAdvantages); ok {
			var fields []string
			switch name {
			case "grpo", "grpo_passk":
				if std := "algorithm.norm_adv_by_std_in_grpo"; v.has(std) {
					fields = append(fields, fmt.Sprintf("std: %v", v.truth(std, true)))
				}
			case "gae":
				fields = append(fields, fmt.Sprintf("gamma: %v", v.number("algorithm.gamma", 1)), fmt.Sprintf("lam: %v", v.number("algorithm.lam", 1)))
			}
			c.takeAdvantage(name, fields, estimator)
		}
	} else if std := "algorithm.norm_adv_by_std_in_grpo"; v.has(std) {
		c.take("advantage.std", fmt.Sprint(v.truth(std, true)), std)
	}
	verlKL(v, c)
	c.takeEntropy(v, verlActor+"entropy_coeff")
	part, whole := verlActor+"ppo_mini_batch_size", "data.train_batch_size"
	if v.has(part) && v.has(whole) {
		c.takeMinibatches(v, v.number(whole, 0), v.number(part, 0), part, whole)
	} else {
		v.leave(part, "one of ppo_mini_batch_size and train_batch_size alone does not say how many updates a batch has")
		v.leave(whole, reasons["batch"].why)
	}
	verlSchedule(v, c)
}

// verlSchedule reads which of verl's trainers runs: the fully asynchronous one has a section,
// version 1 a mode, and one-step-off a file of its own.
func verlSchedule(v *values, c *Config) {
	staleness, mode := verlAsync+"staleness_threshold", verlV1+"trainer_mode"
	if v.any(staleness, verlAsync+"trigger_parameter_sync_step", verlAsync+"require_batches") {
		s := v.number(staleness, 0.1)
		// Without the old log-probs of its own the trainer compares with the rollout engine's.
		scored := v.truth(verlAsync+"compute_prox_log_prob", c.Pipeline.Mode != correction.Bypass && (c.Pipeline.Weights != nil || len(c.Pipeline.Masks) > 0))
		v.truth(verlAsync+"use_rollout_log_probs", true)
		text := fmt.Sprintf("{name: verl_partial, staleness_percent: %s, k: %s, require_batches: %s, partial: %v", decimal(math.Round(s*1e8)/1e6),
			decimal(v.number(verlAsync+"trigger_parameter_sync_step", 4)), decimal(v.number(verlAsync+"require_batches", 1)), v.truth(verlAsync+"partial_rollout", true))
		if scored {
			text += ", prox: true"
		}
		c.take("schedule", text+"}", staleness, verlAsync+"trigger_parameter_sync_step", verlAsync+"require_batches", verlAsync+"partial_rollout")
	} else if k := "async_flow.staleness"; v.number(k, 0) > 0 {
		c.take("schedule", fmt.Sprintf("{name: lag, k: %v}", v.number(k, 0)), k)
	} else if strings.Contains(v.source, "one_step_off") {
		c.take("schedule", "{name: one_step_off}")
	} else if v.has(mode) && v.truth("trainer.use_v1", true) {
		threshold, strategy := verlV1+"sampler.max_off_policy_threshold", verlV1+"sampler.max_off_policy_strategy"
		switch name := v.choice(mode, "sync", "sync", "colocate_async", "separate_async"); name {
		case "sync":
			c.take("schedule", "{name: sync}", mode)
		default:
			warmup, every := verlV1+name+".num_warmup_batches", verlV1+"separate_async.parameter_sync_step"
			text := fmt.Sprintf("{name: verl_v1, max_off_policy_threshold: %v, wait: %v, num_warmup_batches: %v", v.number(threshold, 8),
				v.choice(strategy, "drop", "drop", "wait") == "wait", v.number(warmup, 1))
			if name == "separate_async" {
				text += fmt.Sprintf(", parameter_sync_step: %v", v.number(every, 4))
			}
			c.take("schedule", text+"}", mode, threshold, strategy, warmup, every)
		}
	}
	v.leaveUnread("another trainer runs", "trainer.use_v1", mode, verlV1+"colocate_async.num_warmup_batches", verlV1+"separate_async.num_warmup_batches",
		verlV1+"separate_async.parameter_sync_step", verlV1+"sampler.max_off_policy_threshold", verlV1+"sampler.max_off_policy_strategy")
}

// verlKL reads the penalty: in the loss, else in the reward.
func verlKL(v *values, c *Config) {
	use, coef, kind := verlActor+"use_kl_loss", verlActor+"kl_loss_coef", verlActor+"kl_loss_type"
	inReward := v.truth("algorithm.use_kl_in_reward", false)
	switch {
	case v.truth(use, false):
		estimator, ok := v.translated(kind, "low_var_kl", penalties)
		if !ok {
			return
		}
		c.takeKL(estimator, v.number(coef, 0.001), "loss", use, coef, kind)
		if inReward {
			v.leave("algorithm.use_kl_in_reward", "a recipe has one penalty: that of the loss is taken")
		}
	case inReward:
		estimator, ok := v.translated("algorithm.kl_penalty", "kl", penalties)
		if !ok {
			return
		}
		c.takeKL(estimator, v.number("algorithm.kl_ctrl.kl_coef", 0.001), "reward", "algorithm.use_kl_in_reward", "algorithm.kl_penalty", "algorithm.kl_ctrl.kl_coef")
	case v.any(use, "algorithm.use_kl_in_reward"):
		c.take("kl", "{name: none}", use)
	}
	if !v.truth(use, false) {
		v.leave(coef, "use_kl_loss is not true")
		v.leave(kind, "use_kl_loss is not true")
	}
	if !inReward {
		for _, key := range []string{"algorithm.kl_penalty", "algorithm.kl_ctrl.type", "algorithm.kl_ctrl.kl_coef", "algorithm.kl_ctrl.horizon", "algorithm.kl_ctrl.target_kl"} {
			v.leave(key, "use_kl_in_reward is not true")
		}
	}
}
