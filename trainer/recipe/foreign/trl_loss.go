package foreign

import (
	"fmt"
	"math"
	"strings"
)

// trlTable is of GRPOConfig and AsyncGRPOConfig: huggingface/trl trl/trainer/grpo_config.py,
// trl/trainer/grpo_trainer.py, trl/experimental/async_grpo/async_grpo_config.py.
var trlTable = parseTable(`
loss_type importance_sampling_level epsilon epsilon_high delta max_completion_length > loss
sapo_temperature_pos sapo_temperature_neg vespo_k_pos vespo_lambda_pos vespo_k_neg vespo_lambda_neg > loss
beta use_bias_correction_kl > kl
scale_rewards > advantage
entropy_coef top_entropy_quantile use_adaptive_entropy entropy_coef_min entropy_coef_max entropy_coef_delta entropy_target > terms
mask_truncated_completions > correction
num_generations = rollout.group
cast_lm_head_to_fp32 ~ learner.numerics.head
num_iterations = learner.epochs
temperature = rollout.temperature
top_p = rollout.top_p
top_k = rollout.top_k
max_staleness weight_sync_steps max_inflight_tasks > schedule
queue_maxsize request_timeout heartbeat_stale_after_s token_budget fork_threshold_tokens : place
max_prompt_length vllm_max_model_length vllm_max_model_len : length
learning_rate lr_scheduler_type lr_scheduler_kwargs* warmup_* weight_decay adam_* max_grad_norm optim optim_* : optimizer
per_device_train_batch_size gradient_accumulation_steps generation_batch_size steps_per_generation : batch
model_name_or_path model_init_kwargs* attn_implementation torch_dtype dtype bf16 fp16 tf32 use_peft lora_* load_in_4bit load_in_8bit bnb_* trust_remote_code router_aux_loss_coef disable_dropout : model
reward_funcs* reward_weights* reward_model* multi_objective_aggregation : reward
min_p repetition_penalty generation_kwargs* cache_implementation sync_ref_model ref_model_* max_tool_calling_iterations use_transformers_paged use_liger_loss use_liger_kernel num_generations_eval : feature
chat_template_kwargs* remove_unused_columns shuffle_dataset dataset_* script_args* pad_to_multiple_of data_seed : data
vllm_* ds3_gather_for_generation gradient_checkpointing* ddp_* deepspeed fsdp* dataloader_* torch_* : place
output_dir run_name logging_* log_* report_to save_* push_to_hub hub_* num_completions_to_print wandb_* project trackio* : log
num_train_epochs max_steps seed : run
eval_* do_eval per_device_eval_batch_size : eval
`)

// trlLosses are the losses of TRL, and of those that took its names, and how each aggregates.
var trlLosses = map[string][2]string{"grpo": {"ppo_clip", "grpo"}, "bnpo": {"ppo_clip", "bnpo"}, "dapo": {"ppo_clip", "dapo"}, "dr_grpo": {"ppo_clip", "dr_grpo"},
	"cispo": {"cispo", ""}, "sapo": {"sapo", ""}, "luspo": {"luspo", ""}, "vespo": {"vespo", ""}}

// trlLoss reads a loss under TRL's names.
func trlLoss(v *values, c *Config, otherwise string, sapo [2]string) {
	kind := v.text("loss_type", otherwise)
	names, ok := trlLosses[kind]
	if !ok {
		v.leave("loss_type", fmt.Sprintf("%q has no counterpart here", kind))
		return
	}
	low := v.number("epsilon", 0.2)
	high := v.number("epsilon_high", low)
	l := &lossFields{name: names[0]}
	switch v.choice("importance_sampling_level", "token", "token", "sequence", "sequence_token") {
	case "sequence":
		if l.name == "ppo_clip" {
			l.name = "gspo"
		}
	case "sequence_token":
		if l.name == "ppo_clip" {
			l.name = "gspo_token"
		}
	}
	switch l.name {
	case "ppo_clip":
		l.set("eps_low", low)
		l.set("eps_high", high)
		l.set("dual_clip", 0)
		if v.has("delta") {
			l.set("delta", v.number("delta", 0))
		}
	case "gspo", "gspo_token", "luspo":
		l.set("eps_low", low)
		l.set("eps_high", high)
		v.leave("delta", "the recipe's loss "+l.name+" has no bound on the ratio of a negative advantage")
	case "cispo": // epsilon_high bounds the ratio itself
		if v.has("epsilon_high") && high >= 1 {
			l.set("eps_high", math.Round((high-1)*1e12)/1e12)
		}
	case "sapo":
		l.set("tau_pos", v.number(sapo[0], 1))
		l.set("tau_neg", v.number(sapo[1], 1.05))
	case "vespo":
		for _, field := range []string{"k_pos", "lambda_pos", "k_neg", "lambda_neg"} {
			if key := "vespo_" + field; v.has(key) {
				l.set(field, v.number(key, 0))
			}
		}
	}
	if names[1] != "" && v.has("loss_type") && l.name == "ppo_clip" {
		word := names[1]
		if n := v.number("max_completion_length", 0); n > 0 && word == "dr_grpo" {
			word += ":" + decimal(n)
		}
		l.set("aggregation", word)
	}
	c.Loss = l.String()
}

// trlScale reads what rewards are divided by.
func trlScale(v *values, c *Config) {
	switch spread := strings.ToLower(v.text("scale_rewards", "")); {
	case !v.has("scale_rewards"):
	case spread == "true" || spread == "group":
		c.takeAdvantage("grpo", []string{"std: true"}, "scale_rewards")
	case spread == "false" || spread == "none":
		c.takeAdvantage("grpo", []string{"std: false"}, "scale_rewards")
	case spread == "batch":
		c.takeAdvantage("normalize", []string{"mean: group", "std: batch"}, "scale_rewards")
	case spread == "gdpo":
		c.takeAdvantage("gdpo", nil, "scale_rewards")
	default:
		v.leave("scale_rewards", fmt.Sprintf("%q has no counterpart here", spread))
	}
}

// trlRest reads what is not correction, and whether the trainer is the asynchronous one.
func trlRest(v *values, c *Config) (asynchronous bool) {
	trlLoss(v, c, "dapo", [2]string{"sapo_temperature_pos", "sapo_temperature_neg"})
	trlScale(v, c)
	if v.has("beta") {
		estimator := "k3"
		if v.truth("use_bias_correction_kl", true) {
			estimator = "k3_unbiased"
		}
		c.takeKL(estimator, v.number("beta", 0), "loss", "beta")
	}
	trlTerms(v, c)
	v.leave("max_completion_length", reasons["length"].why)
	v.number("max_inflight_tasks", 0)
	v.leave("max_inflight_tasks", reasons["place"].why)
	if !v.any("max_staleness", "weight_sync_steps", "max_inflight_tasks") && !strings.HasPrefix(v.program, "AsyncGRPO") {
		return false
	}
	c.take("schedule", fmt.Sprintf("{name: trl, max_staleness: %v, weight_sync_steps: %v}", v.number("max_staleness", 4), v.number("weight_sync_steps", 1)), "max_staleness", "weight_sync_steps")
	return true
}

// trlTerms reads the terms of entropy.
func trlTerms(v *values, c *Config) {
	var list []string
	if share := v.number("top_entropy_quantile", 1); share < 1 {
		list = append(list, fmt.Sprintf("{name: top_entropy, share: %v}", share))
	}
	coef := v.number("entropy_coef", 0)
	switch adaptive := v.truth("use_adaptive_entropy", false); {
	case adaptive:
		list = append(list, fmt.Sprintf("{name: adaptive_entropy, coef: %v, min: %v, max: %v, delta: %v, target: %v}", coef, v.number("entropy_coef_min", 0),
			v.number("entropy_coef_max", 1), v.number("entropy_coef_delta", 0.005), v.number("entropy_target", 0.2)))
	case coef != 0:
		list = append(list, fmt.Sprintf("{name: entropy, coef: %v}", coef))
	}
	if list != nil {
		c.take("terms", "["+strings.Join(list, ", ")+"]", "top_entropy_quantile", "entropy_coef", "use_adaptive_entropy", "entropy_coef_min", "entropy_coef_max", "entropy_coef_delta", "entropy_target")
	}
}
