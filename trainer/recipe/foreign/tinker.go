package foreign

import (
	"fmt"

	"driftlab/trainer/method/correction"
)

// tinker is tinker-cookbook: rl.train.Config, and the options of its recipes, which have the
// same names. Its ratio is to the log-probs of sampling.
var tinker = framework{name: "tinker-cookbook", program: "tinker_cookbook", table: tinkerTable, read: readTinker,
	unset: `
kl={name: none}
rollout.temperature=1
learner.minibatches=1`,
	removed: `
max_steps_off_policy: removed from tinker-cookbook in autumn 2026; sampling_steps_ahead is in its place`}

// tinkerTable: thinking-machines-lab/tinker-cookbook tinker_cookbook/rl/train.py, tinker_cookbook/recipes/math_rl/train.py,
// tinker_cookbook/rl/data_processing.py.
var tinkerTable = parseTable(`
loss_fn loss_fn_config.clip_low_threshold loss_fn_config.clip_high_threshold loss_fn_config.beta > loss
kl_penalty_coef > kl
group_size dataset_builder.group_size = rollout.group
temperature = rollout.temperature
num_substeps = learner.minibatches
async_config.max_steps_off_policy max_steps_off_policy async_config.sampling_steps_ahead sampling_steps_ahead > schedule
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
`)

func readTinker(v *values, c *Config) {
	p := &correction.Pipeline{Mode: correction.Bypass}
	c.Pipeline = p
	low, high := v.number("loss_fn_config.clip_low_threshold", 0.8), v.number("loss_fn_config.clip_high_threshold", 1.2)
	switch kind := v.text("loss_fn", "stable_reinforce"); kind {
	case "stable_reinforce":
		v.leave("loss_fn", "the formula of stable_reinforce is not published")
		c.Unknown = "loss_fn stable_reinforce, the default: its formula is not published, and so is not known here"
		c.note("%s", c.Unknown)
	case "importance_sampling":
		c.Loss = "{name: importance_sampling, level: token, anchor: roll}"
	case "ppo":
		c.Loss = fmt.Sprintf("{name: ppo_clip, eps_low: %.6g, eps_high: %.6g, dual_clip: 0, aggregation: token-sum}", 1-low, high-1)
	case "cispo":
		c.Loss = fmt.Sprintf("{name: cispo, eps_low: %.6g, eps_high: %.6g, anchor: roll, aggregation: token-sum}", 1-low, high-1)
	case "dro":
		c.Loss = fmt.Sprintf("{name: dro, beta: %v, aggregation: token-sum}", v.number("loss_fn_config.beta", 1))
	default:
		v.leave("loss_fn", fmt.Sprintf("%q has no counterpart here", kind))
	}
	if v.has("kl_penalty_coef") {
		c.takeKL("k1", v.number("kl_penalty_coef", 0), "reward", "kl_penalty_coef")
	}
	c.takeAdvantage("grpo", []string{"std: false"}) // the reward minus the group's mean
	if ahead := v.first("async_config.sampling_steps_ahead", "sampling_steps_ahead"); v.has(ahead) {
		c.take("schedule", fmt.Sprintf("{name: nemo_ready_first, max_staleness_versions: %v}", v.number(ahead, 0)), ahead)
		c.note("sampling_steps_ahead: the oldest groups are trained first and none is dropped for its age, as in the recipe's schedule nemo_ready_first")
	} else if steps := v.first("async_config.max_steps_off_policy", "max_steps_off_policy"); v.has(steps) {
		c.take("schedule", fmt.Sprintf("{name: trl, max_staleness: %v}", v.number(steps, 1)), steps)
		c.note("max_steps_off_policy: groups of older weights are discarded, which is the rule of the recipe's schedule trl")
	}
}
