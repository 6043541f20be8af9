package golden

import (
	_ "embed"
	"math"
	"slices"
	"strings"
)

// listingsText has the cases and outputs that are not matched, and why, a line each: the pattern of the file,
// a part of the source, the outputs (none is the whole case), the name of a condition, the reason, and
// "second" where the shipped set has no such case.
//
//go:embed listings.tsv
var listingsText string

var allListings = readListings(listingsText)

func readListings(text string) (list Listings) {
	for line := range strings.Lines(text) {
		f := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "")
		when, known := conditions[f[3]]
		if !known {
			panic("golden: no condition " + f[3])
		}
		for output := range strings.SplitSeq(f[2], " ") {
			list = append(list, Listing{File: f[0], Source: f[1], Output: output, When: when, Reason: f[4], SecondSet: f[5] != ""})
		}
	}
	return list
}

// conditions narrow listings by parameters, inputs or outputs.
var conditions = map[string]func(c *Case) bool{
	"":                   nil,
	"raised":             (*Case).Raised,
	"one token":          func(c *Case) bool { return countTokens(c) == 1 },
	"no token":           func(c *Case) bool { return countTokens(c) == 0 },
	"no token, loss NaN": func(c *Case) bool { return countTokens(c) == 0 && isNaN(c) },
	"loss NaN":           isNaN,
	"icepop":             func(c *Case) bool { return c.Params.String("type") == "icepop" },
	"ppo beyond the cap": func(c *Case) bool { return c.Params.String("type") == "ppo" && beyondCap(c) },
	"infinite gradient":  func(c *Case) bool { return !finite(c.Outputs.Flat("grad")) },
	"loss by response":   func(c *Case) bool { return !c.Params.Bool("token_level_loss") },
	"infinite padding":   func(c *Case) bool { return !finite(c.Inputs.Flat("loss_mat")) && isNaN(c) },
	"no lower clip": func(c *Case) bool {
		return slices.ContainsFunc([]string{"_cispo ", "_gspo ", "_sapo "}, func(name string) bool { return strings.Contains(c.Source, name) }) &&
			c.Outputs.Sub("metrics").Float("actor/pg_clipfrac_lower") == 0
	},
	"clip fraction 0": func(c *Case) bool { return c.Outputs.Sub("metrics").Float("actor/pg_clipfrac") == 0 },
	"nothing to clip": func(c *Case) bool {
		return slices.Contains([]string{"sapo", "kl_cov", "cross_entropy"}, c.Params.String("policy_loss_type")) &&
			c.Outputs.Sub("metrics").Float("clip_ratio") == 0
	},
	"drawn":          func(c *Case) bool { return c.Params.Sub("clip_cov").Float("clip_ratio") < 1 },
	"KL estimator 3": func(c *Case) bool { return c.Params.Float("beta") != 0 && c.Params.Int("kl_estimator") == 3 },
	"constant bonus": func(c *Case) bool { return !c.Params.Bool("use_adaptive_entropy") },
	"KL penalty":     func(c *Case) bool { return c.Params.Float("reference_policy_kl_penalty") != 0 },
	"huge loss by response": func(c *Case) bool {
		return !c.Params.Bool("token_level_loss") && math.Abs(c.Outputs.Float("loss")) > 10
	},
	"no token-level clip": func(c *Case) bool {
		return c.Params.Bool("use_sapo_loss") || c.Params.Has("m2_threshold") || c.Params.String("importance_sampling_level") == "sequence"
	},
	"M2PO": func(c *Case) bool { return c.Params.Has("m2_threshold") },
	"token-mean with filters": func(c *Case) bool {
		return c.Params.String("loss_agg_mode") == "token-mean" && len(c.Params.Sub("train_infer_correction")["filters"].([]any)) > 0
	},
	"not TRL's token-level clip": func(c *Case) bool {
		return c.Params.String("importance_sampling_level") != "token" || c.Params.Has("delta") || strings.Contains(c.Source, "gmpo") ||
			!slices.Contains([]string{"grpo", "bnpo", "dr_grpo", "dapo"}, c.Params.String("loss_type"))
	},
	"LUSPO by token": func(c *Case) bool {
		return c.Params.String("loss_type") == "luspo" && c.Params.String("importance_sampling_level") == "token"
	},
	"GSPO or CISPO": func(c *Case) bool {
		return slices.Contains([]string{"gspo", "cispo"}, c.Params.String("advantage_estimator"))
	},
	"no entropies": func(c *Case) bool { return !c.Inputs.Has("entropy") },
	"normalises sequences": func(c *Case) bool {
		return c.Params.Bool("tis_batch_normalize") && c.Params.String("tis_level") == "sequence"
	},
	"empty response": func(c *Case) bool {
		return slices.ContainsFunc(c.Inputs.Matrix("mask"), func(row []float64) bool { return !slices.Contains(row, 1) })
	},
	"raised on whitening": func(c *Case) bool { return c.Raised() && !strings.Contains(c.Source, "passk") },
	"adaptive rho":        func(c *Case) bool { return c.Params.String("rho_type") == "kl" },
	"beyond the limit": func(c *Case) bool { // of the overlong punishment
		return overlongCase(c) && slices.Max(c.Inputs.Flat("lengths")) > c.Params.Float("max_response_length")
	},
}

// countTokens is the number of valid tokens of the case, -1 where it has no mask.
func countTokens(c *Case) int {
	for _, key := range []string{"response_mask", "loss_mask", "mask"} {
		if c.Inputs.Has(key) {
			return len(slices.DeleteFunc(c.Inputs.Flat(key), func(m float64) bool { return m == 0 }))
		}
	}
	return -1
}

// beyondCap reports whether the ratio of a valid token to the rollout is above the cap of prime-rl's losses.
func beyondCap(c *Case) bool {
	logp, roll := c.Inputs.Flat("logp"), c.Inputs.Flat("rollout_logp")
	for n, m := range c.Inputs.Flat("mask") {
		if m != 0 && math.Exp(logp[n]-roll[n]) > c.Params.Float("max_importance_ratio") {
			return true
		}
	}
	return false
}

// isNaN reports whether the loss is there and is NaN.
func isNaN(c *Case) bool { return c.Outputs.Has("loss") && math.IsNaN(c.Outputs.Float("loss")) }

// finite reports whether every number is.
func finite(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}
