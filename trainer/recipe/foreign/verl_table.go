package foreign

// verlLines are of verl's main_ppo and its asynchronous trainers. Keys, defaults and meaning:
// verl-project/verl verl/trainer/config/_generated_ppo_trainer.yaml,
// verl/trainer/config/_generated_ppo_megatron_trainer.yaml, verl/workers/config/actor.py,
// verl/trainer/ppo/core_algos.py, verl/experimental/fully_async_policy/config/fully_async_ppo_trainer.yaml.
const verlLines = `
algorithm.adv_estimator algorithm.norm_adv_by_std_in_grpo algorithm.gamma algorithm.lam > advantage
algorithm.use_kl_in_reward algorithm.kl_penalty algorithm.kl_ctrl.type algorithm.kl_ctrl.kl_coef algorithm.kl_ctrl.horizon algorithm.kl_ctrl.target_kl > kl
actor_rollout_ref.actor.use_kl_loss actor_rollout_ref.actor.kl_loss_coef actor_rollout_ref.actor.kl_loss_type > kl
actor_rollout_ref.actor.clip_ratio actor_rollout_ref.actor.clip_ratio_low actor_rollout_ref.actor.clip_ratio_high actor_rollout_ref.actor.clip_ratio_c > loss
actor_rollout_ref.actor.policy_loss.loss_mode actor_rollout_ref.actor.loss_mode actor_rollout_ref.actor.loss_agg_mode actor_rollout_ref.actor.loss_scale_factor > loss
actor_rollout_ref.actor.policy_loss.clip_cov_ratio actor_rollout_ref.actor.policy_loss.clip_cov_lb actor_rollout_ref.actor.policy_loss.clip_cov_ub > loss
actor_rollout_ref.actor.policy_loss.kl_cov_ratio actor_rollout_ref.actor.policy_loss.ppo_kl_coef actor_rollout_ref.actor.policy_loss.dro_beta > loss
actor_rollout_ref.actor.tau_pos actor_rollout_ref.actor.tau_neg > loss
actor_rollout_ref.actor.policy_loss.tau_pos actor_rollout_ref.actor.policy_loss.tau_neg > loss
actor_rollout_ref.model.lora_rank actor_rollout_ref.model.lora_alpha actor_rollout_ref.model.lora.rank actor_rollout_ref.model.lora.alpha > lora
actor_rollout_ref.actor.entropy_coeff > terms
actor_rollout_ref.actor.ppo_epochs = learner.epochs
actor_rollout_ref.actor.ppo_mini_batch_size data.train_batch_size > learner.minibatches
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
async_training.staleness_threshold async_training.trigger_parameter_sync_step async_training.partial_rollout async_training.require_batches > schedule
async_flow.staleness async_training.use_rollout_log_probs async_training.compute_prox_log_prob > schedule
skip.* async_resources.* sandbox_fusion.* teacher_models.* : place
async_training.* : place
async_flow.* : place
rollout.total_rollout_steps rollout.test_freq rollout.nnodes rollout.n_gpus_per_node : run
rollout.* : place
trainer.use_v1 trainer.v1.trainer_mode trainer.v1.colocate_async.num_warmup_batches trainer.v1.separate_async.num_warmup_batches trainer.v1.separate_async.parameter_sync_step trainer.v1.sampler.max_off_policy_threshold trainer.v1.sampler.max_off_policy_strategy > schedule
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
`

var verlTable = parseTable(verlLines)
