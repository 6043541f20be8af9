package foreign

import (
	"regexp"
	"slices"
	"strings"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign/source"
)

// slime: flags, and the file of its custom weights, mis.yaml.
var slime = framework{
	name: "slime", program: "slime miles",
	loose: []string{"use_tis", "tis_clip", "tis_clip_low", "custom_tis_function_path", "use_opsm", "opsm_delta", "use_rollout_logprobs",
		"use_routing_replay", "use_rollout_routing_replay", "get_mismatch_metrics",
		"tis_level", "tis_mode", "tis_lower_bound", "tis_upper_bound", "tis_batch_normalize",
		"use_rs", "rs_level", "rs_lower_bound", "rs_upper_bound", "rs_veto_threshold"},
	own:    []string{"tis_", "rs_", "opsm_", "use_tis", "use_opsm"},
	table:  slimeTable,
	lora:   [][2]string{{"lora_rank", "lora_alpha"}},
	syntax: "dashes", inFile: misKeys, prepare: prepareSlime, read: readSlime, write: writeSlime, batch: slimeBatch,
	unset: slimeUnset,
}

// slimeUnset are the defaults of slime's arguments, which vime and miles have, too.
const slimeUnset = `
loss={name: ppo_clip, eps_low: 0.2, eps_high: 0.2, dual_clip: 0}
kl={name: none}
rollout.group=1
rollout.temperature=1
rollout.top_p=1`

// vime is slime with vLLM's engine: its own flags, and slime's.
var vime = framework{name: "vime", mark: "vime", program: "vime", loose: slime.loose, own: slime.own, table: vimeTable, syntax: "dashes", inFile: misKeys,
	prepare: prepareSlime, read: readSlime, write: writeSlime, batch: slimeBatch, unset: slimeUnset}

// misKeys are the keys of mis.yaml.
var misKeys = regexp.MustCompile("^(tis_(level|mode|upper_bound|lower_bound|batch_normalize)|use_rs|rs_.*)$")

// slimeBatch is how slime states the updates of a batch.
var slimeBatch = batches{[]string{"rollout_batch_size"}, []string{"n_samples_per_prompt"}, []string{"global_batch_size"}, [3]float64{0, 1, 0}, "num_steps_per_rollout"}

// prepareSlime gives mis.yaml the values that it leaves to others: each lower bound is the inverse of the upper one.
func prepareSlime(v *values, c *Config) {
	const path = "custom_tis_function_path"
	if !v.has(path) && v.any("tis_level", "tis_mode", "tis_upper_bound", "tis_batch_normalize", "use_rs") {
		v.by[path] = source.Setting{Text: "mis"}
	}
	if !strings.Contains(v.by[path].Text, "mis") {
		return
	}
	if !v.has("tis_upper_bound") && v.truth("use_tis", false) {
		c.note("mis.yaml was not given: its example's values stand for it")
	}
	given := func(key string, otherwise float64) float64 {
		x := v.number(key, otherwise)
		if !v.has(key) {
			v.by[key] = source.Setting{Text: decimal(x)}
		}
		return x
	}
	_, low := v.by["tis_lower_bound"], v.has("tis_lower_bound")
	high := given("tis_upper_bound", 2)
	given("tis_lower_bound", 1/high)
	rejected := given("rs_upper_bound", high)
	if !low {
		given("rs_lower_bound", 1/rejected)
	}
	given("rs_lower_bound", v.number("tis_lower_bound", 1/rejected))
}

func readSlime(v *values, c *Config) {
	if v.truth("use_rollout_logprobs", false) && c.Pipeline.Weights != nil {
		v.fault(v.by["use_rollout_logprobs"], "slime refuses it together with use_tis: leave one")
	}
	if v.has("loss_type") && v.text("loss_type", "") != "policy_loss" {
		v.leave("loss_type", "a loss of the user's own cannot be known")
	}
	v.text("get_mismatch_metrics", "")
}

// writeSlime leaves masks of the ratio to mis.yaml, which has its own keys of the weights.
func writeSlime(w *writing, r recipe.Recipe) {
	for _, m := range w.pipeline.Masks {
		switch m.(type) {
		case *correction.TokenMask, *correction.SequenceMask, *correction.Geometric, *correction.Veto:
			w.skip = func(r *row) bool {
				return slices.ContainsFunc(r.conds, func(c cond) bool { return c.not && c.keys[0] == "custom_tis_function_path" })
			}
		}
	}
	w.correction()
	if slices.ContainsFunc(w.pairs, func(p pair) bool { return p.key == "tis_level" }) {
		w.set("custom_config_path", "mis.yaml")
	}
}

// slimeTable is of slime and of miles, which grew out of it. THUDM/slime slime/utils/arguments.py,
// slime/backends/megatron_utils/loss.py; radixark/miles miles/utils/arguments.py. The flags of the
// model and of Megatron are those of NVIDIA/Megatron-LM megatron/training/arguments.py.
const slimeLines = `
sglang_kv_cache_dtype ~ rollout.numerics.kv_cache
sglang_dtype ~ rollout.numerics
use_score_centering score_centering_top_k score_centering_head_size : feature
lora_rank lora_alpha > lora
n_samples_per_prompt = rollout.group
rollout_temperature = rollout.temperature
rollout_top_p = rollout.top_p
rollout_top_k = rollout.top_k
rollout_batch_size global_batch_size num_steps_per_rollout > learner.minibatches
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

[mode]
use_rollout_logprobs=true -> bypass

ICEPOP := custom_tis_function_path=slime.backends.megatron_utils.loss.icepop_function*,icepop_function*
MIS := custom_tis_function_path=examples.train_infer_mismatch_helper.mis.compute_mis_weights_with_cp*,mis*
CAP := tis_clip?2
FLOOR := tis_clip_low?0
LEVEL := tis_level?token
MODE := tis_mode?truncate
HIGH := tis_upper_bound?2
LOW := tis_lower_bound?0
NORM := batch_normalize=tis_batch_normalize?false
[weights]
?custom_tis_function_path|tis_clip|tis_level|tis_mode|tis_upper_bound use_tis=false ! --use-tis is not given
use_tis=true !custom_tis_function_path -> token_tis cap=$CAP floor=$FLOOR ; clamp .inf
use_tis=true $ICEPOP -> icepop low=$FLOOR high=$CAP ; clamp .inf
use_tis=true $MIS $LEVEL=token $MODE=truncate -> token_tis cap=$HIGH $NORM
use_tis=true $MIS $LEVEL=token $MODE=clip -> token_tis cap=$HIGH floor=$LOW $NORM
use_tis=true $MIS $LEVEL=token $MODE=mask -> token_tis cap:.inf $NORM ; mask token_mask low=$LOW high=$HIGH
use_tis=true $MIS $LEVEL=sequence $MODE=truncate -> sequence_tis cap=$HIGH $NORM
use_tis=true $MIS $LEVEL=sequence $MODE=clip -> sequence_tis cap=$HIGH floor=$LOW $NORM
use_tis=true $MIS $LEVEL=sequence $MODE=mask -> sequence_tis cap:.inf $NORM ; mask sequence_mask low=$LOW high=$HIGH
use_tis=true $MIS $LEVEL=geometric $MODE=truncate -> geometric_tis cap=$HIGH $NORM
use_tis=true $MIS $LEVEL=geometric $MODE=clip -> geometric_tis cap=$HIGH floor=$LOW $NORM
use_tis=true $MIS $LEVEL=geometric $MODE=mask -> geometric_tis cap:.inf $NORM ; mask geometric low=$LOW high=$HIGH
use_tis=true ?custom_tis_function_path ? what the function of --custom-tis-function-path computes cannot be known

[mask]
use_tis=true $MIS use_rs=true rs_level?token=token -> token_mask low=rs_lower_bound?0 high=rs_upper_bound?2
use_tis=true $MIS use_rs=true rs_level?token=sequence -> sequence_mask low=rs_lower_bound?0 high=rs_upper_bound?2
use_tis=true $MIS use_rs=true rs_level?token=geometric -> geometric low=rs_lower_bound?0 high=rs_upper_bound?2

[mask]
use_tis=true $MIS use_rs=true ?rs_veto_threshold -> veto threshold=rs_veto_threshold?1

[mask]
use_opsm=true -> opsm delta=opsm_delta?1e-4 signs:negative

EPS := eps_low=eps_clip?0.2 eps_high=eps_clip_high|eps_clip?0.2
[loss] advantage_estimator?grpo
pg_loss_type=reinforce -> reinforce
!pg_loss_type use_score_centering=true program=vime* -> reinforce
gspo -> gspo $EPS
cispo -> cispo $EPS
sapo -> sapo
grpo,ppo,reinforce_plus_plus,reinforce_plus_plus_baseline,on_policy_distillation -> ppo_clip $EPS dual_clip=eps_clip_c?0

[aggregation]
calculate_per_token_loss=true -> token-mean@pre

[advantage] advantage_estimator?grpo
grpo,gspo,cispo,sapo -> grpo std=not@disable_grpo_std_normalization?false
reinforce_plus_plus -> reinforce_plus_plus
reinforce_plus_plus_baseline -> reinforce_plus_plus_baseline
ppo -> gae gamma=gamma?1 lam=lambd?1
on_policy_distillation : the teacher's term is not read

[kl]
use_kl_loss=true use_unbiased_kl=true kl_loss_type?k1=k3,low_var_kl -> k3_unbiased coef=kl_loss_coef?0 in:loss
use_kl_loss=true -> k1 name=kl@kl_loss_type?k1 coef=kl_loss_coef?0 in:loss
kl_coef?0!=0 -> k1 name=kl@kl_loss_type?k1 coef=kl_coef?0 in:reward
?kl_loss_coef|kl_coef -> none coef:0

[terms]
?entropy_coef -> entropy coef=entropy_coef?0

[schedule]
fully_async=true -> miles max_weight_staleness=max_weight_staleness?0 group={sample>false,group>true}@rollout_submission_granularity?sample retry={drop>false,retry>true}@async_unused_samples_handler?drop in_place={retract>false,in_place>true}@pause_generation_mode?retract
rollout_function_path=fully_async* -> slime_fully_async
program=train_async.py* -> one_step_off interval=update_weights_interval?1 ; anchor old
?rollout_function_path : a rollout of the user's own cannot be known

[routing]
use_rollout_routing_replay=true -> r3
use_routing_replay=true -> r2

`

var slimeTable = parseTable(slimeLines)

// vimeTable has vLLM's flags in the place of SGLang's.
var vimeTable = parseTable(slimeLines + `
vllm_kv_cache_dtype ~ rollout.numerics.kv_cache
vllm_dtype ~ rollout.numerics
vllm_* vime_* : place
`)
