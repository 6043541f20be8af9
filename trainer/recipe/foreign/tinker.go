package foreign

import "driftlab/trainer/method/correction"

// tinker is tinker-cookbook: rl.train.Config, and the options of its recipes, which have the
// same names. Its ratio is to the log-probs of sampling.
var tinker = framework{name: "tinker-cookbook", program: "tinker_cookbook", table: tinkerTable, syntax: "overrides", pipeline: correction.Pipeline{Mode: correction.Bypass},
	unset: `
kl={name: none}
rollout.temperature=1
learner.minibatches=1`,
	removed: `
max_steps_off_policy: removed from tinker-cookbook in autumn 2026; sampling_steps_ahead is in its place`}

// tinkerTable: thinking-machines-lab/tinker-cookbook tinker_cookbook/rl/train.py, tinker_cookbook/recipes/math_rl/train.py,
// tinker_cookbook/rl/data_processing.py.
var tinkerTable = parseTable(`
group_size dataset_builder.group_size = rollout.group
temperature = rollout.temperature
num_substeps = learner.minibatches
groups_per_batch async_config.groups_per_batch dataset_builder.batch_size stream_minibatch_config.groups_per_batch : batch
stream_minibatch_config.* : place
max_tokens : length
learning_rate : optimizer
lora_rank model_name renderer_name load_checkpoint_path : model
kl_discount_factor kl_reference_config.* compute_post_kl : feature
remove_constant_reward_groups rollout_error_tolerance : filter
env dataset_builder.* termination* : reward
log_path wandb_* save_every rolling_* ttl_seconds num_groups_to_log rollout_json_export enable_trace span_chart_every behavior_if_log_dir_exists base_url recipe_name : log
eval_every evaluator_builders* : eval
max_steps seed : run

LOW := eps_low=below1@loss_fn_config.clip_low_threshold?0.8
HIGH := eps_high=above1@loss_fn_config.clip_high_threshold?1.2
[loss!] loss_fn?stable_reinforce
stable_reinforce ? loss_fn stable_reinforce, the default: its formula is not published, and so is not known here
importance_sampling -> importance_sampling level:token anchor:roll
ppo -> ppo_clip $LOW $HIGH dual_clip:0 aggregation:token-sum
cispo -> cispo $LOW $HIGH anchor:roll aggregation:token-sum
dro -> dro beta=loss_fn_config.beta?1 aggregation:token-sum

[weights]
loss_fn=cispo loss_fn_config.clip_low_threshold=0 ~> token_tis floor:0 cap=loss_fn_config.clip_high_threshold

[kl]
?kl_penalty_coef -> k1 coef=kl_penalty_coef?0 in:reward

[advantage!]
* -> grpo std:false

[schedule]
?async_config.sampling_steps_ahead|sampling_steps_ahead -> nemo_ready_first max_staleness_versions=async_config.sampling_steps_ahead|sampling_steps_ahead?0 ; note sampling_steps_ahead: the oldest groups are trained first and none is dropped for its age, as in the recipe's schedule nemo_ready_first
?async_config.max_steps_off_policy|max_steps_off_policy -> trl max_staleness=async_config.max_steps_off_policy|max_steps_off_policy?1 ; note max_steps_off_policy: groups of older weights are discarded, which is the rule of the recipe's schedule trl

`)
