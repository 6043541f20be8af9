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
		"is_correction_enable", "is_correction_threshold", "is_correction_type"},
	own:   []string{"vllm_is_", "is_correction_"},
	table: openrlhfTable,
	read:  readOpenRLHF,
}

// openrlhfTable: OpenRLHF/OpenRLHF openrlhf/cli/train_ppo_ray.py (0.9 and 0.8), openrlhf/models/loss.py,
// openrlhf/trainer/ppo_utils/experience_maker.py.
var openrlhfTable = parseTable(`
algo.advantage.estimator advantage_estimator algo.advantage.no_std_norm no_advantage_std_norm algo.advantage.gamma gamma algo.advantage.lambd lambd > advantage
algo.kl.init_coef init_kl_coef algo.kl.use_loss use_kl_loss algo.kl.estimator kl_estimator > kl
algo.kl.target kl_target algo.kl.horizon kl_horizon : feature
actor.policy_loss_type policy_loss_type actor.eps_clip eps_clip actor.eps_clip_low_high eps_clip_low_high actor.dual_clip dual_clip > loss
actor.entropy_coef entropy_loss_coef entropy_coef > terms
train.max_epochs max_epochs = learner.epochs
rollout.n_samples_per_prompt n_samples_per_prompt = rollout.group
rollout.temperature temperature = rollout.temperature
rollout.top_p top_p = rollout.top_p
train.batch_size train_batch_size rollout.batch_size rollout_batch_size > learner.minibatches
train.async_enable async_train train.async_queue_size async_queue_size > schedule
train.partial_rollout_enable partial_rollout : feature
rollout.max_new_tokens generate_max_len prompt_max_len data.max_len max_len rollout.max_tokens_per_gpu : length
actor.adam.* actor.muon.* actor.optim actor.lr_scheduler actor.lr_warmup_ratio actor.min_lr_ratio actor.max_norm actor_learning_rate lr_scheduler lr_warmup_ratio max_norm adam_betas l2 learning_rate train.enable_ema train.ema_beta enable_ema ema_beta : optimizer
critic.adam.* critic.muon.* critic.optim critic.value_clip critic.freezing_steps critic_learning_rate value_clip freezing_actor_steps critic_pretrain critic.model_name_or_path : critic
actor.model_name_or_path pretrain actor.freeze_visual_encoder actor.aux_loss_coef aux_loss_coef ds.lora.* lora_rank lora_alpha target_modules lora_dropout load_in_4bit ds.load_in_4bit ds.param_dtype bf16 ref.model_name_or_path : model
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

func openrlhfLoss(v *values, c *Config) {
	kind, eps, dual := v.first("actor.policy_loss_type", "policy_loss_type"), v.first("actor.eps_clip", "eps_clip"), v.first("actor.dual_clip", "dual_clip")
	both := v.first("actor.eps_clip_low_high.0", "eps_clip_low_high.0")
	if !v.any(kind, eps, dual, both) {
		return
	}
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
			case "gae":
				fields = append(fields, fmt.Sprintf("gamma: %v", v.number(v.first("algo.advantage.gamma", "gamma"), 1)), fmt.Sprintf("lam: %v", v.number(v.first("algo.advantage.lambd", "lambd"), 1)))
			}
			c.takeAdvantage(name, fields, estimator)
		}
	}
	coef, use, kind := v.first("algo.kl.init_coef", "init_kl_coef"), v.first("algo.kl.use_loss", "use_kl_loss"), v.first("algo.kl.estimator", "kl_estimator")
	if v.any(coef, use) {
		if name, ok := v.translated(kind, "k1", penalties); ok {
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
	openrlhfLosses     = vocabulary{"loss", map[string]string{"ppo": "ppo_clip", "gspo": "gspo"}}
	openrlhfAdvantages = vocabulary{"advantage", map[string]string{"gae": "gae", "reinforce": "reinforce_plus_plus", "rloo": "rloo", "reinforce_baseline": "reinforce_plus_plus_baseline", "group_norm": "grpo", "dr_grpo": "grpo"}}
)
