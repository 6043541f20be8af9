package foreign

import (
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe/foreign/source"
)

// torchtitan is the reinforcement learning of torchtitan: its Controller.Config, in Python or
// as flags. Its ratio is to the generator's log-probs.
var torchtitan = framework{name: "torchtitan", table: torchtitanTable, pipeline: correction.Pipeline{Mode: correction.Bypass},
	prepare: func(v *values, c *Config) {
		if key := "async_loop.window_fraction"; v.nulled(key) {
			v.by[key] = source.Setting{Text: "0"}
		}
	}}

// torchtitanTable: pytorch/torchtitan torchtitan/experiments/rl/controller.py, torchtitan/experiments/rl/losses/dapo.py and grpo.py.
var torchtitanTable = parseTable(`
async_loop.num_samples_per_prompt = rollout.group
generator.sampling.temperature = rollout.temperature
generator.sampling.top_p = rollout.top_p
async_loop.num_prompts_per_train_step async_loop.batcher.* : batch
async_loop.num_training_steps async_loop.* : run
async_loop.validation.* : eval
generator.sampling.max_tokens : length
trainer.optimizer.* trainer.lr_scheduler.* : optimizer
model_spec.* hf_assets_path renderer.* trainer.training.* : model
rollouter.* : reward
trainer.loss.* generator.sampling.* : feature
metrics.* dump_folder trainer.checkpoint.* generator.checkpoint.* profiler.* trainer.debug.* : log
compile.* trainer.* generator.* generator_router.* num_generators batch_invariant* : place

BOTH := trainer.loss.loss_fn.clip_eps|trainer.loss.clip_eps?0.2
[loss]
* -> ppo_clip eps_low=trainer.loss.loss_fn.ratio_clip_low|trainer.loss.ratio_clip_low|$BOTH eps_high=trainer.loss.loss_fn.ratio_clip_high|trainer.loss.ratio_clip_high|$BOTH dual_clip:0 aggregation:token-mean

[schedule]
async_loop.target_offpolicy_steps=0 -> sync
?async_loop.target_offpolicy_steps -> windowed_fifo target_offpolicy_steps=async_loop.target_offpolicy_steps window_percent=percent@async_loop.window_fraction?0.3

`)
