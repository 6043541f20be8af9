package foreign

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign/source"
)

const (
	verlActor   = "actor_rollout_ref.actor."
	verlRollout = "actor_rollout_ref.rollout."
	verlAsync   = "async_training."
)

// verl: algorithm.rollout_correction, what must be on for it, and verlTable. The keys of
// its versions of 2025 (one threshold for each side, the veto) are read next to those of 2026.
var verl = framework{
	name: "verl", program: "verl.",
	sections: []section{{"rollout_correction", []string{"rollout_is", "rollout_is_threshold", "rollout_is_batch_normalize",
		"rollout_rs", "rollout_rs_threshold", "rollout_rs_threshold_lower", "rollout_token_veto_threshold", "bypass_mode", "loss_type", "_target_",
		"rollout_is_threshold_lower", "rollout_is_level", "rollout_is_mode", "use_policy_gradient"}, "algorithm.rollout_correction."}},
	loose:  []string{"rollout.calculate_log_probs", "router_replay.mode"},
	own:    []string{"rollout_is_", "rollout_rs_"},
	blocks: []string{"actor_rollout_ref.actor.", "actor_rollout_ref.rollout.", "actor_rollout_ref.", "algorithm."},
	table:  verlTable,
	lora:   [][2]string{{"actor_rollout_ref.model.lora_rank", "actor_rollout_ref.model.lora_alpha"}, {"actor_rollout_ref.model.lora.rank", "actor_rollout_ref.model.lora.alpha"}},
	syntax: "yaml", prepare: prepareVerl, read: readVerl, write: writeVerl, batch: verlBatch,
	under: map[string]string{"router_replay.mode": "actor_rollout_ref.actor.", "rollout.calculate_log_probs": "actor_rollout_ref."},
	also:  []pair{{"rollout.calculate_log_probs", "true"}},
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

// verlBatch is how verl states the updates of a batch.
var verlBatch = batches{[]string{"data.train_batch_size"}, nil, []string{verlActor + "ppo_mini_batch_size"}, [3]float64{}, ""}

// verlConfig is the section as verl's own reader has it.
func verlConfig(v *values) correction.VerlConfig {
	c := correction.VerlConfig{
		IS: v.text("rollout_is", ""), ISThreshold: v.text("rollout_is_threshold", "2.0"), ISBatchNormalize: v.truth("rollout_is_batch_normalize", false),
		RS: v.text("rollout_rs", ""), RSThreshold: v.text("rollout_rs_threshold", ""),
		Bypass: v.truth("bypass_mode", false), LossType: v.choice("loss_type", "ppo_clip", "ppo_clip", "reinforce"),
	}
	if c.Bypass && !v.has("loss_type") && v.truth("use_policy_gradient", false) {
		c.LossType = "reinforce"
	}
	return c
}

// prepareVerl reads the correction, whose thresholds are lists in a text.
func prepareVerl(v *values, c *Config) {
	v.text("_target_", "")
	config := verlConfig(v)
	if v.has("loss_type") && !config.Bypass {
		v.leave("loss_type", "verl reads it in bypass mode alone")
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
	// Without the old log-probs of its own the asynchronous trainer compares with the rollout engine's.
	const prox = "async_training.compute_prox_log_prob"
	if !v.has(prox) && p.Mode != correction.Bypass && (p.Weights != nil || len(p.Masks) > 0) {
		v.by[prox] = source.Setting{Text: "true"}
	}
	v.truth("async_training.use_rollout_log_probs", true)
}

func readVerl(v *values, c *Config) {
	config := verlConfig(v)
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
	v.truth("actor_rollout_ref.rollout.enable_rollout_routing_replay", false)
	if v.truth(verlActor+"use_kl_loss", false) && v.truth("algorithm.use_kl_in_reward", false) {
		v.leave("algorithm.use_kl_in_reward", "a recipe has one penalty: that of the loss is taken")
	}
	v.leaveUnread("another trainer runs", "trainer.use_v1", "trainer.v1.trainer_mode", "trainer.v1.colocate_async.num_warmup_batches", "trainer.v1.separate_async.num_warmup_batches",
		"trainer.v1.separate_async.parameter_sync_step", "trainer.v1.sampler.max_off_policy_threshold", "trainer.v1.sampler.max_off_policy_strategy")
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

// bandAt is a test of the ratio at a level.
func bandAt(level string, low, high float64) correction.Masking {
	switch level {
	case "token":
		return &correction.TokenMask{Low: low, High: high}
	case "sequence":
		return &correction.SequenceMask{Low: low, High: high}
	}
	return &correction.Geometric{Low: low, High: high}
}

// writeVerl writes the correction.
func writeVerl(w *writing, r recipe.Recipe) {
	p := w.pipeline
	switch x := p.Weights.(type) {
	case nil:
		w.set("rollout_is", "null")
	case *correction.TokenTIS:
		w.set("rollout_is", "token")
		w.set("rollout_is_threshold", number(x.Cap))
		w.unless(x.Floor == 0, "floor of token_tis")
	case *correction.SequenceTIS:
		w.set("rollout_is", "sequence")
		w.set("rollout_is_threshold", number(x.Cap))
		w.unless(x.Floor == 0, "floor of sequence_tis")
	case *correction.IcePop:
		w.set("rollout_is", "token")
		w.set("rollout_is_threshold", band(x.Low, x.High))
	case *correction.SequenceMIS:
		w.set("rollout_is", "sequence")
		w.set("rollout_is_threshold", band(x.Low, x.High))
	default:
		w.set("rollout_is", "null")
		w.cannot("weights " + r.Correction.Weights.Name)
	}
	if p.BatchNormalize {
		w.set("rollout_is_batch_normalize", "true")
	}
	var modes, thresholds []string
	for i, m := range p.Masks {
		name, threshold := r.Correction.Masks[i].Name, ""
		switch x := m.(type) {
		case *correction.K1Rejection:
			threshold = band(x.Low, x.High)
		case *correction.DivergenceRejection:
			threshold = number(x.High)
		case *correction.Geometric:
			name, threshold = "seq_mean_k1", w.inverse(x.Low, x.High)
		case *correction.SequenceMask:
			name, threshold = "seq_sum_k1", w.inverse(x.Low, x.High)
		case *correction.TokenMask:
			name, threshold = "token_k1", w.inverse(x.Low, x.High)
		default:
			w.cannot("mask " + name)
			continue
		}
		modes, thresholds = append(modes, name), append(thresholds, threshold)
	}
	if len(modes) > 0 {
		w.set("rollout_rs", strings.Join(modes, ","))
		w.set("rollout_rs_threshold", strings.Join(thresholds, ","))
	}
	if p.Mode == correction.Bypass {
		w.set("bypass_mode", "true")
		w.set("loss_type", r.Loss.Name)
	}
}

func (w *writing) unless(ok bool, what string) {
	if !ok {
		w.cannot(what)
	}
}

// inverse is a band of ρ as verl's k1 modes have it, as one of 1/ρ. A band that is its
// own inverse but for a thousandth is written as it is, as verl's documents have it, and
// others to six digits.
func (w *writing) inverse(low, high float64) string {
	if math.Abs(float64(low*high)-1) < 1e-3 {
		if low*high != 1 {
			w.notes = append(w.notes, fmt.Sprintf("%s bounds the inverse ratio: %s there is %.4f to %.4f of the ratio", w.framework.name, band(low, high), 1/high, 1/low))
		}
		return band(low, high)
	}
	return strconv.FormatFloat(1/high, 'g', 6, 64) + "_" + strconv.FormatFloat(1/low, 'g', 6, 64)
}

// band is verl's spelling of two bounds.
func band(low, high float64) string { return number(low) + "_" + number(high) }

// verlLines are of verl's main_ppo and its asynchronous trainers. Keys, defaults and meaning:
// verl-project/verl verl/trainer/config/_generated_ppo_trainer.yaml,
// verl/trainer/config/_generated_ppo_megatron_trainer.yaml, verl/workers/config/actor.py,
// verl/trainer/ppo/core_algos.py, verl/experimental/fully_async_policy/config/fully_async_ppo_trainer.yaml.
const verlLines = `
actor_rollout_ref.model.lora_rank actor_rollout_ref.model.lora_alpha actor_rollout_ref.model.lora.rank actor_rollout_ref.model.lora.alpha > lora
actor_rollout_ref.actor.ppo_epochs = learner.epochs
actor_rollout_ref.actor.ppo_mini_batch_size data.train_batch_size > learner.minibatches
async_training.use_rollout_log_probs async_training.compute_prox_log_prob > schedule
algorithm.kl_ctrl.type algorithm.kl_ctrl.horizon algorithm.kl_ctrl.target_kl > kl
data.gen_batch_size : batch
actor_rollout_ref.rollout.n rollout.n = rollout.group
actor_rollout_ref.actor.rollout_n actor_rollout_ref.ref.rollout_n : run
actor_rollout_ref.rollout.temperature = rollout.temperature
actor_rollout_ref.rollout.top_p = rollout.top_p
actor_rollout_ref.rollout.top_k = rollout.top_k
actor_rollout_ref.rollout.quantization ~ rollout.numerics
actor_rollout_ref.rollout.dtype ~ rollout.numerics
actor_rollout_ref.rollout.engine_kwargs.vllm.kv_cache_dtype actor_rollout_ref.rollout.engine_kwargs.sglang.kv_cache_dtype actor_rollout_ref.rollout.kv_cache_dtype ~ rollout.numerics.kv_cache
actor_rollout_ref.actor.megatron.dtype actor_rollout_ref.actor.fsdp_config.dtype ~ learner.numerics
actor_rollout_ref.actor.megatron.override_transformer_config.moe_router_dtype ~ learner.numerics.router
actor_rollout_ref.actor.ppo_micro_batch_size actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu actor_rollout_ref.rollout.log_prob_micro_batch_size actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu actor_rollout_ref.actor.use_dynamic_bsz actor_rollout_ref.rollout.log_prob_use_dynamic_bsz actor_rollout_ref.actor.ppo_max_token_len_per_gpu actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu : micro
actor_rollout_ref.rollout.enable_rollout_routing_replay > routing
actor_rollout_ref.rollout.quantization_config_file : numerics
actor_rollout_ref.actor.megatron.override_transformer_config.* : model
actor_rollout_ref.actor.router_replay.* : feature
skip.* async_resources.* sandbox_fusion.* teacher_models.* : place
async_training.* : place
async_flow.* : place
rollout.total_rollout_steps rollout.test_freq rollout.nnodes rollout.n_gpus_per_node : run
rollout.* : place
data.max_response_length data.max_prompt_length actor_rollout_ref.rollout.response_length actor_rollout_ref.rollout.prompt_length actor_rollout_ref.rollout.max_model_len : length
actor_rollout_ref.actor.optim.* actor_rollout_ref.actor.grad_clip : optimizer
actor_rollout_ref.actor.calculate_entropy actor_rollout_ref.actor.calculate_sum_pi_squared : log
actor_rollout_ref.actor.use_rollout_log_probs > correction
actor_rollout_ref.actor.checkpoint.* actor_rollout_ref.actor.profiler.* actor_rollout_ref.ref.profiler.* actor_rollout_ref.rollout.profiler.* : log
actor_rollout_ref.actor.fsdp_config.* actor_rollout_ref.actor.megatron.* actor_rollout_ref.actor.veomni.* actor_rollout_ref.actor.torchtitan.* : place
actor_rollout_ref.actor.qat.* actor_rollout_ref.actor.fsdp_config.qat.* actor_rollout_ref.ref.fsdp_config.qat.* actor_rollout_ref.ref.qat.* : feature
actor_rollout_ref.actor.policy_loss.* : feature
actor_rollout_ref.actor.freeze_vision_tower actor_rollout_ref.actor.data_loader_seed actor_rollout_ref.actor.shuffle : data
actor_rollout_ref.actor._target_ actor_rollout_ref._target_ algorithm._target_ _target_ : log
actor_rollout_ref.actor.* actor_rollout_ref.ref.* actor_rollout_ref.rollout.* : place
actor_rollout_ref.ref.model.* actor_rollout_ref.rollout.val_kwargs.* : eval
actor_rollout_ref.model.* : model
actor_rollout_ref.rollout.multi_turn.* actor_rollout_ref.rollout.agent.* : feature
actor_rollout_ref.rollout.trace.* : log
actor_rollout_ref.rollout.checkpoint_engine.* : place
actor_rollout_ref.rollout.ignore_eos actor_rollout_ref.rollout.do_sample actor_rollout_ref.rollout.logprobs_mode : feature
actor_rollout_ref.hybrid_engine actor_rollout_ref.nccl_timeout actor_rollout_ref.* : place
algorithm.filter_groups.* : filter
algorithm.pf_ppo.* algorithm.use_pf_ppo : feature
algorithm.* : feature
data.* : data
critic.* : critic
reward_model.* reward.* custom_reward_function.* reward_manager.* : reward
distillation.* : teacher
trainer.* global_profiler.* transfer_queue.* ray_kwargs.* ray_init.* hydra.* : log
trainer.balance_batch trainer.nnodes trainer.n_gpus_per_node trainer.device trainer.use_legacy_worker_impl : place
trainer.val_* trainer.test_freq trainer.total_* trainer.critic_warmup : run
defaults.* defaults : base
config_path config_name : base
skyrl_agent.* prompt_attention.* agent.* env.* : feature
model_engine : place

A := actor_rollout_ref.actor
[routing] router_replay.mode
R2 -> r2
R3 -> r3
disabled -> none

LOW := $A.clip_ratio_low|$A.clip_ratio?0.2
HIGH := $A.clip_ratio_high|$A.clip_ratio?0.2
EPS := eps_low=$LOW eps_high=$HIGH
[loss!] $A.policy_loss.loss_mode|$A.loss_mode?vanilla
vanilla,bypass_mode -> ppo_clip $EPS dual_clip=$A.clip_ratio_c?3
gspo -> gspo $EPS aggregation:own
geo_mean -> gmpo $EPS aggregation:own
cispo -> cispo $EPS
dppo_tv,dppo_kl -> = delta_low=$LOW delta_high=$HIGH
clip_cov -> clip_cov $EPS share=$A.policy_loss.clip_cov_ratio?2e-4 low=$A.policy_loss.clip_cov_lb?1 high=$A.policy_loss.clip_cov_ub?5
kl_cov -> kl_cov share=$A.policy_loss.kl_cov_ratio?2e-4 beta=$A.policy_loss.ppo_kl_coef?0.1
sapo -> sapo tau_pos=$A.tau_pos|$A.policy_loss.tau_pos?1 tau_neg=$A.tau_neg|$A.policy_loss.tau_neg?1.05 aggregation:own
dro -> dro beta=$A.policy_loss.dro_beta?1
gpg -> gpg

[aggregation] $A.loss_agg_mode
seq-mean-token-sum-norm ?$A.loss_scale_factor -> seq-mean-token-sum-norm scale=$A.loss_scale_factor
token-mean,token-sum,seq-mean-token-sum,seq-mean-token-sum-norm,seq-mean-token-mean -> =

STD := algorithm.norm_adv_by_std_in_grpo
[advantage] algorithm.adv_estimator
grpo,grpo_vectorized -> grpo std=truth@$STD
grpo_passk -> grpo_passk std=truth@$STD
gae -> gae gamma=algorithm.gamma?1 lam=algorithm.lam?1
rloo,rloo_vectorized -> rloo
reinforce_plus_plus,reinforce_plus_plus_baseline,remax,opo,gpg,gdpo,optimal_token_baseline,tir_optimal_token_baseline -> =

[advantage.std]
?$STD !algorithm.adv_estimator $STD?true=true -> true
?$STD !algorithm.adv_estimator -> false

[kl]
$A.use_kl_loss=true -> k3 name=kl@$A.kl_loss_type?low_var_kl coef=$A.kl_loss_coef?0.001 in:loss
algorithm.use_kl_in_reward=true -> k1 name=kl@algorithm.kl_penalty?kl coef=algorithm.kl_ctrl.kl_coef?0.001 in:reward
?$A.use_kl_loss|algorithm.use_kl_in_reward -> none coef:0

[terms]
?$A.entropy_coeff -> entropy coef=$A.entropy_coeff?0

S := async_training
PARTIAL := verl_partial staleness_percent=percent@$S.staleness_threshold?0.1 k=$S.trigger_parameter_sync_step?4 require_batches=$S.require_batches?1 partial=$S.partial_rollout?true
V := trainer.v1
V1 := verl_v1 max_off_policy_threshold=$V.sampler.max_off_policy_threshold?8 wait={drop>false,wait>true}@$V.sampler.max_off_policy_strategy?drop
MODE := trainer.use_v1?true=true $V.trainer_mode
[schedule]
?$S.staleness_threshold|$S.trigger_parameter_sync_step|$S.require_batches $S.compute_prox_log_prob=true -> $PARTIAL prox:true
?$S.staleness_threshold|$S.trigger_parameter_sync_step|$S.require_batches -> $PARTIAL
?async_flow.staleness async_flow.staleness!=0 -> lag k=async_flow.staleness
file=one_step_off* -> one_step_off
$MODE=sync -> sync
$MODE=colocate_async -> $V1 num_warmup_batches=$V.colocate_async.num_warmup_batches?1
$MODE=separate_async -> $V1 num_warmup_batches=$V.separate_async.num_warmup_batches?1 parameter_sync_step=$V.separate_async.parameter_sync_step?4

`

var verlTable = parseTable(verlLines)
