package foreign

import (
	"fmt"

	"driftlab/trainer/method"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// prime is prime-rl: its loss, which weighs by the ratio to the rollout engine itself.
var prime = framework{
	name:     "prime-rl",
	sections: []section{{"loss", []string{"type", "dppo_mask_low", "dppo_mask_high", "adv_tau", "kl_tau", "teacher_tau", "ipo_threshold", "import_path", "kwargs"}}},
	own:      []string{"dppo_mask"},
	table:    primeTable,
	read:     readPrime, write: writePrime,
}

// primeTable: PrimeIntellect-ai/prime-rl packages/prime-rl-configs/src/prime_rl/configs/{rl,orchestrator,trainer}.py.
var primeTable = parseTable(`
orchestrator.group_size orchestrator.rollouts_per_example group_size rollouts_per_example = rollout.group
orchestrator.train.sampling.temperature orchestrator.sampling.temperature sampling.temperature train.sampling.temperature = rollout.temperature
orchestrator.sampling.top_p sampling.top_p = rollout.top_p
orchestrator.max_off_policy_steps max_off_policy_steps orchestrator.max_async_level max_async_level trainer.max_async_level > schedule
trainer.enable_router_replay enable_router_replay > routing
orchestrator.train.sampling.max_completion_tokens train.sampling.max_completion_tokens orchestrator.sampling.max_tokens sampling.max_tokens seq_len orchestrator.seq_len trainer.model.seq_len : length
trainer.optim.* trainer.scheduler.* optim.* scheduler.* : optimizer
orchestrator.batch_size orchestrator.token_batch_size batch_size : batch
orchestrator.train.filter_zero_advantages orchestrator.buffer.* orchestrator.train.source.* train.source.* train.filter_zero_advantages orchestrator.filters.* : filter
orchestrator.algo.* orchestrator.advantage.* advantage.* orchestrator.sampling.* orchestrator.train.sampling.* train.sampling.* sampling.* : feature
orchestrator.env.* orchestrator.environment.* env.* environment.* : reward
orchestrator.eval.* eval.* : eval
model.* renderer.* trainer.model.* orchestrator.model.* tokenizer.* trainer.tokenizer.* orchestrator.tokenizer.* : model
orchestrator.teacher* orchestrator.student* teacher* : teacher
inference.* deployment.* slurm.* weight_broadcast.* trainer.weight_broadcast.* rollout_transport.* concurrency.* orchestrator.concurrency.* orchestrator.* trainer.* : place
log.* ckpt.* wandb.* monitors.* output_dir run.* env_vars.* resume.* orchestrator.log.* orchestrator.ckpt.* orchestrator.monitors.* trainer.log.* trainer.ckpt.* trainer.monitors.* inference_gpu_ids* trainer_gpu_ids* clean bench : log
max_steps seed trainer.max_steps orchestrator.max_steps : run
`)

// primeRest reads what is not the loss.
func primeRest(v *values, c *Config) {
	steps, level := v.first("orchestrator.max_off_policy_steps", "max_off_policy_steps"), v.first("orchestrator.max_async_level", "trainer.max_async_level", "max_async_level")
	switch {
	case v.has(steps):
		c.take("schedule", fmt.Sprintf("{name: prime_rl, max_off_policy: %v}", v.number(steps, 8)), steps)
		v.leave(level, "max_off_policy_steps bounds the age")
	case v.has(level):
		c.take("schedule", fmt.Sprintf("{name: lag, k: %v}", v.number(level, 1)), level)
	}
	if v.truth("trainer.enable_router_replay", false) || v.truth("enable_router_replay", false) {
		c.Routing = "{replay: r3}"
	}
}

func readPrime(v *values, c *Config) {
	c.Pipeline = &correction.Pipeline{Names: "verl"}
	primeRest(v, c)
	if kind := v.text("type", "default"); kind != "default" {
		c.note("loss type %s: what it computes cannot be known", kind)
		return
	}
	c.Loss = fmt.Sprintf("{name: prime_dppo, delta_low: %v, delta_high: %v, adv_tau: %v, kl_tau: %v, log_clamp: 0}",
		v.number("dppo_mask_low", 0.2), v.number("dppo_mask_high", 0.2), v.number("adv_tau", 1), v.number("kl_tau", 1e-3))
	if v.number("teacher_tau", 0) != 0 {
		c.note("teacher_tau needs a teacher: name one in the recipe, and use the loss prime_geo")
	}
}

func writePrime(r recipe.Recipe) (string, []string) {
	w := &writing{framework: "prime-rl"}
	l, own := r.Loss.Params.(*loss.PrimeDPPO)
	if !own {
		l = method.New[loss.PrimeDPPO]()
	}
	if p := r.Correction.Pipeline(); p.Weights != nil {
		w.notes = append(w.notes, "the weight is the untruncated ratio; a cap needs type = \"custom\"")
	}
	for _, m := range r.Correction.Masks {
		w.cannot(m.Name + ": its own mask bounds the difference of probabilities")
	}
	text := fmt.Sprintf("[trainer.loss]\ntype = \"default\"\ndppo_mask_low = %s\ndppo_mask_high = %s\n", number(l.DeltaLow), number(l.DeltaHigh))
	if l.AdvTau != 1 {
		text += "adv_tau = " + number(l.AdvTau) + "\n"
	}
	return text + "kl_tau = " + number(l.KLTau) + "\n", w.notes
}
