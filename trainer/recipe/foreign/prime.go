package foreign

import (
	"fmt"
	"math"
	"strings"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// prime is prime-rl: its loss, which weighs by the ratio to the rollout engine itself.
var prime = framework{
	name:     "prime-rl",
	sections: []section{{"loss", []string{"type", "dppo_mask_low", "dppo_mask_high", "adv_tau", "kl_tau", "teacher_tau", "ipo_threshold", "eps", "ratio_low", "ratio_high", "score_centering", "max_importance_ratio", "import_path", "kwargs"}}},
	own:      []string{"dppo_mask"},
	table:    primeTable,
	read:     readPrime, write: writePrime,
	unset: `
kl={name: none}
rollout.group=1
rollout.temperature=1
learner.numerics.router=fp32`,
	removed: `
ipo_threshold: removed from prime-rl on 27 August 2026; eps is in its place`,
}

// primeTable: PrimeIntellect-ai/prime-rl packages/prime-rl-configs/src/prime_rl/configs/{rl,orchestrator,trainer}.py.
var primeTable = parseTable(`
orchestrator.train.group_size orchestrator.group_size orchestrator.rollouts_per_example group_size rollouts_per_example = rollout.group
orchestrator.train.sampling.temperature orchestrator.sampling.temperature sampling.temperature train.sampling.temperature = rollout.temperature
orchestrator.train.sampling.top_p orchestrator.sampling.top_p train.sampling.top_p sampling.top_p = rollout.top_p
orchestrator.train.sampling.top_k orchestrator.sampling.top_k train.sampling.top_k sampling.top_k = rollout.top_k
orchestrator.train.algo.type orchestrator.algo.type train.algo.type orchestrator.train.algo.decay orchestrator.algo.decay train.algo.decay > advantage
trainer.model.quantization.type model.quantization.type ~ learner.numerics
trainer.model.moe_router_dtype ~ learner.numerics.router
inference.model.dtype inference.vllm.dtype ~ rollout.numerics
inference.vllm.kv_cache_dtype inference.model.kv_cache_dtype inference.kv_cache_dtype ~ rollout.numerics.kv_cache
inference.enable_fp32_lm_head inference.model.enable_fp32_lm_head ~ rollout.numerics.head
weight_broadcast.quantize_in_weight_transfer trainer.weight_broadcast.quantize_in_weight_transfer > rollout.numerics
trainer.loss.* loss.* orchestrator.train.algo.* train.algo.* : feature
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
	algo := v.first("orchestrator.train.algo.type", "orchestrator.algo.type", "train.algo.type")
	switch name, ok := v.translated(algo, "grpo", primeAdvantages); {
	case !ok:
	case name == "grpo":
		c.takeAdvantage(name, []string{"std: false"}, algo)
	case name == "rae":
		c.takeAdvantage(name, []string{fmt.Sprintf("decay: %v", v.number(strings.Replace(algo, ".type", ".decay", 1), 0.95))}, algo)
	default:
		c.takeAdvantage(name, nil, algo)
	}
	for _, at := range []string{"orchestrator.train.sampling.", "orchestrator.sampling.", "train.sampling.", "sampling."} {
		if p, k := v.number(at+"top_p", 1), v.number(at+"top_k", -1); p < 1 || k > 0 {
			if k <= 0 {
				c.take("rollout.top_k", "512", at+"top_p")
			}
			c.take("support", "{replay: true}", at+"top_p", at+"top_k")
			break
		}
	}
	if key := v.first("weight_broadcast.quantize_in_weight_transfer", "trainer.weight_broadcast.quantize_in_weight_transfer"); v.truth(key, false) {
		c.take("rollout.numerics", "fp8-w8a8", key)
	}
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

// primeLosses and primeAdvantages are prime-rl's names.
var (
	primeLosses     = vocabulary{"loss", map[string]string{"default": "prime_dppo", "ipo": "ipo", "icepop": "rollout_is", "ppo": "ppo_clip", "cispo": "cispo"}}
	primeAdvantages = vocabulary{"advantage", map[string]string{"grpo": "grpo", "max_rl": "max_rl", "rae": "rae"}}
)

func readPrime(v *values, c *Config) {
	c.Pipeline = &correction.Pipeline{Names: "verl"}
	primeRest(v, c)
	otherwise := "ipo"
	if v.any("dppo_mask_low", "dppo_mask_high") {
		otherwise = "default"
	}
	kind := v.text("type", otherwise)
	name, ok := v.translated("type", otherwise, primeLosses)
	if !ok {
		c.Unknown = "what the loss of the type " + kind + " computes cannot be known"
		c.note("%s", c.Unknown)
		return
	}
	l := &lossFields{name: name}
	switch name {
	case "prime_dppo":
		l.set("delta_low", v.number("dppo_mask_low", 0.2))
		l.set("delta_high", v.number("dppo_mask_high", 0.2))
		l.set("adv_tau", v.number("adv_tau", 1))
		l.set("kl_tau", v.number("kl_tau", 1e-3))
		l.set("log_clamp", 0)
		c.note("`type` = default, `dppo_mask_low` and `dppo_mask_high` were removed from prime-rl on 27 August 2026; type = ipo with eps is in their place; read as the versions that had them")
	case "ipo":
		l.set("delta", v.number("eps", v.number("ipo_threshold", 0.3)))
		l.set("adv_tau", v.number("adv_tau", 1))
		l.set("kl_tau", v.number("kl_tau", 0))
		l.set("log_clamp", 0)
	case "rollout_is":
		l.set("eps_low", ratioDistance(v.number("ratio_low", 0.2)))
		l.set("eps_high", ratioDistance(v.number("ratio_high", 5)))
	case "ppo_clip":
		c.Pipeline.Mode = correction.Bypass
		l.set("eps_low", ratioDistance(v.number("ratio_low", 0.8)))
		l.set("eps_high", ratioDistance(v.number("ratio_high", 1.2)))
		l.set("dual_clip", 0)
	case "cispo":
		l.set("eps_low", ratioDistance(v.number("ratio_low", 0)))
		l.set("eps_high", ratioDistance(v.number("ratio_high", 5)))
		l.set("anchor", "roll")
	}
	c.Loss = l.String()
	if v.truth("score_centering", false) {
		v.leave("score_centering", "the centred score of the sampler's top-k has no counterpart in a recipe")
	}
	if v.number("max_importance_ratio", 0) > 0 {
		v.leave("max_importance_ratio", "a cap of the ratio that keeps the gradient has no counterpart in a recipe")
	}
	if v.number("teacher_tau", 0) != 0 {
		c.note("teacher_tau needs a teacher: name one in the recipe, and use the loss prime_geo")
	}
}

// ratioDistance is how far a bound of the ratio is from 1, without the error of the subtraction.
func ratioDistance(bound float64) float64 { return math.Round(math.Abs(bound-1)*1e12) / 1e12 }

func writePrime(r recipe.Recipe) (string, []string) {
	w := &writing{framework: "prime-rl"}
	if p := r.Correction.Pipeline(); p.Weights != nil {
		w.notes = append(w.notes, "the weight is the untruncated ratio; a cap needs type = \"custom\"")
	}
	for _, m := range r.Correction.Masks {
		w.cannot(m.Name + ": its own mask bounds the difference of probabilities")
	}
	line := func(kind string, bounds ...string) string {
		return "[trainer.loss]\ntype = \"" + kind + "\"\n" + strings.Join(bounds, "\n") + "\n"
	}
	switch l := r.Loss.Params.(type) {
	case *loss.RolloutIS:
		return line("icepop", "ratio_low = "+number(1-l.EpsLow), "ratio_high = "+number(1+l.EpsHigh)), w.notes
	case *loss.CISPO:
		return line("cispo", "ratio_low = "+number(max(1-l.EpsLow, 0)), "ratio_high = "+number(1+l.EpsHigh)), w.notes
	case *loss.IPO:
		w.unless(l.KLTau == 0, "term of the squared log-ratio in its loss ipo")
		fields := []string{"eps = " + number(l.Delta)}
		if l.AdvTau != 1 {
			fields = append(fields, "adv_tau = "+number(l.AdvTau))
		}
		return line("ipo", fields...), w.notes
	case *loss.PrimeDPPO:
		w.notes = append(w.notes, "prime-rl removed dppo_mask_low and dppo_mask_high on 27 August 2026: its loss ipo masks both signs of the advantage alike")
		return line("ipo", "eps = "+number(max(l.DeltaLow, l.DeltaHigh))), w.notes
	}
	return line("ipo", "eps = 0.3"), w.notes
}
