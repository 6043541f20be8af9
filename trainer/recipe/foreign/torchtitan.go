package foreign

import (
	"fmt"
	"math"

	"driftlab/trainer/method/correction"
)

// torchtitan is the reinforcement learning of torchtitan: its Controller.Config, in Python or
// as flags. Its ratio is to the generator's log-probs.
var torchtitan = framework{name: "torchtitan", table: torchtitanTable, read: readTorchtitan}

// torchtitanTable: pytorch/torchtitan torchtitan/experiments/rl/controller.py, torchtitan/experiments/rl/losses/dapo.py and grpo.py.
var torchtitanTable = parseTable(`
trainer.loss.loss_fn.ratio_clip_low trainer.loss.loss_fn.ratio_clip_high trainer.loss.loss_fn.clip_eps trainer.loss.ratio_clip_low trainer.loss.ratio_clip_high trainer.loss.clip_eps > loss
async_loop.num_samples_per_prompt = rollout.group
generator.sampling.temperature = rollout.temperature
generator.sampling.top_p = rollout.top_p
async_loop.target_offpolicy_steps async_loop.window_fraction > schedule
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
`)

func readTorchtitan(v *values, c *Config) {
	c.Pipeline = &correction.Pipeline{Mode: correction.Bypass}
	const inner, outer = "trainer.loss.loss_fn.", "trainer.loss."
	eps, low, high := v.first(inner+"clip_eps", outer+"clip_eps"), v.first(inner+"ratio_clip_low", outer+"ratio_clip_low"), v.first(inner+"ratio_clip_high", outer+"ratio_clip_high")
	if v.any(eps, low, high) {
		both := v.number(eps, 0.2)
		c.Loss = fmt.Sprintf("{name: ppo_clip, eps_low: %v, eps_high: %v, dual_clip: 0, aggregation: token-mean}", v.number(low, both), v.number(high, both))
	}
	if key := "async_loop.target_offpolicy_steps"; v.has(key) {
		if k := v.number(key, 3); k > 0 {
			window := v.number("async_loop.window_fraction", 0.3)
			if v.nulled("async_loop.window_fraction") {
				window = 0
			}
			c.take("schedule", fmt.Sprintf("{name: windowed_fifo, target_offpolicy_steps: %v, window_percent: %v}", k, math.Round(100*window)), key, "async_loop.window_fraction")
		} else {
			c.take("schedule", "{name: sync}", key)
		}
	}
}
