package foreign

import "strings"

// hooks are what a framework's table cannot say: prepare puts settings into the form that the rows read, read adds what
// they do not say, and write writes the correction where its rows do not.
type hooks struct {
	prepare, read func(v *values, c *Config)
	write         func(w *writing)
}

var hooked = map[string]hooks{
	"verl":  {prepareVerl, readVerl, writeVerl},
	"rllm":  {prepareRLLM, readRLLM, nil},
	"skyrl": {nil, readSkyRL, nil},
	"slime": {prepareSlime, readSlime, writeSlime},
	"vime":  {prepareSlime, readSlime, writeSlime},
	"roll":  {nil, readROLL, nil},
	"areal": {prepareAReaL, nil, nil},
	"nemo-rl": {nil, func(v *values, c *Config) {
		if v.truth("policy.megatron_cfg.fp8_cfg.enabled", false) {
			v.leave("policy.precision", "fp8_cfg is enabled")
		}
	}, nil},
}

func prepareAReaL(v *values, c *Config) {
	v.truth("recompute_logprob", false)
	if v.any("level", "action", "metric", "upper") {
		for _, key := range []string{"behave_imp_weight_cap", "behave_imp_weight_mode"} {
			v.leave(key, "AReaL has rejection_sampling in its place")
		}
	}
}

func readSkyRL(v *values, c *Config) {
	p := c.Pipeline
	low, high := v.has("token_mask_is_threshold_low"), v.has("token_mask_is_threshold_high")
	if low != high {
		c.note("token_mask_is_threshold_* has one bound, and does nothing without the other")
	}
	const a = "trainer.algorithm."
	if v.text(a+"loss_reduction", "") == "token_mean_legacy" {
		c.note("token_mean_legacy is the mean of the token means of micro-batches of %s responses; the recipe takes the token mean of the batch, and loss.aggregation=token-mean-legacy:%[1]s is exact",
			decimal(max(v.number("trainer.micro_train_batch_size_per_gpu", 0), 1)))
	}
	switch on := p.Weights != nil || len(p.Masks) > 0; {
	case on && v.nulled("generator.sampling_params.logprobs"):
		c.Off = "generator.sampling_params.logprobs is null, so there are no log-probs of the rollout engine"
	case !on && low != high:
		c.Off = "token_mask_is_threshold_* has one bound of two"
	}
}

// prepareRLLM gives verl's keys the values of rLLM's, and reads them as verl's. rLLM keeps
// both in step whichever side a user writes; its own wins where both are written.
func prepareRLLM(v *values, c *Config) {
	on := v.truth("rllm.async_training.enable", true)
	for _, p := range v.framework.same {
		s, given := v.by[p.key]
		switch {
		case !given || s.Null || s.Why != "":
			continue
		case strings.HasPrefix(p.key, "rllm.async_training.") && !on:
			v.text(p.key, "")
			v.leave(p.key, "rllm.async_training.enable is false")
			continue
		}
		v.used[p.key] = true
		v.by[p.value] = s
	}
	if coef := verlActor + "kl_loss_coef"; v.has("rllm.algorithm.kl_beta") && v.number(coef, 0) != 0 && !v.has(verlActor+"use_kl_loss") {
		s := v.by[coef]
		s.Text = "true"
		v.by[verlActor+"use_kl_loss"] = s
	}
	prepareVerl(v, c)
}

func readRLLM(v *values, c *Config) {
	readVerl(v, c)
	for _, p := range v.framework.same {
		if why := v.left[p.value]; why != "" {
			v.leave(p.key, why)
		}
	}
}
