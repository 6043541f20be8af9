package golden

// The packages that own golden cases.
const (
	lossPkg       = "trainer/method/loss"
	correctionPkg = "trainer/method/correction"
	advantagePkg  = "trainer/method/advantage"
	diagnosePkg   = "trainer/method/metrics"
	rewardPkg     = "trainer/method/reward"
)

// owners says which package answers for which cases. The first rule that
// covers a case wins: File is a path.Match pattern, Source a substring of the
// case's source.
var owners = []struct{ File, Source, Package string }{
	{"areal/behave_imp_weight_cap*.json", "", lossPkg},
	{"areal/grpo_loss*.json", "", lossPkg},
	{"areal/norm_kl*.json", "KLEstimator", lossPkg},
	{"areal/norm_kl*.json", "Normalization", advantagePkg},
	{"areal/rejection_sampling*.json", "", correctionPkg},

	{"autumn/sao_bpco*.json", "compute_lagae", advantagePkg},
	{"autumn/*.json", "", lossPkg},

	{"miles/opd_topk*.json", "", lossPkg},
	{"miles/train_rollout_kl*.json", "", diagnosePkg},

	{"ms-swift/*.json", "", lossPkg},

	{"nemo-rl/reward_shaping*.json", "", rewardPkg},
	{"nemo-rl/*.json", "", lossPkg},

	{"open-instruct/*.json", "", lossPkg},

	{"papers/vcpo_opob*.json", "", advantagePkg},
	{"papers/*.json", "", lossPkg},

	{"prime-rl/advantages_2026*.json", "", advantagePkg},
	{"prime-rl/*.json", "", lossPkg},

	{"roll/advantages_kl*.json", "compute_approx_kl", lossPkg},
	{"roll/advantages_kl*.json", "", advantagePkg},
	{"roll/gigpo*.json", "", advantagePkg},
	{"roll/pg_loss*.json", "", lossPkg},
	{"roll/train_infer_correction*.json", "", correctionPkg},

	{"skyrl/advantages_reductions*.json", "compute_advantages_and_returns", advantagePkg},
	{"skyrl/advantages_reductions*.json", "", lossPkg},
	{"skyrl/kl*.json", "", lossPkg},
	{"skyrl/off_policy_correction*.json", "", correctionPkg},
	{"skyrl/policy_losses*.json", "", lossPkg},
	{"skyrl/reductions_2026*.json", "apply_overlong_filtering", correctionPkg},
	{"skyrl/reductions_2026*.json", "", lossPkg},

	{"slime/advantages_opsm*.json", "compute_opsm_mask", correctionPkg},
	{"slime/advantages_opsm*.json", "", advantagePkg},
	{"slime/mis_weights*.json", "", correctionPkg},
	{"slime/policy_loss*.json", "", lossPkg},

	{"trl/advantages*.json", "", advantagePkg},
	{"trl/mask_truncated*.json", "", correctionPkg},
	{"trl/*.json", "", lossPkg},

	{"verl-recipe/spo*.json", "", advantagePkg},
	{"verl-recipe/*.json", "", lossPkg},

	{"verl/adv_*.json", "", advantagePkg},
	{"verl/pf_ppo*.json", "", advantagePkg},
	{"verl/functional*.json", "", advantagePkg},
	{"verl/agg_loss*.json", "", lossPkg},
	{"verl/entropy*.json", "", lossPkg},
	{"verl/kl_*.json", "", lossPkg},
	{"verl/policy_loss_*.json", "", lossPkg},
	{"verl/value_loss*.json", "", lossPkg},
	{"verl/presets*.json", "", correctionPkg},
	{"verl/rollout_is_metrics*.json", "", correctionPkg},
	{"verl/rollout_*.json", "", correctionPkg},
	{"verl/offpolicy_metrics*.json", "", diagnosePkg},
	{"verl/data_metrics*.json", "", diagnosePkg},
	{"verl/debug_metrics*.json", "", diagnosePkg},
	{"verl/variance_proxy*.json", "", diagnosePkg},
}

// owner returns the package that answers for the case, or "" if no rule covers it.
func owner(c *Case) string {
	for _, o := range owners {
		if covers(c, o.File, o.Source) {
			return o.Package
		}
	}
	return ""
}
