package foreign

import (
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe/foreign/source"
)

// prime is prime-rl: its loss, which weighs by the ratio to the rollout engine itself.
var prime = framework{
	name:     "prime-rl",
	sections: []section{{"loss", []string{"type", "dppo_mask_low", "dppo_mask_high", "adv_tau", "kl_tau", "teacher_tau", "ipo_threshold", "eps", "ratio_low", "ratio_high", "score_centering", "max_importance_ratio", "import_path", "kwargs"}, "trainer.loss."}},
	own:      []string{"dppo_mask"},
	table:    primeTable,
	syntax:   "toml",
	pipeline: correction.Pipeline{Names: "verl"},
	prepare: func(v *values, c *Config) {
		if v.any("dppo_mask_low", "dppo_mask_high") && !v.has("type") {
			v.by["type"] = source.Setting{Text: "default"}
		}
	},
	read: func(v *values, c *Config) {
		if v.truth("score_centering", false) {
			v.leave("score_centering", noCentering)
		}
		if v.number("max_importance_ratio", 0) > 0 {
			v.leave("max_importance_ratio", "a cap of the ratio that keeps the gradient has no counterpart in a recipe")
		}
		if v.number("teacher_tau", 0) != 0 {
			c.note("teacher_tau needs a teacher: name one in the recipe, and use the loss prime_geo")
		}
	},
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
trainer.model.quantization.type model.quantization.type ~ learner.numerics
trainer.model.moe_router_dtype ~ learner.numerics.router
inference.model.dtype inference.vllm.dtype ~ rollout.numerics
inference.vllm.kv_cache_dtype inference.model.kv_cache_dtype inference.kv_cache_dtype ~ rollout.numerics.kv_cache
inference.enable_fp32_lm_head inference.model.enable_fp32_lm_head ~ rollout.numerics.head
trainer.loss.* loss.* orchestrator.train.algo.* train.algo.* : feature
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

[weights]
type=cispo ratio_low=0 ~> token_tis floor:0 cap=ratio_high
type=icepop ~> icepop low=ratio_low high=ratio_high

[mode]
type=ppo -> bypass

[loss!] type?ipo
custom ? what the loss of the type custom computes cannot be known
default -> prime_dppo delta_low=dppo_mask_low?0.2 delta_high=dppo_mask_high?0.2 adv_tau=adv_tau?1 kl_tau=kl_tau?0.001 log_clamp:0 ; note 'type' = default, 'dppo_mask_low' and 'dppo_mask_high' were removed from prime-rl on 27 August 2026; type = ipo with eps is in their place; read as the versions that had them
ipo -> ipo delta=eps|ipo_threshold?0.3 adv_tau=adv_tau?1 kl_tau=kl_tau?0 log_clamp:0
icepop -> rollout_is eps_low=below1@ratio_low?0.2 eps_high=above1@ratio_high?5
ppo -> ppo_clip eps_low=below1@ratio_low?0.8 eps_high=above1@ratio_high?1.2 dual_clip:0
cispo -> cispo eps_low=below1@ratio_low?0 eps_high=above1@ratio_high?5 anchor:roll

TYPE := orchestrator.train.algo.type|orchestrator.algo.type|train.algo.type
[advantage!] $TYPE?grpo
grpo -> grpo std:false
max_rl -> max_rl
rae -> rae decay=orchestrator.train.algo.decay|orchestrator.algo.decay|train.algo.decay?0.95

P := orchestrator.train.sampling.top_p|orchestrator.sampling.top_p|train.sampling.top_p|sampling.top_p
K := orchestrator.train.sampling.top_k|orchestrator.sampling.top_k|train.sampling.top_k|sampling.top_k
[rollout.top_k]
$P!=1 $K?-1=-1,0 -> 512

[support]
$P!=1 -> replay
$K!=-1,0 -> replay

[rollout.numerics]
weight_broadcast.quantize_in_weight_transfer|trainer.weight_broadcast.quantize_in_weight_transfer=true -> fp8-w8a8

LEVEL := orchestrator.max_async_level|trainer.max_async_level|max_async_level
[schedule]
?orchestrator.max_off_policy_steps|max_off_policy_steps -> prime_rl max_off_policy=orchestrator.max_off_policy_steps|max_off_policy_steps?8
?$LEVEL -> lag k=$LEVEL?1

[routing]
trainer.enable_router_replay|enable_router_replay=true -> r3

`)
