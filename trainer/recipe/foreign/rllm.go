package foreign

import "strings"

// rllm is rLLM, whose own keys stand for verl's where the backend is verl: rllm-org/rllm
// rllm/trainer/config/rllm/base.yaml, and _SHARED_KEYS of rllm/trainer/verl/utils.py.
var rllm = framework{name: "rllm", root: "rllm", sections: verl.sections[:1:1], loose: verl.loose, table: rllmTable, prepare: prepareRLLM, batch: verlBatch,
	read: func(v *values, c *Config) {
		readVerl(v, c)
		for from, to := range rllmKeys { // reasons, each on its own
			if why := v.left[to]; why != "" {
				v.leave("rllm."+from, why)
			}
		}
	}}

// rllmKeys are rLLM's keys and verl's of the same meaning.
var rllmKeys = map[string]string{
	"algorithm.adv_estimator": "algorithm.adv_estimator", "algorithm.norm_adv_by_std_in_grpo": "algorithm.norm_adv_by_std_in_grpo",
	"algorithm.rollout_correction.bypass_mode": "bypass_mode", "algorithm.rollout_correction.tis_mode": "rollout_is", "algorithm.rollout_correction.tis_cap": "rollout_is_threshold",
	"algorithm.kl_beta": verlActor + "kl_loss_coef", "algorithm.loss_fn": verlActor + "policy_loss.loss_mode", "algorithm.loss_agg_mode": verlActor + "loss_agg_mode",
	"algorithm.eps_clip": verlActor + "clip_ratio", "algorithm.eps_clip_high": verlActor + "clip_ratio_high", "algorithm.router_replay": "router_replay.mode",
	"rollout.n": verlRollout + "n", "rollout.train.temperature": verlRollout + "temperature", "rollout.train.top_p": verlRollout + "top_p", "rollout.train.top_k": verlRollout + "top_k",
	"data.train_batch_size": "data.train_batch_size", "async_training.staleness_threshold": verlAsync + "staleness_threshold",
	"async_training.trigger_parameter_sync_step": verlAsync + "trigger_parameter_sync_step", "async_training.partial_rollout": verlAsync + "partial_rollout",
}

// rllmTable has verl's lines, for the keys of its backend, and its own.
var rllmTable = parseTable(verlLines + `
rllm.algorithm.adv_estimator rllm.algorithm.norm_adv_by_std_in_grpo > advantage
rllm.algorithm.rollout_correction.bypass_mode rllm.algorithm.rollout_correction.tis_mode rllm.algorithm.rollout_correction.tis_cap > correction
rllm.algorithm.kl_beta > kl
rllm.algorithm.loss_fn rllm.algorithm.loss_agg_mode rllm.algorithm.eps_clip rllm.algorithm.eps_clip_high > loss
rllm.algorithm.router_replay > routing
rllm.rollout.n > rollout.group
training.group_size = rollout.group
sampling.train.temperature = rollout.temperature
sampling.train.top_p = rollout.top_p
sampling.train.top_k = rollout.top_k
rllm.rollout.train.temperature > rollout.temperature
rllm.rollout.train.top_p > rollout.top_p
rllm.rollout.train.top_k > rollout.top_k
rllm.data.train_batch_size > learner.minibatches
rllm.async_training.enable rllm.async_training.staleness_threshold rllm.async_training.trigger_parameter_sync_step rllm.async_training.partial_rollout > schedule
rllm.async_training.mini_batch_size : batch
rllm.async_training.* : place
rllm.data.max_prompt_length rllm.data.max_response_length rllm.rollout.train.max_tokens sampling.train.max_tokens : length
rllm.algorithm.lr_schedule rllm.algorithm.warmup* training.learning_rate training.lr : optimizer
rllm.algorithm.* rllm.stepwise_advantage.* rllm.mask_truncated_samples rllm.accumulate_reasoning rllm.disable_thinking rllm.filter_token_mismatch : feature
rllm.compact_filtering.* rllm.rejection_sample.* : filter
rllm.agent.* rllm.env.* rllm.workflow.* : reward
rllm.rollout.val* rllm.rollout.n_val validation.* sampling.val.* : eval
model.* : model
training.* rllm/backend : log
rollout_engine.* : place
rllm.trainer.* rllm.episode_logging.* : log
rllm.data.* : data
rllm.* : place
`)

// prepareRLLM gives verl's keys the values of rLLM's, and reads them as verl's. rLLM keeps
// both in step whichever side a user writes; its own wins where both are written.
func prepareRLLM(v *values, c *Config) {
	on := v.truth("rllm.async_training.enable", true)
	for _, s := range v.all {
		path, own := strings.CutPrefix(s.Path, "rllm.")
		key, shared := rllmKeys[path]
		if !own || !shared || s.Null || v.by[s.Path].Why != "" {
			continue
		}
		if strings.HasPrefix(path, "async_training.") && !on {
			v.text(s.Path, "")
			v.leave(s.Path, "rllm.async_training.enable is false")
			continue
		}
		v.used[s.Path] = true
		v.by[key] = s
	}
	if coef := verlActor + "kl_loss_coef"; v.has("rllm.algorithm.kl_beta") && v.number(coef, 0) != 0 && !v.has(verlActor+"use_kl_loss") {
		s := v.by[coef]
		s.Text = "true"
		v.by[verlActor+"use_kl_loss"] = s
	}
	prepareVerl(v, c)
}
