package foreign

import (
	"fmt"
	"strings"
)

// slimeTable is of slime and of miles, which grew out of it. THUDM/slime slime/utils/arguments.py,
// slime/backends/megatron_utils/loss.py; radixark/miles miles/utils/arguments.py. The flags of the
// model and of Megatron are those of NVIDIA/Megatron-LM megatron/training/arguments.py.
const slimeLines = `
sglang_kv_cache_dtype ~ rollout.numerics.kv_cache
sglang_dtype ~ rollout.numerics
pg_loss_type > loss
use_score_centering score_centering_top_k score_centering_head_size : feature
advantage_estimator disable_grpo_std_normalization gamma lambd > advantage
eps_clip eps_clip_high eps_clip_c calculate_per_token_loss loss_type > loss
use_kl_loss kl_loss_coef kl_loss_type kl_coef use_unbiased_kl > kl
lora_rank lora_alpha > lora
entropy_coef > terms
n_samples_per_prompt = rollout.group
rollout_temperature = rollout.temperature
rollout_top_p = rollout.top_p
rollout_top_k = rollout.top_k
rollout_batch_size global_batch_size num_steps_per_rollout > learner.minibatches
rollout_function_path fully_async max_weight_staleness rollout_submission_granularity async_unused_samples_handler pause_generation_mode update_weights_interval > schedule
rollout_max_response_len rollout_max_prompt_len rollout_max_context_len seq_length max_position_embeddings : length
lr lr_* min_lr optimizer adam_* weight_decay* clip_grad start_weight_decay end_weight_decay muon_* sgd_* use_precision_aware_optimizer optimizer_* use_stateless_adam : optimizer
over_sampling_batch_size dynamic_sampling_filter_path buffer_filter_path rollout_sample_filter_path filter_zero_reward_samples partial_rollout mask_offpolicy_in_partial_rollout min_batch_collection_ratio : filter
normalize_advantages disable_rewards_normalization custom_advantage_function_path custom_pg_loss_reducer_function_path custom_loss_function_path custom_convert_samples* ref_update_interval keep_old_actor use_rollout_entropy reset_optimizer_states true_on_policy_mode custom_config_path : feature
use_rollout_indexer_replay use_indexer_replay recompute_logprobs_via_prefill apply_rope_* : feature
use_opd opd_* : teacher
rm_type rm_url group_rm reward_key custom_rm_path custom_reward_post_process_path eval_reward_key : reward
custom_generate_function_path custom_rollout_log* rollout_stop* rollout_skip_special_tokens rollout_task_type loss_mask_type qwen_gdn_backend : feature
value_clip num_critic_only_steps critic_* : critic
hf_checkpoint experts_shared_outer_loras ref_load load model_name spec num_layers hidden_size ffn_hidden_size num_attention_heads num_query_groups group_query_attention kv_channels qk_* vocab_size swiglu normalization norm_epsilon rotary_* use_rotary_position_embeddings position_embedding_type disable_bias_linear add_qkv_bias untie_embeddings_and_output_weights make_vocab_size_divisible_by padded_vocab_size q_lora_rank kv_lora_rank v_head_dim multi_latent_attention attention_output_gate num_experts moe_* mtp_* enable_mtp_training first_k_dense freeze_indexer freeze_params_name_list only_train_params_name_list hidden_dropout attention_dropout apply_layernorm_1p no_bias* no_rope* rope_* experimental_* linear_* softmax_type window_* glu_* lora_* target_modules exclude_modules original_max_position_embeddings beta_fast beta_slow mscale* scaling_factor activation_func_clamp_value megatron_to_hf_mode qk_layernorm add_bias_linear ref_ckpt_step : model
bf16 fp16 fp8_* fp8 transformer_impl int4_* extra_high_precision* megatron_deepgemm* te_precision_config_file quant* : model
eval_* n_samples_per_eval_prompt skip_eval_before_train : eval
save save_* use_wandb wandb_* disable_wandb_random_suffix use_tensorboard tb_* log_* ci_* dump_details dumper* debug_* use_mlflow mlflow* use_prometheus prometheus* check_* profile* record_memory_history memory_* timing* use_pytorch_profiler tensorboard* no_save_optim load_debug* async_save dist_ckpt* ckpt_* no_load* finetune env_report enable_witness use_rollout_all* rollout_all_samples_process_path : log
prompt_data input_key label_key metadata_key tool_key multimodal_keys apply_chat_template* rollout_shuffle rollout_seed seed balance_data balance_by_flops data_* disable_rollout_global_dataset rollout_data* rollout_buffer_url chat_template_path : data
num_rollout num_epoch start_rollout_id train_iters : run
get_mismatch_metrics : log
actor_num_* rollout_num_* num_gpus_per_node colocate offload* release_train tensor_model_parallel_size pipeline_model_parallel_size context_parallel_size expert_* sequence_parallel decoder_* recompute_* use_dynamic_batch_size max_tokens_per_gpu micro_batch_size log_probs_* sglang_* slime_* miles_* update_weight_* train_backend train_env_vars distributed_* attention_backend attention_softmax_in_fp32 accumulate_allreduce_grads_in_fp32 no_check* overlap_* use_distributed_* use_fault_tolerance rollout_health* rollout_external* http_proxy allgather_cp cp_* qkv_format no_gradient* gradient_accumulation* cross_entropy* empty_unused* grad_reduce* account_for* main_* exp_avg* attn_implementation gradient_checkpointing fsdp_* deepspeed* use_* actor_lr* custom_megatron* custom_model_provider_path megatron_config_path delay_* fine_grained* cuda_graph* moe_token* no_* manual_gc* router_* ft_* prefill_num_servers custom_update_weight* async_* p2p_* multi_lora* train_memory_margin_bytes low_memory_resume stream_optimizer* p2p* : place
`

var slimeTable = parseTable(slimeLines)

// vimeTable has vLLM's flags in the place of SGLang's.
var vimeTable = parseTable(slimeLines + `
vllm_kv_cache_dtype ~ rollout.numerics.kv_cache
vllm_dtype ~ rollout.numerics
vllm_* vime_* : place
`)

// slimeRest reads what is not correction or routing.
func slimeRest(v *values, c *Config) {
	estimator := "advantage_estimator"
	kind := v.text(estimator, "grpo")
	if v.any(estimator, "eps_clip", "eps_clip_high", "eps_clip_c", "pg_loss_type") {
		name, ok := v.translated(estimator, "grpo", slimeEstimators)
		if v.choice("pg_loss_type", "ppo", "ppo", "reinforce") == "reinforce" || !v.has("pg_loss_type") && v.truth("use_score_centering", false) && v.framework.name == "vime" {
			name = "reinforce"
		}
		l := &lossFields{name: name}
		if name != "reinforce" {
			eps := v.number("eps_clip", 0.2)
			l.set("eps_low", eps)
			l.set("eps_high", v.number("eps_clip_high", eps))
		}
		if name == "ppo_clip" {
			l.set("dual_clip", v.number("eps_clip_c", 0))
		}
		if v.truth("calculate_per_token_loss", false) {
			l.set("aggregation", "token-mean@pre")
		}
		if ok && name != "sapo" {
			c.Loss = l.String()
		}
	}
	if loss := "loss_type"; v.has(loss) && v.text(loss, "") != "policy_loss" {
		v.leave(loss, "a loss of the user's own cannot be known")
	}
	slimeAdvantage(v, c, estimator, kind)
	slimeKL(v, c)
	c.takeEntropy(v, "entropy_coef")
	v.number("entropy_coef", 0)
	whole, group, part, steps := "rollout_batch_size", "n_samples_per_prompt", "global_batch_size", "num_steps_per_rollout"
	switch {
	case v.has(steps):
		c.takeMinibatches(v, v.number(steps, 1), 1, steps)
		v.leave(part, "num_steps_per_rollout says how many updates a batch has")
		v.leave(whole, reasons["batch"].why)
	case v.any(whole) && v.any(part):
		c.takeMinibatches(v, v.number(whole, 0)*v.number(group, 1), v.number(part, 0), part, whole)
	}
	slimeSchedule(v, c)
}

func slimeAdvantage(v *values, c *Config, estimator, kind string) {
	if !v.any(estimator, "disable_grpo_std_normalization") {
		return
	}
	var fields []string
	name := ""
	switch kind {
	case "grpo", "gspo", "cispo", "sapo":
		name = "grpo"
		fields = append(fields, fmt.Sprintf("std: %v", !v.truth("disable_grpo_std_normalization", false)))
	case "reinforce_plus_plus", "reinforce_plus_plus_baseline":
		name = kind
	case "ppo":
		name = "gae"
		fields = append(fields, fmt.Sprintf("gamma: %v", v.number("gamma", 1)), fmt.Sprintf("lam: %v", v.number("lambd", 1)))
	default:
		v.leave(estimator, fmt.Sprintf("%q has no counterpart here", kind))
		return
	}
	c.takeAdvantage(name, fields, estimator, "disable_grpo_std_normalization")
}

func slimeKL(v *values, c *Config) {
	use, coef, kind, reward := "use_kl_loss", "kl_loss_coef", "kl_loss_type", "kl_coef"
	estimator, ok := v.translated(kind, "k1", penalties)
	switch {
	case !ok:
	case v.truth(use, false):
		if v.truth("use_unbiased_kl", false) && estimator == "k3" {
			estimator = "k3_unbiased"
		}
		c.takeKL(estimator, v.number(coef, 0), "loss", use, coef, kind)
	case v.number(reward, 0) != 0:
		c.takeKL(estimator, v.number(reward, 0), "reward", reward, kind)
	case v.any(coef, reward):
		c.take("kl", "{name: none}", coef)
	}
	if !v.truth(use, false) {
		v.leave(coef, "use_kl_loss is not given")
	}
}

// slimeSchedule reads which of the trainers is started: the name of the program says it.
func slimeSchedule(v *values, c *Config) {
	path := v.text("rollout_function_path", "")
	switch {
	case v.truth("fully_async", false): // miles
		granularity, unused, pause := "rollout_submission_granularity", "async_unused_samples_handler", "pause_generation_mode"
		c.take("schedule", fmt.Sprintf("{name: miles, max_weight_staleness: %v, group: %v, retry: %v, in_place: %v}", v.number("max_weight_staleness", 0),
			v.choice(granularity, "sample", "sample", "group") == "group", v.choice(unused, "drop", "drop", "retry") == "retry",
			v.choice(pause, "retract", "retract", "in_place") == "in_place"), "fully_async", "max_weight_staleness", granularity, unused, pause)
	case strings.Contains(path, "fully_async"):
		c.take("schedule", "{name: slime_fully_async}", "rollout_function_path")
	case strings.HasSuffix(v.program, "train_async.py"):
		c.takeOneStepOff(fmt.Sprintf("{name: one_step_off, interval: %v}", v.number("update_weights_interval", 1)), "update_weights_interval")
	default:
		v.leave("rollout_function_path", "a rollout of the user's own cannot be known")
		v.leave("update_weights_interval", "it has an effect in asynchronous training alone")
	}
	v.leaveUnread("it has an effect with miles' fully_async alone", "max_weight_staleness", "rollout_submission_granularity", "async_unused_samples_handler", "pause_generation_mode")
}

// slimeEstimators are slime's names of estimators, which also choose the loss.
var slimeEstimators = vocabulary{"loss", map[string]string{"grpo": "ppo_clip", "gspo": "gspo", "cispo": "cispo", "reinforce_plus_plus": "ppo_clip", "reinforce_plus_plus_baseline": "ppo_clip", "ppo": "ppo_clip", "sapo": "sapo", "on_policy_distillation": "ppo_clip"}}
