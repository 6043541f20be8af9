package foreign

import (
	"fmt"
	"math"
	"strings"

	"driftlab/trainer/method/correction"
)

// openrlhf: flags of train_ppo_ray, under their names of old and, with points, of 2026.
var openrlhf = framework{
	name: "openrlhf", program: "openrlhf",
	loose: []string{"enable_vllm_is_correction", "vllm_is_truncated_threshold", "vllm_is_correction_type",
		"is_correction_enable", "is_correction_threshold", "is_correction_type", "is_correction_level", "is_correction_mode", "is_correction_gating"},
	own:   []string{"vllm_is_", "is_correction_"},
	table: openrlhfTable,
	lora:  [][2]string{{"ds.lora.rank", "ds.lora.alpha"}, {"lora_rank", "lora_alpha"}},
	read:  readOpenRLHF,
	unset: `
loss={name: ppo_clip, eps_low: 0.2, eps_high: 0.2, dual_clip: 0}
kl={name: k1, coef: 0.01, in: reward}
rollout.group=1
rollout.temperature=1
rollout.top_p=1
learner.epochs=1`,
	removed: `
is_correction_enable enable_vllm_is_correction: removed from OpenRLHF on 14 September 2026; is_correction_level is in its place
is_correction_type vllm_is_correction_type: removed from OpenRLHF on 14 September 2026; is_correction_mode is in its place`,
}

// openrlhfTable: OpenRLHF/OpenRLHF openrlhf/cli/train_ppo_ray.py (0.9 and 0.8), openrlhf/models/loss.py,
// openrlhf/trainer/ppo_utils/experience_maker.py.
var openrlhfTable = parseTable(`
algo.advantage.estimator advantage_estimator algo.advantage.no_std_norm no_advantage_std_norm algo.advantage.gamma gamma algo.advantage.lambd lambd > advantage
algo.kl.init_coef init_kl_coef algo.kl.use_loss use_kl_loss algo.kl.estimator kl_estimator > kl
algo.kl.unbiased_gradient > kl
algo.kl.target kl_target algo.kl.horizon kl_horizon : feature
actor.loss_agg_mode actor.policy_loss_type policy_loss_type actor.eps_clip eps_clip actor.eps_clip_low_high eps_clip_low_high actor.dual_clip dual_clip > loss
ds.lora.rank ds.lora.alpha lora_rank lora_alpha > lora
actor.entropy_coef entropy_loss_coef entropy_coef > terms
train.max_epochs max_epochs = learner.epochs
rollout.n_samples_per_prompt n_samples_per_prompt = rollout.group
ds.param_dtype ~ learner.numerics
vllm.dtype vllm.kv_cache_dtype : numerics
rollout.temperature temperature = rollout.temperature
rollout.top_p top_p = rollout.top_p
train.batch_size train_batch_size rollout.batch_size rollout_batch_size > learner.minibatches
train.async_enable async_train train.async_queue_size async_queue_size > schedule
train.partial_rollout_enable partial_rollout : feature
rollout.max_new_tokens generate_max_len prompt_max_len data.max_len max_len rollout.max_tokens_per_gpu : length
actor.adam.* actor.muon.* actor.optim actor.lr_scheduler actor.lr_warmup_ratio actor.min_lr_ratio actor.max_norm actor_learning_rate lr_scheduler lr_warmup_ratio max_norm adam_betas l2 learning_rate train.enable_ema train.ema_beta enable_ema ema_beta : optimizer
critic.adam.* critic.muon.* critic.optim critic.value_clip critic.freezing_steps critic_learning_rate value_clip freezing_actor_steps critic_pretrain critic.model_name_or_path : critic
actor.model_name_or_path pretrain actor.freeze_visual_encoder actor.aux_loss_coef aux_loss_coef ds.lora.* target_modules lora_dropout load_in_4bit ds.load_in_4bit bf16 ref.model_name_or_path : model
reward.* reward_pretrain remote_rm_url normalize_reward reward_clip_range overlong_buffer_len overlong_penalty_factor stop_properly_penalty_coef : reward
algo.dynamic_filtering_enable algo.dynamic_filtering_range dynamic_filtering dynamic_filtering_reward_range rollout.vllm_generate_batch_size vllm_generate_batch_size : filter
train.agent_func_path agent_func_path : feature
eval.* eval_dataset eval_steps eval_split eval_temperature eval_n_samples_per_prompt : eval
ckpt.* logger.* save_path save_steps save_hf_ckpt ckpt_path max_ckpt_num max_ckpt_mem load_checkpoint logging_steps use_wandb wandb_* use_tensorboard disable_ds_ckpt best_metric_key : log
train.num_episodes num_episodes train.seed seed train.full_determinism_enable full_determinism max_samples data.max_samples : run
data.* prompt_data prompt_data_probs prompt_split input_key label_key apply_chat_template input_template dataset_config tokenizer_chat_template image_key packing_samples use_ms : data
actor.* critic.* ref.* vllm.* ds.* train.* rollout.* : place
vllm_* ref_* actor_num_* critic_num_* reward_num_* colocate_* micro_train_batch_size micro_rollout_batch_size zero_stage zpg adam_offload flash_attn attn_implementation gradient_checkpointing* deepspeed_enable_sleep deepcompile enforce_eager enable_prefix_caching overlap_comm ring_attn_size ring_head_stride use_liger_kernel ds_tensor_parallel_size use_dynamic_batch train_max_tokens_per_gpu rollout_max_tokens_per_gpu grad_accum_dtype disable_fast_tokenizer local_rank : place
`)

func readOpenRLHF(v *values, c *Config) {
	p := &correction.Pipeline{Clamp: math.Inf(1), Denominator: correction.Pre}
	c.Pipeline = p
	if v.any("is_correction_level", "is_correction_mode", "is_correction_gating") {
		openrlhfLevel(v, c, p)
		openrlhfLoss(v, c)
		openrlhfRest(v, c)
		return
	}
	on, threshold, kind := "enable_vllm_is_correction", "vllm_is_truncated_threshold", "vllm_is_correction_type"
	if v.has("is_correction_enable") || v.has("is_correction_type") || v.has("is_correction_threshold.0") {
		on, threshold, kind = "is_correction_enable", "is_correction_threshold", "is_correction_type"
	}
	low, high := v.number(threshold+".0", 0.5), v.number(threshold+".1", 5)
	switch k := v.choice(kind, "tis", "tis", "icepop", "seq-mask-tis"); {
	case !v.truth(on, false):
		if v.has(kind) || v.has(threshold+".0") || v.has(on) {
			c.Off = on + " is not given"
		}
	case k == "icepop":
		p.Weights = &correction.IcePop{Low: low, High: high}
	case k == "seq-mask-tis":
		p.Weights = &correction.TokenTIS{Cap: math.Inf(1)}
		p.Masks = []correction.Masking{&correction.Geometric{Low: low, High: high}}
		c.note("seq-mask-tis: the weights of what is kept are not clamped, against the comment in the code")
	default:
		p.Weights = &correction.TokenTIS{Cap: high, Floor: low}
	}
	openrlhfLoss(v, c)
	openrlhfRest(v, c)
}

// openrlhfLevel reads the keys of September 2026: what is gated, by which statistic, and what happens to what is outside. One threshold is the upper one.
func openrlhfLevel(v *values, c *Config, p *correction.Pipeline) {
	const threshold = "is_correction_threshold"
	level, mode, gate := v.choice("is_correction_level", "off", "off", "token", "seq", "geo"), v.choice("is_correction_mode", "mask", "mask", "clip", "trunc"), v.choice("is_correction_gating", "ratio", "ratio", "binary_kl", "tv")
	low, high := v.number(threshold+".0", 0.5), v.number(threshold+".1", 5)
	if v.has(threshold) {
		low, high = 0, v.number(threshold, 5)
	}
	switch {
	case level == "off":
		c.Off = "is_correction_level is off"
	case gate != "ratio":
		v.leave("is_correction_gating", "the gate "+gate+" has no counterpart in a recipe: the correction of the run is on and not taken over")
		c.Unknown = "is_correction_gating " + gate + ": the correction is on, and this gate is not known to a recipe"
		c.note("%s", c.Unknown)
	case level == "token" && mode == "mask":
		p.Weights = &correction.IcePop{Low: low, High: high}
	case level == "token":
		p.Weights = &correction.TokenTIS{Cap: high, Floor: low}
	case mode == "mask":
		p.Weights = &correction.TokenTIS{Cap: math.Inf(1)}
		p.Masks = []correction.Masking{&correction.Geometric{Low: low, High: high}}
	default:
		p.Weights = &correction.GeometricTIS{Cap: high, Floor: low}
	}
}

func openrlhfLoss(v *values, c *Config) {
	kind, eps, dual := v.first("actor.policy_loss_type", "policy_loss_type"), v.first("actor.eps_clip", "eps_clip"), v.first("actor.dual_clip", "dual_clip")
	both := v.first("actor.eps_clip_low_high.0", "eps_clip_low_high.0")
	x := v.number(eps, 0.2)
	low, high := v.number(both, x), v.number(strings.TrimSuffix(both, "0")+"1", x)
	name, ok := v.translated(kind, "ppo", openrlhfLosses)
	if !ok {
		return
	}
	l := &lossFields{name: name}
	l.set("eps_low", low)
	l.set("eps_high", high)
	l.set("dual_clip", v.number(dual, 0))
	if agg := "actor.loss_agg_mode"; v.has(agg) {
		if word, ok := v.translated(agg, "token-mean", openrlhfAggregations); ok {
			l.set("aggregation", word)
		}
	}
	c.Loss = l.String()
}

// openrlhfRest reads what is not correction or loss.
func openrlhfRest(v *values, c *Config) {
	estimator, no := v.first("algo.advantage.estimator", "advantage_estimator"), v.first("algo.advantage.no_std_norm", "no_advantage_std_norm")
	if v.has(estimator) {
		if name, ok := v.translated(estimator, "gae", openrlhfAdvantages); ok {
			var fields []string
			switch name {
			case "grpo":
				fields = append(fields, fmt.Sprintf("std: %v", v.text(estimator, "") != "dr_grpo" && !v.truth(no, false)))
			case "normalize":
				fields = append(fields, "mean: batch", "std: none")
			case "gae":
				fields = append(fields, fmt.Sprintf("gamma: %v", v.number(v.first("algo.advantage.gamma", "gamma"), 1)), fmt.Sprintf("lam: %v", v.number(v.first("algo.advantage.lambd", "lambd"), 1)))
			}
			c.takeAdvantage(name, fields, estimator)
		}
	}
	coef, use, kind := v.first("algo.kl.init_coef", "init_kl_coef"), v.first("algo.kl.use_loss", "use_kl_loss"), v.first("algo.kl.estimator", "kl_estimator")
	if v.any(coef, use) {
		if name, ok := v.translated(kind, "k1", penalties); ok {
			if v.truth("algo.kl.unbiased_gradient", false) && name == "k3" { // the value of k3, the gradient of k2
				name = "k3+"
			}
			in := "reward"
			if v.truth(use, false) {
				in = "loss"
			}
			c.takeKL(name, v.number(coef, 0.01), in, coef, use, kind)
		}
	}
	c.takeEntropy(v, v.first("actor.entropy_coef", "entropy_loss_coef", "entropy_coef"))
	v.number(v.first("actor.entropy_coef", "entropy_loss_coef", "entropy_coef"), 0)
	prompts, group, part := v.first("rollout.batch_size", "rollout_batch_size"), v.first("rollout.n_samples_per_prompt", "n_samples_per_prompt"), v.first("train.batch_size", "train_batch_size")
	if v.has(prompts) && v.has(part) {
		c.takeMinibatches(v, v.number(prompts, 1024)*v.number(group, 1), v.number(part, 128), part, prompts)
	}
	on, queue := v.first("train.async_enable", "async_train"), v.first("train.async_queue_size", "async_queue_size")
	if v.truth(on, false) {
		if k := v.number(queue, 1); k > 1 {
			c.take("schedule", fmt.Sprintf("{name: lag, k: %v}", k), on, queue)
		} else {
			c.takeOneStepOff("{name: one_step_off}", on, queue)
		}
	} else {
		v.leave(queue, "asynchronous training is not on")
	}
}

// OpenRLHF's names.
var (
	openrlhfLosses       = vocabulary{"loss", map[string]string{"ppo": "ppo_clip", "gspo": "gspo"}}
	openrlhfAdvantages   = vocabulary{"advantage", map[string]string{"gae": "gae", "reinforce": "reinforce_plus_plus", "rloo": "rloo", "reinforce_baseline": "reinforce_plus_plus_baseline", "group_norm": "grpo", "dr_grpo": "grpo", "flash_reinforce": "normalize"}}
	openrlhfAggregations = vocabulary{"aggregation", map[string]string{"token-mean": "token-mean", "seq-mean-token-mean": "seq-mean-token-mean", "seq-mean-token-sum": "seq-mean-token-sum"}}
)
