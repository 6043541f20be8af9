package advantage

import (
	_ "embed"
	"math"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// examples are the worked examples of the specs: input, parameters, result; a bar
// separates responses. A test recomputes them; go test -run WorkedExamples -update
// writes them.
//
//go:embed examples.txt
var examples string

// Registry lists the estimators a recipe can name under advantage.
var Registry = method.Table[Estimator]{
	{Spec: method.Spec{
		Name: "grpo", Aliases: []string{"grpo_vectorized"}, Unit: method.Group,
		Source:  "arXiv 2402.03300; std: false is Dr. GRPO, arXiv 2503.20783; verl, SkyRL, TRL",
		Formula: "A_i = (R_i − mean_g)/(std_g + eps), the same on every token",
		Needs:   batch.Columns{batch.Reward, batch.Group},
	}, New: func() Estimator { return &GRPO{Asymmetry: symmetric, Std: true, Eps: 1e-6, Singleton: "raw"} }},
	{Spec: method.Spec{
		Name: "grpo_passk", Unit: method.Group,
		Source:  "arXiv 2503.19595; verl grpo_passk",
		Formula: "A_best = (R_max − R_second)/(std_g + eps), 0 for the others",
		Needs:   batch.Columns{batch.Reward, batch.Group},
		Reconstruction: "with rewards of 0 and 1 a group learns only if exactly one response is correct; the source has no other setting " +
			"for them, so give rewards with degrees, or use reward pass_at_k with another estimator",
	}, New: func() Estimator { return &GRPOPassK{Asymmetry: symmetric, Std: true, Eps: 1e-6} }},
	{Spec: method.Spec{
		Name: "rloo", Aliases: []string{"rloo_vectorized"}, Unit: method.Group,
		Source:  "arXiv 2402.14740; verl, SkyRL",
		Formula: "A_i = G/(G−1)·(R_i − mean_g)",
		Needs:   batch.Columns{batch.Reward, batch.Group},
	}, New: func() Estimator { return &RLOO{Asymmetry: symmetric, Singleton: "zero"} }},
	{Spec: method.Spec{
		Name: "reinforce", Aliases: []string{"returns"}, Unit: method.Token,
		Source:  "Williams 1992; ROLL adv_estimator reinforce",
		Formula: "A_t = Σ_{s≥t} gamma^(s−t)·r_s",
		Needs:   batch.Columns{batch.TokenReward},
	}, New: func() Estimator {
		return &Reinforce{Asymmetry: symmetric, Gamma: 1, Holes: Carry, CountEps: masked.Epsilon}
	}},
	{Spec: method.Spec{
		Name: "reinforce_plus_plus", Aliases: []string{"reinforce++"}, Unit: method.Batch,
		Source:  "arXiv 2501.03262; verl, SkyRL",
		Formula: "A_t = whiten(Σ_{s≥t} gamma^(s−t)·r_s) over the tokens of the batch",
		Needs:   batch.Columns{batch.TokenReward},
	}, New: func() Estimator {
		return &Reinforce{Asymmetry: symmetric, Gamma: 1, Whiten: true, Holes: Carry, CountEps: masked.Epsilon}
	}},
	{Spec: method.Spec{
		Name: "reinforce_plus_plus_baseline", Aliases: []string{"reinforce++_baseline"}, Unit: method.Batch,
		Source:  "arXiv 2501.03262; verl",
		Formula: "A = whiten(R_i − mean_g) over the tokens of the batch",
		Needs:   batch.Columns{batch.Reward, batch.Group},
	}, New: func() Estimator { return &ReinforceBaseline{Asymmetry: symmetric} }},
	{Spec: method.Spec{
		Name: "remax", Unit: method.Sequence,
		Source:  "arXiv 2310.10505; verl",
		Formula: "A_t = Σ_{s≥t} r_s − R_greedy",
		Needs:   batch.Columns{batch.TokenReward, batch.GreedyReward},
	}, New: func() Estimator { return &ReMax{Asymmetry: symmetric} }},
	{Spec: method.Spec{
		Name: "opo", Unit: method.Group,
		Source:  "arXiv 2505.23585; verl",
		Formula: "A_i = R_i − Σ_j L_j·R_j/Σ_j L_j, L in generated tokens",
		Needs:   batch.Columns{batch.Reward, batch.Group},
	}, New: func() Estimator { return &OPO{Asymmetry: symmetric} }},
	{Spec: method.Spec{
		Name: "gpg", Unit: method.Batch,
		Source:  "arXiv 2504.02546; verl",
		Formula: "A_i = B/max(1, #{R≠0})·(R_i − mean_g)/f_norm",
		Needs:   batch.Columns{batch.Reward, batch.Group},
	}, New: func() Estimator { return &GPG{Asymmetry: symmetric, FNorm: 1} }},
	{Spec: method.Spec{
		Name: "maxrl", Unit: method.Group,
		Source:  "arXiv 2602.02710; SkyRL",
		Formula: "A_i = (R_i − mean_g)/(mean_g + eps)",
		Needs:   batch.Columns{batch.Reward, batch.Group},
	}, New: func() Estimator { return &MaxRL{Asymmetry: symmetric, Eps: 1e-6} }},
	{Spec: method.Spec{
		Name: "normalize", Aliases: []string{"reward_norm"}, Unit: method.Batch,
		Source:  "TRL scale_rewards; ROLL reward_norm; AReaL Normalization; group mean and batch std: arXiv 2508.08221",
		Formula: "A_i = (R_i − mean)/(std + eps), mean and std each over group, batch or none",
		Needs:   batch.Columns{batch.Reward, batch.Group},
	}, New: func() Estimator { return &Normalize{Asymmetry: symmetric, Mean: "group", Std: "batch", Eps: 1e-6} }},
	{Spec: method.Spec{
		Name: "gdpo", Unit: method.Batch,
		Source:  "arXiv 2601.05242; verl; TRL normalize_then_sum",
		Formula: "A = whiten(Σ_k weight_k·(R_ik − mean_g)/(std_g + eps))",
		Needs:   batch.Columns{batch.RewardParts, batch.Group},
	}, New: func() Estimator { return &GDPO{Asymmetry: symmetric, Std: true, Eps: 1e-6, Whiten: "token"} }},
	{Spec: method.Spec{
		Name: "gae", Unit: method.Token,
		Source:  "arXiv 1506.02438; verl, SkyRL, slime, ROLL",
		Formula: "L_t = r_t + gamma·V_{t+1} − V_t + gamma·lam·L_{t+1};  A = whiten(L)",
		Needs:   batch.Columns{batch.TokenReward, batch.Value},
	}, New: func() Estimator {
		return &GAE{Asymmetry: symmetric, Gamma: 1, Lam: 1, Whiten: true, Holes: Carry, CountEps: masked.Epsilon}
	}},
	{Spec: method.Spec{
		Name: "optimal_token_baseline", Aliases: []string{"otb"}, Unit: method.Token,
		Source:  "arXiv 2602.07078; verl",
		Formula: "B_t = Σ_i G_it·W_it/(Σ_i W_it + eps), W_t = Σ_{s≤t} (1 − 2q_s + Σ_a q(a)²)·w_s²;  A_t = G_t − B_t",
		Needs:   batch.Columns{batch.TokenReward, batch.LogpOld, batch.SumSquares, batch.Group},
	}, New: func() Estimator {
		return &OTB{Asymmetry: symmetric, Eps: 1e-8, ZeroTail: true, Scale: "increment"}
	}},
	{Spec: method.Spec{
		Name: "tir_optimal_token_baseline", Aliases: []string{"tir_otb"}, Unit: method.Token,
		Source:  "verl tir_optimal_token_baseline; arXiv 2602.07078",
		Formula: "optimal_token_baseline over the j-th generated tokens of a group in place of the t-th positions",
		Needs:   batch.Columns{batch.TokenReward, batch.LogpOld, batch.SumSquares, batch.Group},
	}, New: func() Estimator {
		return &OTB{Asymmetry: symmetric, Eps: 1e-8, ZeroTail: true, Scale: "increment", multiTurn: true}
	}},
	{Spec: method.Spec{
		Name: "opob", Aliases: []string{"vcpo"}, Unit: method.Group,
		Source:  "arXiv 2602.17616; mit-han-lab/vcpo",
		Formula: "A_i = R_i − Σ_j w_j²·n_j²·R_j/(Σ_j w_j²·n_j² + eps)",
		Needs:   batch.Columns{batch.Reward, batch.ScoreNorm, batch.LogpOld, batch.LogpRoll, batch.Group},
	}, New: func() Estimator {
		return &OPOB{Asymmetry: symmetric, Eps: 1e-8, Weighted: true, Cap: math.Inf(1), Aggregate: "mean"}
	}},
	{Spec: method.Spec{
		Name: "turn_level", Unit: method.Turn,
		Source:         "arXiv 2511.20718, read through notes",
		Formula:        "A_k = (R_k − mean_g)/(std_g + eps) over siblings with turn k, R_k = Σ_{j≥k} gamma^(j−k)·r_j; or R_k − V",
		Needs:          batch.Columns{batch.TokenReward, batch.Turn, batch.Group},
		Reconstruction: "group form of the published A_k = R_k − V(s_k), which baseline: value selects",
	}, New: func() Estimator {
		return &TurnLevel{Asymmetry: symmetric, Gamma: 1, Baseline: "group", Std: true, Eps: 1e-6}
	}},
	{Spec: method.Spec{
		Name: "process", Aliases: []string{"grpo_process"}, Unit: method.Token,
		Source:  "arXiv 2402.03300 section 4.1.3; normalisation per kind as arXiv 2601.05242",
		Formula: "A_t = outcome_weight·O_i + process_weight·Σ_{s≥t} p̃_s, each normalised in the group, or both together",
		Needs:   batch.Columns{batch.OutcomeParts, batch.StepReward, batch.Group},
	}, New: func() Estimator {
		return &Process{Asymmetry: symmetric, OutcomeWeight: 1, ProcessWeight: 1, Credit: creditToCome, Std: true, Eps: 1e-6}
	}},
	{Spec: method.Spec{
		Name: "vine", Aliases: []string{"vineppo"}, Unit: method.Token,
		Source:  "VinePPO, arXiv 2410.01679",
		Formula: "A_t = whiten(V(end of t's episode) − V(its start)), V(end of the answer) = R_i",
		Needs:   batch.Columns{batch.Reward, batch.Episode, batch.PrefixValue},
	}, New: func() Estimator { return &Vine{Asymmetry: symmetric, Whiten: true} }},
	{Spec: method.Spec{
		Name: "rl_zvp", Aliases: []string{"zero_variance"}, Unit: method.Group,
		Source:  "arXiv 2509.21880 (a NeMo-RL port); CompassMax, arXiv 2512.07710",
		Formula: "mixed group: GRPO; all correct: A_t = scale·H_t; all wrong: A_t = −scale·(max H − H_t)",
		Needs:   batch.Columns{batch.Reward, batch.EntropyOld, batch.Group},
		Reconstruction: "read from a port; the maximum of H runs over the response's generated tokens. Of CompassMax's stages this is the fourth. " +
			"The first is rollout.dynamic_sampling with refuse solved, by the group at hand and not by a running pass rate (0.95) of its prompt. " +
			"The second, more responses to a prompt whose group has no variance, is not modelled: all groups have one size. " +
			"Of the third, length penalties are parts of the reward; a penalty for repetition is not modelled",
	}, New: func() Estimator { return &ZeroVariance{Asymmetry: symmetric, Scale: 0.1, Std: true, Eps: 1e-6} }},
}.Filled(method.Spec{Group: "advantage", Gradient: "constant"}, examples)
