package golden

import (
	"math"
	"testing"
)

// A fully masked row counts 0 in every figure that slime logs, its perplexities too
// (mis.py add_ppl_metrics, averaged over the loss mask); verl counts perplexity 1.
func TestGoldenFullyMaskedRow(t *testing.T) {
	row := func(x ...any) []any { return x }
	c := &Case{
		File:   "slime/mis_weights.json",
		Params: Values{"tis_level": "token", "tis_mode": "truncate", "tis_upper_bound": 2.},
		Inputs: Values{"mask": row(row(1., 1.), row(0., 0.)), "lengths": row(2., 2.),
			"train_logp": row(row(-.5, -1.), row(-2., -1.)), "rollout_logp": row(row(-.4, -1.2), row(-1., -1.))},
		Outputs: Values{"weights": row(row(math.Exp(-.1), math.Exp(.2)), row(0., 0.)), "modified_mask": row(row(1., 1.), row(0., 0.)),
			"metrics_mean": map[string]any{
				"training_log_ppl": .75 / 2, "training_ppl": math.Exp(.75) / 2, "rollout_ppl": math.Exp(.8) / 2, "ppl_ratio": math.Exp(-.05) / 2,
				"kl": -.05 / 2, "chi2_token": ((math.Exp(-.2)+math.Exp(.4))/2 - 1) / 2, "chi2_seq": (math.Exp(.2) - 1) / 2, "tis_truncate_fraction": 0.,
			}},
	}
	for _, fault := range Failures(c, Matcher{File: c.File, Match: correctionMatchSlime}) {
		t.Error(fault)
	}
}
