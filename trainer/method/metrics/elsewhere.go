package metrics

// Elsewhere explains the names under which other trainers log a gap between engines.
// One name often means two things, and one thing has many names.
var Elsewhere = []Term{
	{"rollout_corr/kl", "k1", "nats", "mean(roll − old)", "the direct estimate of KL(roll || old)", verl},
	{"vllm_kl", "k1", "nats", "mean(roll − old)", "the same under OpenRLHF's name", "OpenRLHF"},
	{"ppo_kl", "KL of the update", "nats", "mean(old − new)", "no gap between engines: how far the update has moved", "verl, slime, OpenRLHF"},
	{"mismatch_kl", "k3", "nats", "mean(ρ − 1 − log ρ)", "verl's rollout_corr/k3_kl", "prime-rl"},
	{"gen_kl_error", "k3", "nats", "mean(ρ − 1 − log ρ)", "as long as reference_policy_kl_type is k3: it follows that setting", "NeMo-RL"},
	{"policy_kl_error", "k3, reversed", "nats", "mean(1/ρ − 1 + log ρ)", "one token can make it thousands of times gen_kl_error", "NeMo-RL"},
	{"token_mult_prob_error", "mean ratio, upward", "", "mean exp|old − roll|", "1 where the engines agree; plots are drawn for runs above 1.05", "NeMo-RL"},
	{"sampling_logp_difference", "mean |Δ log p|", "nats", "mean |old − roll|", "", "TRL"},
	{"rollout_train_logprobs_abs_diff_mean", "mean |Δ log p|", "nats", "mean |old − roll|", "", skyrl},
	{"train_rollout_logprob_abs_diff", "mean |Δ log p|", "nats", "mean over samples of mean |old − roll|", "a short sample weighs as much as a long one; with use-rollout-logprobs it takes new for old", "slime"},
	{"rollout_probs_diff_mean", "mean |Δp|", "", "mean |p_old − p_roll|", "", verl},
	{"train_infer_diff", "mean Δp", "", "mean(p_old − p_roll)", "with its sign: deviations cancel", "ROLL"},
	{"ois", "ratio of the update", "", "exp(new − old)", "no gap between engines", "slime"},
}
