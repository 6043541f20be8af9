package foreign

import (
	"fmt"
	"strings"

	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// verlPolicyLoss is a loss in verl's words, with the keys and names that verlLoss reads; empty
// for PPO's, which is verl's without a word, and for what it has not.
func verlPolicyLoss(r recipe.Recipe) string {
	mode := ""
	var fields []string
	bounds := func(low, high float64) {
		fields = append(fields, "clip_ratio_low: "+decimal(low), "clip_ratio_high: "+decimal(high))
	}
	switch l := r.Loss.Params.(type) {
	case *loss.GSPO:
		mode = "gspo"
		bounds(l.EpsLow, l.EpsHigh)
	case *loss.CISPO:
		mode = "cispo"
		bounds(l.EpsLow, l.EpsHigh)
	case *loss.SAPO:
		mode = "sapo"
		fields = append(fields, "tau_pos: "+decimal(l.TauPos), "tau_neg: "+decimal(l.TauNeg))
	case *loss.GMPO:
		mode = "geo_mean"
		bounds(l.EpsLow, l.EpsHigh)
	case *loss.KLCov:
		return fmt.Sprintf("policy_loss: {loss_mode: kl_cov, kl_cov_ratio: %s, ppo_kl_coef: %s}", decimal(l.Share), decimal(l.Beta))
	default:
		return ""
	}
	return "policy_loss: {loss_mode: " + mode + "}, " + strings.Join(fields, ", ")
}

// trlPolicyLoss is a loss as arguments of TRL's configuration, with the names that trlLoss reads.
func trlPolicyLoss(r recipe.Recipe) []string {
	switch l := r.Loss.Params.(type) {
	case *loss.GSPO:
		return []string{`importance_sampling_level="sequence"`, "epsilon=" + decimal(l.EpsLow), "epsilon_high=" + decimal(l.EpsHigh)}
	case *loss.CISPO:
		return []string{`loss_type="cispo"`, "epsilon_high=" + decimal(1+l.EpsHigh)}
	case *loss.SAPO:
		return []string{`loss_type="sapo"`, "sapo_temperature_pos=" + decimal(l.TauPos), "sapo_temperature_neg=" + decimal(l.TauNeg)}
	}
	return nil
}
