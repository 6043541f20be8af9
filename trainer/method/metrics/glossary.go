package metrics

import (
	"path"
	"slices"
)

// Term explains one metric.
type Term struct {
	// Name is the metric's name on record. A * stands for any text without a slash.
	Name string
	// Title is a short name for people.
	Title string
	// Unit is empty for pure numbers.
	Unit string
	// Formula is one line, in the symbols of the package's documentation; Meaning
	// says how to read the figure; Source says who defined it.
	Formula, Meaning, Source string
}

const (
	verl  = "verl"
	ours  = "this project"
	skyrl = "SkyRL"
)

// glossary explains every metric of a training step, in the order in which a
// step reports them. With mu the rollout engine's log-prob, old and new the learner's before and after the
// updates of the step, and pi_v the learner's with the weights that sampled: e = old − mu, ρ = exp(e), m the generated tokens;
// verl's means divide by the count plus 1e-8.
var glossary = []Term{
	{"critic/score/mean", "reward", "", "mean_i R_i", "mean reward of the batch, before any penalty; max and min are its extremes", verl},
	{"critic/score/*", "reward extremes", "", "max_i R_i, min_i R_i", "", verl},
	{"critic/rewards/*", "reward after penalties", "", "Σ_t r_t per response", "what the estimator saw if it reads token rewards", verl},
	{"critic/advantages/*", "advantage", "", "A over generated tokens", "mean far from 0 means the baseline does not centre", verl},
	{"critic/returns/*", "return", "", "Σ_{s≥t} gamma^(s−t)·r_s", "the critic's target", verl},
	{"critic/values/*", "critic value", "", "V over generated tokens", "", verl},
	{"critic/vf_loss", "critic loss", "", "mean over the step's critic updates of the mean of (V − return)²/2 over generated tokens", "", verl},
	{"critic/vf_updates", "critic updates", "", "updates of the trained critic so far", "", ours},
	{"critic/vf_explained_var", "explained variance", "", "1 − Var(return − V)/(Var(return) + 1e-5)", "1 for a perfect critic, 0 for a constant", verl},
	{"reward/*/mean", "part of the reward", "", "mean_i R_ik", "of a reward of several parts", ours},
	{"reward/*/share", "responses with this part", "", "share of responses with R_ik ≠ 0", "0: the part has no effect", ours},
	{"reward/*/spread", "spread within groups", "", "mean over groups of the standard deviation of R_ik", "only this difference enters an advantage", ours},
	{"prefix_values/tokens", "tokens for prefix values", "tokens", "tokens through a model to value the step's prefixes", "what process rewards of the policy's own cost: at generation without the prefixes, which are in the cache", ours},
	{"prefix_values/episodes", "prefixes", "", "prefixes valued per response", "the prompt once per group", ours},
	{"prefix_values/utility_abs", "size of the utilities", "", "mean |V_{e+1} − V_e| over episodes", "0: no episode changes anything", ours},
	{"response_length/clip_ratio", "responses cut off", "", "share of responses at the length limit", "", verl},
	{"response_length/*", "response length", "tokens", "Σ_t m", "generated tokens per response", verl},
	{"response_length_non_aborted/clip_ratio", "responses cut off", "", "the same over responses with a token", "", verl},
	{"response_length_non_aborted/*", "response length", "tokens", "Σ_t m over responses with a token", "", verl},
	{"response/aborted_ratio", "empty responses", "", "share of responses without a token", "", verl},
	{"response/repeated_runs", "repeated runs of tokens", "", "share of runs of 4 generated tokens that occurred before in their response", "grows where an engine repeats its errors", "this project, after QaRL, arXiv 2604.07853"},
	{"prompt_length/clip_ratio", "prompts at the limit", "", "share of prompts at the length limit", "", verl},
	{"prompt_length/*", "prompt length", "tokens", "tokens of the prompt", "", verl},

	{"staleness/tokens/*", "staleness of the tokens", "updates", "mean and max over generated tokens of version(learner) − version(token)", "off-policy lag of the rollouts when they are trained", "AReaL, arXiv 2505.24298"},
	{"staleness/samples/mean", "staleness of the samples", "updates", "mean over groups of the staleness of the oldest token", "", ours},
	{"staleness/stale_keys", "tokens that saw older keys", "", "share of generated tokens whose row read keys and values of older weights", "of a rollout engine that keeps them under new weights (SkyRL): the distribution of such a token belongs to no single version", ours},
	{"staleness/mixed_responses", "mixed responses", "", "share of responses with tokens of several versions", "new weights came while they were sampled", ours},
	{"prefix_cache/hit_rate", "prompt tokens from the prefix cache", "", "Σ_i cached tokens / Σ_i prompt tokens", "of a cache that is shared over requests and steps", "vLLM"},
	{"prefix_cache/max_age", "age of the cached prefixes", "updates", "max over responses of version(first token) − version(oldest block used)", "above 0: keys and values of older weights than the recorded version's", ours},
	{"prefix_cache/stale_responses", "responses on a stale prefix", "", "share of responses with a block of older weights", "their law is no version's", ours},
	{"weight_sync/missed_tokens", "tokens of a partial sync", "", "share of generated tokens whose weights have a tensor older than the recorded version", "the sync did not bring it, or did not reach the worker", ours},
	{"weight_sync/max_age", "age of the oldest tensor", "updates", "max over tokens of version − actual version", "above 0: the recorded version is wrong", ours},
	{"clock/ticks", "virtual time", "ticks", "end of the step's training on the virtual clock", "microseconds under the default costs", ours},
	{"clock/tokens_per_s", "throughput", "tokens/s", "trained tokens so far / virtual time", "a tick being a microsecond", ours},
	{"clock/idle_trainer", "trainer idle", "", "share of the time so far in which the learner waited", "", "verl"},
	{"clock/idle_rollout", "rollout idle", "", "share of the workers' time so far in which they did nothing", "", "verl"},
	{"clock/bubble_intra", "free slots of busy workers", "", "share of the slots' time so far: free, and their worker decodes", "a batch's tail leaves them", ours},
	{"clock/bubble_inter", "slots of waiting workers", "", "share of the slots' time so far: their worker does not decode", "prefill and sync count: nothing is decoded", ours},
	{"clock/wasted_tokens", "tokens thrown away", "tokens", "decoded tokens so far that no step trains", "", ours},
	{"clock/reprefilled_tokens", "tokens prefilled again", "tokens", "prefixes so far that were read again under new weights or elsewhere", "", ours},
	{"clock/weight_copies", "copies of the weights", "", "most copies kept at once so far in addition to the learner's and one in each worker", "what old log-probs and pinned requests take of memory", "missing old logits, arXiv 2605.12070"},
	{"clock/tool_calls", "calls of tools", "", "calls so far whose reply has its costs on the clock", "", ours},
	{"clock/tool_wait", "slots that wait for tools", "", "share of the slots' time so far: their request has called a tool and is not answered", "", ours},
	{"clock/dropped_samples", "samples refused", "", "samples so far that a rule dropped or submitted again", "", ours},
	{"replay/share", "replayed tokens", "", "share of the batch's generated tokens that were trained before", "", ours},
	{"replay/age", "staleness of the replays", "updates", "mean over replayed tokens of version(learner) − version(token)", "", ours},
	{"replay/weight", "weight of replays", "", "mean of (N·P)^−beta / max over the draws", "near 1 the draws are nearly uniform", "PER, arXiv 1511.05952"},
	{"replay/ess", "ESS of replays", "", "(Σw)²/(n·Σw²), w = exp(Σ_t (old − mu)) per replayed response", "falls with staleness: why stale samples lose priority", "FreshPER, arXiv 2604.16918"},
	{"replay/tau_of_ess", "tau by ESS", "updates", "−staleness / ln(ESS)", "the replay.tau at which exp(−staleness/tau) is this ESS", ours},
	{"replay/reuse_*", "reuse", "", "mean and max over the buffer of how often a group was trained", "", ours},
	{"rollout/refused_groups", "groups refused", "", "groups of the step that dynamic sampling refused", "generated samples with zero advantage", "DAPO, arXiv 2503.14476"},
	{"pool/epoch", "epochs of the pool", "", "prompts so far / prompts of the pool that are left", "how often a prompt has come back", ours},
	{"pool/kept", "pool that is left", "", "share of the pool's prompts whose pass rate under the first weights is within keep", "", ours},
	{"rollout/fusion_alpha", "share of the other model", "", "mean_i α of the response", "its part in the logits that tokens are drawn by", "Logit Fusion"},
	{"rollout/fusion_tv", "shift by the other model", "", "mean ½·Σ|p_mixture − p_own| over generated tokens, before truncation", "0 where it changes nothing", ours},
	{"clock/trained_length_ratio", "trained/sampled length", "", "mean length of trained responses / mean length of all that ended, so far", "below 1: a staleness filter also selects by length", ours},

	{"training/rollout_probs_diff_valid", "gap measured", "", "1 if any token was compared", "", verl},
	{"training/rollout_probs_diff_max", "max |Δp|", "", "max |p_old − p_mu|", "of the sampled tokens", verl},
	{"training/rollout_probs_diff_mean", "mean |Δp|", "", "mean |p_old − p_mu|", "of the sampled tokens", verl},
	{"training/rollout_probs_diff_std", "deviation of |Δp|", "", "std |p_old − p_mu|, n−1", "", verl},
	{"training/rollout_actor_probs_pearson_corr", "Pearson of probabilities", "", "corr(p_old, p_mu)", "1 for equal engines; monitored by MiniMax-M1", "verl, after arXiv 2506.13585"},

	{"rollout_corr/training_ppl", "learner's perplexity", "", "mean_i exp(−mean_t old)", "", verl},
	{"rollout_corr/training_log_ppl", "log of it", "nats", "mean_i (−mean_t old)", "", verl},
	{"rollout_corr/kl", "KL k1, rollout to learner", "nats", "mean(mu − old)", "direct estimate of KL(mu || old); may be negative on a sample", verl},
	{"rollout_corr/k3_kl", "KL k3, rollout to learner", "nats", "mean(exp(e) − 1 − e)", "never negative, less noise than k1 for small gaps", verl},
	{"rollout_corr/rollout_ppl", "rollout's perplexity", "", "mean_i exp(−mean_t mu)", "", verl},
	{"rollout_corr/rollout_log_ppl", "log of it", "nats", "mean_i (−mean_t mu)", "", verl},
	{"rollout_corr/log_ppl_diff", "log perplexity gap", "nats", "mean_i mean_t(mu − old)", "", verl},
	{"rollout_corr/log_ppl_abs_diff", "absolute log perplexity gap", "nats", "mean_i |mean_t(mu − old)|", "", verl},
	{"rollout_corr/log_ppl_diff_*", "extremes of the gap", "nats", "max_i, min_i of mean_t(mu − old)", "", verl},
	{"rollout_corr/ppl_ratio", "perplexity ratio", "", "mean_i exp(mean_t(mu − old))", "above 1: the learner finds the responses less likely than the engine that wrote them", verl},
	{"rollout_corr/chi2_token", "χ² per token", "", "mean(ρ²) − 1", "variance of token weights if their mean is 1", verl},
	{"rollout_corr/chi2_seq", "χ² per response", "", "mean_i (Π ρ)² − 1", "variance of sequence weights; grows exponentially with length", verl},
	{"rollout_corr/rollout_is_eff_sample_size", "effective sample size", "", "(Σw)²/(n·Σw²) of the applied weights", "share of the tokens that still count", verl},
	{"rollout_corr/rollout_is_seq_*", "weight per response", "", "mean_t w per response: mean, std, extremes, largest |w−1|, shares beyond the bounds", "", verl},
	{"rollout_corr/rollout_is_ratio_fraction_*", "weights beyond the bounds", "", "share of raw weights above the cap or below the floor (1/cap without one)", "", verl},
	{"rollout_corr/rollout_is_batch_norm_factor", "batch norm factor", "", "what batch_normalize divided by", "", verl},
	{"rollout_corr/rollout_is_oob_ratio", "weights out of band", "", "share of raw weights outside low..high", "what IcePop drops", verl},
	{"rollout_corr/rollout_is_*", "importance weight", "", "applied w: mean, std, max, min", "", verl},
	{"rollout_corr/rollout_rs_*seq_masked_fraction", "responses hit", "", "share of responses with a rejected token", "", verl},
	{"rollout_corr/rollout_rs_*masked_fraction", "tokens rejected", "", "share of tokens rejected, by one rule or by all", "", verl},
	{"rollout_corr/rollout_rs_*", "rejection statistic", "nats", "k1, k2 or k3 of the mode: mean, std, extremes, shares beyond the bounds", "", verl},

	{"is_ratio_*", "ratio", "", "ρ over the initial mask; std and extremes count masked tokens as 0", "", skyrl},
	{"tis_*_clip_high_ratio", "weights truncated", "", "share of weights above the cap", "", skyrl},
	{"outlier_seq_*_ratio", "outlier responses", "", "share of responses with a token beyond the bounds", "", skyrl},
	{"token_mask_ratio", "tokens masked", "", "share of valid tokens outside the band", "", skyrl},
	{"product_sequence_mask_*_ratio", "responses masked by product", "", "share of responses whose Π ρ leaves the band", "", skyrl},
	{"geo_sequence_mask_*_ratio", "responses masked by geometric mean", "", "share of responses whose geometric mean leaves the band", "", skyrl},

	{"token_mult_prob_error", "mean ratio, upward", "", "mean exp|e|", "1 where the engines agree; with correction.names nemo-rl, as the next three", "NeMo-RL"},
	{"gen_kl_error", "KL k3, rollout to learner", "nats", "mean(exp(e) − 1 − e)", "NeMo-RL's follows reference_policy_kl_type", "NeMo-RL"},
	{"policy_kl_error", "KL k3, reversed", "nats", "mean(exp(−e) − 1 + e)", "one token can make it thousands of times gen_kl_error", "NeMo-RL"},
	{"js_divergence_error", "k3 to the mixture", "nats", "−½·mean log(p_old·p_mu/m²), m = (p_old + p_mu)/2", "called Jensen-Shannon; unbounded", "NeMo-RL"},
	{"train_rollout_kl", "KL k3, outliers bounded", "nats", "mean_i mean_t min(exp(x) − 1 − x, 10), x = e in ±20, NaN as 0", "one broken token adds at most 10/length of its response; with correction.names miles, as the next", "miles"},
	{"train_rollout_logprob_abs_diff", "mean |Δ log p|, outliers left out", "nats", "mean_i mean_t |e|, NaN and infinity as 0", "miles leaves the broken ones out, slime does not", "slime"},

	{"gap/k1", "KL k1", "nats", "mean(mu − old), exact mean", "rollout_corr/kl without the 1e-8", ours},
	{"gap/k2", "KL k2", "nats", "mean(e²)/2", "", ours},
	{"gap/k3", "KL k3", "nats", "mean(exp(e) − 1 − e), exact mean", "", ours},
	{"gap/ess_token", "ESS per token", "", "(Σρ)²/(n·Σρ²)", "of untruncated token ratios", ours},
	{"gap/chi2_token_p95", "tail of the chi²", "", "95th percentile of (ρ − 1)² over generated tokens", "the feature of a survey's conjecture on collapse", ours},
	{"gap/ess_sequence", "ESS per response", "", "(ΣW)²/(B·ΣW²), W = Π ρ", "of untruncated sequence weights", ours},
	{"gap/dlogp_mean", "mean |Δ log p|", "nats", "mean |e|", "", ours},
	{"gap/dlogp_max", "max |Δ log p|", "nats", "max |e|", "", ours},
	{"gap/dp_mean", "mean |Δp|", "", "mean |p_old − p_mu|", "", ours},
	{"gap/dp_max", "max |Δp|", "", "max |p_old − p_mu|", "", ours},
	{"gap/seq_dlogp_mean", "mean |Δ log p| per response", "nats", "mean_i |Σ_t e|", "", ours},
	{"gap/seq_dlogp_max", "max |Δ log p| per response", "nats", "max_i |Σ_t e|", "", ours},
	{"gap/unequal", "tokens that differ", "", "share of tokens with e ≠ 0 in any bit", "0 exactly when the engines agree bit for bit", ours},
	{"gap/exact_kl", "exact KL", "nats", "mean KL(mu || old) over the vocabulary", "what the estimators estimate", ours},
	{"gap/exact_kl_max", "largest exact KL", "nats", "max_t KL(mu || old)", "", ours},
	{"gap/exact_tv", "exact total variation", "", "mean ½·Σ_a |p_mu(a) − p_old(a)|", "", ours},
	{"gap/exact_tv_p95", "tail of the TV", "", "95th percentile of it over generated tokens", "informative where the mean is not: batches of mixed staleness, routing flips", ours},
	{"gap/exact_tv_max", "largest total variation", "", "max_t of it", "the α1 of the three-policy bound on the tokens of the batch", ours},
	{"routes/flip_token", "tokens with a routing flip", "", "share of tokens with another expert set in any layer", "", ours},
	{"routes/flip_route", "routing flips", "", "share of token-layer pairs with another expert set", "", ours},
	{"routes/flip_sequence", "responses with a flip", "", "share of responses with a flip at any token", "", ours},
	{"routes/flip_expert_max", "flips of the worst expert", "", "max over experts of the share of tokens for which one engine alone visits it", "", ours},
	{"routes/flip_expert_worst", "the worst expert's part", "", "its part of all experts' flips", "1 if a single expert flips; 1/experts if all experts flip equally", ours},
	{"routes/flipped_dlogp_mean", "|Δ log p| where routes flipped", "nats", "mean |e| over tokens with a flip", "", ours},
	{"routes/rest_dlogp_mean", "|Δ log p| elsewhere", "nats", "mean |e| over tokens without", "", ours},
	{"routes/flipped_k3", "k3 where routes flipped", "nats", "mean k3 over tokens with a flip", "", ours},
	{"routes/rest_k3", "k3 elsewhere", "nats", "mean k3 over tokens without", "", ours},
	{"routes/flip_layer/*", "flips of one layer", "", "share of tokens with another expert set in the layer", "", ours},
	{"gap/engine_k3", "KL k3, engines alone", "nats", "mean(exp(e) − 1 − e), e = pi_v − mu: the learner's numerics at the version that sampled, minus the rollout engine's log-prob", "recorded where rollouts are older than the learner, or anchor is behaviour", ours},
	{"gap/engine_dlogp_mean", "mean |Δ log p|, engines alone", "nats", "mean |pi_v − mu|", "", ours},
	{"gap/engine_exact_kl", "exact KL, engines alone", "nats", "mean KL(mu || pi_v) over the vocabulary", "", ours},
	{"gap/engine_exact_tv", "exact TV, engines alone", "", "mean ½·Σ|mu − pi_v|", "", ours},
	{"gap/engine_exact_tv_max", "largest exact TV, engines alone", "", "max_t ½·Σ|mu − pi_v|", "the α1 of the three-policy bound on the tokens of the batch, without staleness", ours},
	{"gap/lag_k3", "KL k3, staleness alone", "nats", "mean(exp(e) − 1 − e), e = old − pi_v: change of the policy since the tokens were sampled", "", ours},
	{"gap/lag_dlogp_mean", "mean |Δ log p|, staleness alone", "nats", "mean |old − pi_v|", "", ours},
	{"gap/lag_exact_kl", "exact KL, staleness alone", "nats", "mean KL(pi_v || old) over the vocabulary", "", ours},
	{"gap/lag_exact_tv", "exact TV, staleness alone", "", "mean ½·Σ|pi_v − old|", "", ours},
	{"gap/lag_exact_tv_max", "largest exact TV, staleness alone", "", "max_t ½·Σ|pi_v − old|", "", ours},
	{"gap/released_k1", "KL k1, routing released", "nats", "mean(mu − old), the learner's router choosing", "of the weights on record; gap/k1 is what is left where routes are replayed", ours},
	{"gap/released_k3", "KL k3, routing released", "nats", "mean(exp(e) − 1 − e), the learner's router choosing", "above gap/k3 by what the replay hides", ours},
	{"gap/released_dlogp_mean", "mean |Δ log p|, routing released", "nats", "mean |e|, the learner's router choosing", "", ours},
	{"gap/released_exact_kl", "exact KL, routing released", "nats", "mean KL(mu || old) over the vocabulary, the learner's router choosing", "", ours},
	{"gap/released_flip_token", "flips, routing released", "", "share of tokens that the learner's router sends to another expert set in any layer", "replay sets routes/flip_token to 0", ours},
	{"gradient/signal", "power of the mean gradient", "", "‖mean_i g_i‖², g_i = Σ_t ρ_t·A_t·∇log π(y_t), ρ = exp(old − mu), at the weights before the updates", "of the surrogate without clip and weights, along the replayed routes; with routing.released", ours},
	{"gradient/variance", "variance of the gradient", "", "(mean_i ‖g_i‖² − ‖mean_i g_i‖²)/(N − 1)", "trace of the covariance of mean_i g_i over N responses, taken as independent: variance_proxy/proxy3_pure_noise, measured by a backward pass per response", ours},
	{"gradient/released_signal", "power of the mean gradient, routing released", "", "the same with the learner's router choosing", "", ours},
	{"gradient/released_variance", "variance of the gradient, routing released", "", "the same with the learner's router choosing", "of the same responses and weights: compare variance over signal with and without replay", ours},

	{"actor/entropy", "entropy", "nats", "mean H of the learner's next-token distribution", "a fall to 0 is collapse onto one answer", verl},
	{"rollout/kv_retained", "KV positions kept", "", "mean over tokens of held/positions up to its own", "what the rollout engine's compressed cache still showed", "this project, after arXiv 2605.06850"},
	{"speculative/acceptance", "drafts accepted", "", "accepted/tested", "of drafted tokens that were put to the test; 1 − TV on average where verification is exact", "arXiv 2510.26475"},
	{"speculative/accepted_length", "accepted per window", "tokens", "accepted/windows", "drafted tokens that pass one after the other", "arXiv 2510.26475"},
	{"speculative/tokens_per_pass", "tokens per pass", "tokens", "generated tokens/passes of the verifier", "1 without drafting", ours},
	{"speculative/tv", "TV, drafter to verifier", "", "mean ½·Σ|p − q| over tests", "what makes exact verification reject", ours},
	{"speculative/law_tv", "shift of the sampling law", "", "mean ½·Σ|law − p| over generated tokens", "exactly 0 where verification is exact", ours},
	{"speculative/mislabelled", "error of the recorded log-prob", "nats", "mean |mu − log law|", "law is the distribution from which the token was drawn", ours},
	{"speculative/drafter_age", "staleness of the drafter", "updates", "mean(version − drafter's version) over tests", "", ours},
	{"speculative/draft", "drafted tokens", "tokens", "k of the step", "0 where drafting is switched off", ours},
	{"speculative/speedup", "predicted speed", "", "(1 − a^(k+1))/((1 − a)·(c·k + 1))", "a the acceptance, c the cost of a draft; 1 without drafting", "arXiv 2211.17192"},
	{"speculative/distill_loss", "the drafter's loss", "nats", "Σ max(R, 0)·KL(p‖q)/tokens", "on the step's rollouts, before its update", "arXiv 2510.26475"},
	{"actor/shadow_kl", "KL, dense to shadow", "nats", "Σ agg·KL(dense‖shadow) over the vocabulary", "the current weights with full attention against themselves with the retention masks replayed", "arXiv 2605.06850"},
	{"correction/masked_fraction", "tokens out of the loss", "", "share of generated tokens rejected, gated or of weight 0, at the gradient steps", "counts every mask that acted, of the correction, the loss (trm, m2_mask, prime_masked, prime_geo) or a term, once per batch or at each gradient step; decoupled or bypass", ours},
	{"correction/seq_masked_fraction", "responses out of the loss", "", "share of responses with no token left, at the gradient steps", "", ours},
	{"variance_proxy/proxy1_signal_strength", "signal", "", "‖mean gradient‖²", "", "verl, arXiv 2602.07078"},
	{"variance_proxy/proxy2_total_power", "power", "", "mean(w̄²·Ā²·W), W = Σ_t (1 − 2q + Σ_a q²)", "", "verl, arXiv 2602.07078"},
	{"variance_proxy/proxy3_pure_noise", "noise", "", "max(0, (proxy2 − proxy1)/(N − 1))", "", "verl, arXiv 2602.07078"},
	{"variance_proxy/expected_a_squared", "mean squared advantage", "", "mean(Ā²)", "", "verl, arXiv 2602.07078"},
	{"variance_proxy/expected_w", "score norm", "", "mean W", "", "verl, arXiv 2602.07078"},

	{"actor/loss", "policy loss", "", "mean over the gradient steps", "", verl},
	{"actor/grad_norm", "gradient norm", "", "‖g‖ before clipping, mean over the gradient steps", "", verl},
	{"actor/grad_norm_max", "largest gradient norm", "", "the same, maximum", "", ours},
	{"actor/lr", "learning rate", "", "rate of the last gradient step, guards included", "", verl},
	{"actor/loss_scale", "loss scale", "", "fp16's dynamic loss scale", "", ours},
	{"rollout/noise_sigma", "noise on the norms", "", "standard deviation, in the rollout engine's weights", "injected: see rollout.noise", ours},
	{"actor/skipped_updates", "skipped updates", "", "gradient steps dropped by the loss scale or a guard", "", ours},
	{"actor/pg_clipfrac", "clip fraction", "", "share of tokens whose gradient the loss has clipped", "0 at the first gradient step with old from the learner", verl},
	{"actor/pg_clipfrac_lower", "dual-clip fraction", "", "share of tokens at the dual clip", "", verl},
	{"actor/bapo_clip_low", "lower bound of BAPO", "", "bound that the search of bapo has found", "", "BAPO"},
	{"actor/bapo_clip_high", "upper bound of BAPO", "", "bound that the search of bapo has found", "", "BAPO"},
	{"actor/bapo_pos_neg_ratio", "positive over negative", "", "contribution of positive advantages over that of negative ones under the bounds; not logged without negative ones", "", "BAPO"},
	{"sc_correction", "centering", "", "mean absolute correction of score centering, before the advantage", "", "miles"},
	{"actor/pg_clipfrac_floor", "floor fraction", "", "share of tokens below the floor of logit_fusion; the clip fraction counts them too", "", ours},
	{"actor/ppo_kl", "KL since the step began", "nats", "mean(old − new)", "", verl},
	{"actor/approx_kl", "KL since the step began", "nats", "mean over responses of Σ_t(old − new)", "", "VESPO"},
	{"actor/kl_loss", "KL to the reference", "nats", "mean of the KL estimator in the loss", "", verl},
	{"actor/kl_coef", "KL coefficient", "", "what multiplies it", "", verl},
	{"actor/reward_kl_penalty", "KL penalty in the reward", "nats", "mean over responses of the mean KL estimate", "", verl},
	{"actor/reward_kl_penalty_coeff", "its coefficient", "", "what multiplies it", "", verl},
	{"val/learner/pass_rate", "held-out pass rate", "", "share of held prompts solved by sampling in the learner's engine", "the current weights: training reward lags behind", ours},
	{"val/learner/greedy_pass_rate", "greedy pass rate", "", "the same at temperature 0", "", ours},
	{"val/learner/easy/*", "prompts that were easy", "", "pass rate, length and entropy (as entropy_at) of held-out prompts that the first weights solve in more than 90 % of the samples", "effect of training on prompts that were already solved", ours},
	{"val/learner/hard/*", "prompts that were hard", "", "the same of held-out prompts that they solve in less than 10 % of the samples", "", ours},
	{"val/learner/pass@*", "pass@k", "", "mean over prompts of 1 − C(n−c, k)/C(n, k), c of n samples correct", "chance that one of k responses is correct; unbiased for k up to the samples of a prompt", "arXiv 2107.03374"},
	{"val/learner/pass_beta/*", "pass rates of the prompts, as Beta", "", "maximum likelihood of the beta-binomial counts", "α below 1: many prompts that are hardly ever solved; pass@k nears 1 as k^−α", "arXiv 2510.05197"},
	{"val/learner/pass_rate_at/*", "pass rate by difficulty", "", "share of the samples of prompts of that difficulty", "", ours},
	{"val/learner/response_length_at/*", "length by difficulty", "tokens", "mean length of those samples", "", ours},
	{"val/learner/entropy_at/*", "entropy by difficulty", "nats", "mean of −log p over their generated tokens", "an unbiased estimate of the entropy: they are sampled at temperature 1; a fall for the easiest alone: easy prompts sharpen", ours},
	{"val/learner/share_of_length/*", "responses by length", "", "share of the samples of that length, in eighths of the limit, by the upper end in tokens", "", ours},
	{"val/learner/pass_rate_of_length/*", "pass rate by length", "", "share of those that are correct", "shows at which length more tokens help", ours},
	{"val/learner/response_length", "held-out response length", "tokens", "mean length of those samples", "", ours},
	{"val/rollout/pass_rate", "pass rate in the rollout engine", "", "the same weights in the rollout engine's numerics", "", ours},
	{"val/weight_travel", "weight travel", "", "‖θ − θ_0‖", "", ours},
	{"val/router_travel", "router travel", "", "‖θ − θ_0‖ over the routers' weights", "0 for a frozen router; compare with val/weight_travel, and between runs with and without replay", ours},
	{"val/update_tv", "total variation of the update", "", "mean ½·Σ_a |p_old(a) − p_new(a)|, new after the last update of the step", "on the tokens of the batch; along the replayed routes where routes are replayed", "TRPO, arXiv 1502.05477"},
	{"val/update_tv_p95", "tail of it", "", "95th percentile of it over generated tokens", "", ours},
	{"val/update_tv_max", "largest total variation of the update", "", "max_t of it", "the α0 of the three-policy bound on the tokens of the batch", ours},
	{"val/update_tv_sequence", "total variation of the update, responses", "", "½·mean_i |Π(p_new/p_mu) − Π(p_old/p_mu)|", "unbiased estimate of the total variation of the distributions of whole responses; in [0, 1] only in expectation", ours},
	{"val/update_flips", "routing flips by the update", "", "share of tokens whose expert set in any layer is not that of before the updates", "0 where routes are replayed", ours},
	{"guard/ess_ratio", "effective share", "", "(Σw)²/(Σw² + 1e-8)/B, w = Π ρ", "", "VCPO, arXiv 2602.17616"},
	{"guard/ess_lr_scale", "ESS learning-rate scale", "", "sqrt(min(1, ess/base))", "", "VCPO, arXiv 2602.17616"},
	{"guard/length_*", "length surge", "", "1 once lengths have surged; scale of the learning rate", "", "arXiv 2602.01826"},
	{"guard/grad_*", "gradient alignment", "", "cosine with the previous gradient; share removed; steps skipped", "", "GAC, arXiv 2603.01501"},
}

// Lookup explains a metric: the first term whose name fits it, under the
// metric's own name.
func Lookup(name string) (Term, bool) {
	for _, t := range slices.Concat(glossary, Elsewhere) {
		if t.fits(name) {
			t.Name = name
			return t, true
		}
	}
	return Term{}, false
}

func (t Term) fits(name string) bool {
	ok, _ := path.Match(t.Name, name)
	return ok || t.Name == name
}

// Elsewhere explains the names under which other trainers log a gap between engines.
// One name often means two things, and one thing has many names.
var Elsewhere = []Term{
	{"rollout_corr/kl", "k1", "nats", "mean(mu − old)", "the direct estimate of KL(mu || old)", verl},
	{"vllm_kl", "k1", "nats", "mean(mu − old)", "the same under OpenRLHF's name", "OpenRLHF"},
	{"ppo_kl", "KL of the update", "nats", "mean(old − new)", "no gap between engines: how far the update has moved", "verl, slime, OpenRLHF"},
	{"mismatch_kl", "k3", "nats", "mean(ρ − 1 − log ρ)", "verl's rollout_corr/k3_kl", "prime-rl"},
	{"gen_kl_error", "k3", "nats", "mean(ρ − 1 − log ρ)", "as long as reference_policy_kl_type is k3: it follows that setting", "NeMo-RL"},
	{"policy_kl_error", "k3, reversed", "nats", "mean(1/ρ − 1 + log ρ)", "one token can make it thousands of times gen_kl_error", "NeMo-RL"},
	{"token_mult_prob_error", "mean ratio, upward", "", "mean exp|old − mu|", "1 where the engines agree; plots are drawn for runs above 1.05", "NeMo-RL"},
	{"sampling_logp_difference", "mean |Δ log p|", "nats", "mean |old − mu|", "", "TRL"},
	{"rollout_train_logprobs_abs_diff_mean", "mean |Δ log p|", "nats", "mean |old − mu|", "", skyrl},
	{"train_rollout_logprob_abs_diff", "mean |Δ log p|", "nats", "mean over samples of mean |old − mu|", "a short sample weighs as much as a long one; with use-rollout-logprobs it takes new for old", "slime"},
	{"rollout_probs_diff_mean", "mean |Δp|", "", "mean |p_old − p_mu|", "", verl},
	{"train_infer_diff", "mean Δp", "", "mean(p_old − p_mu)", "with its sign: deviations cancel", "ROLL"},
	{"ois", "ratio of the update", "", "exp(new − old)", "no gap between engines", "slime"},
}
