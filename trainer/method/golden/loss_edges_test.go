package golden

import (
	"math"
	"testing"
)

// Cases that a private set may have and the shipped one does not: what the reference formulas
// give, worked out by hand.
func TestGoldenEdges(t *testing.T) {
	row := func(x ...any) []any { return x }
	gmpo := Values{"mask": row(row(1., 1.), row(0., 0.)), "logp": row(row(-.5, -.5), row(-1., -2.)), "old_logp": row(row(-.6, -.8), row(-3., -1.)),
		"adv_seq": row(2., -3.)}
	for name, c := range map[string]*Case{
		// callsys/GMPO train_zero_math_gmpo.py: exp(Σ x/n) of a row without tokens is 0/0.
		"gmpo, empty row": {File: "papers/gmpo_official.json", Params: Values{"cliprange": .4, "critic_type_modify": "gmpo"}, Inputs: gmpo,
			Outputs: Values{"loss_per_sequence": row(-2*math.Exp(.2), "nan"), "grad": row(row(-math.Exp(.2), -math.Exp(.2)), row(0., 0.))}},
		// Without the division it is exp(0): -A.
		"gmpo without norm, empty row": {File: "papers/gmpo_official.json", Params: Values{"cliprange": .4, "critic_type_modify": "gmpo_without_norm"}, Inputs: gmpo,
			Outputs: Values{"loss_per_sequence": row(-2*math.Exp(.4), 3.), "grad": row(row(-2*math.Exp(.4), -2*math.Exp(.4)), row(0., 0.))}},
		// SkyRL ppo_utils.py gspo_policy_loss: the mean log-ratio is over the three tokens, then
		// the correction takes out the second, of ratio e^1.3.
		"skyrl gspo, token mask": {File: "skyrl/policy_losses_corrected.json",
			Params: Values{"policy_loss_type": "gspo", "eps_clip_low": .3, "eps_clip_high": .4,
				"off_policy_correction": map[string]any{"token_mask_is_threshold_low": .5, "token_mask_is_threshold_high": 2.}},
			Inputs: Values{"mask": row(row(1., 1., 1.), row(1., 1., 0.)), "adv_seq": row(1., -2.), "logp": row(row(-.5, -1.2, -2.), row(-.9, -.4, -1.5)),
				"old_logp": row(row(-.7, -1., -2.5), row(-.8, -.6, -1.4)), "rollout_logp": row(row(-.6, -2.3, -2.2), row(-.9, -.5, -1.3))},
			Outputs: Values{"loss": -2*math.Exp(.5/3) + 4*math.Exp(.05),
				"grad": row(row(-math.Exp(.5/3), 0., -math.Exp(.5/3)), row(2*math.Exp(.05), 2*math.Exp(.05), 0.)), "metrics": map[string]any{"clip_ratio": 0.}}},
	} {
		match := Matcher{File: c.File, Match: matchGMPOOfficial}
		if c.Folder() == "skyrl" {
			match.Match = matchSkyRLLoss
		}
		for _, fault := range Failures(c, match) {
			t.Errorf("%s: %s", name, fault)
		}
	}
}
