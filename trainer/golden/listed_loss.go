package golden

import (
	"math"
	"slices"
	"strings"
)

// listedLoss are the rows of package trainer/loss.
var listedLoss = slices.Concat([]Listing{
	{
		File: "verl/*.json", Output: "*loss",
		When:   func(c *Case) bool { return !anyToken(c) && (isNaN(c, "loss") || isNaN(c, "vf_loss")) },
		Reason: "no valid token: verl returns 0/0, a NaN to be logged; we return 0, and both have gradient 0",
	},
	{
		File: "verl/agg_loss*.json", Output: "loss",
		When:   func(c *Case) bool { return !finite(c.Inputs.Flat("loss_mat")) && isNaN(c, "loss") },
		Reason: "NaN or Inf in the padding: verl's seq-mean forms multiply by the mask and let it through; we never read masked tokens",
	},
	{
		File: "verl/policy_loss_*.json", Output: "metrics/actor/pg_clipfrac_lower",
		When: func(c *Case) bool {
			return slices.ContainsFunc([]string{"_cispo ", "_gspo ", "_sapo "}, func(name string) bool { return strings.Contains(c.Source, name) }) &&
				c.Outputs.Sub("metrics").Float("actor/pg_clipfrac_lower") == 0
		},
		Reason: "verl logs a constant 0 for methods that have no lower clip; we log nothing",
	},
	{
		File: "verl/policy_loss_sapo*.json", Output: "metrics/actor/pg_clipfrac",
		When:   func(c *Case) bool { return c.Outputs.Sub("metrics").Float("actor/pg_clipfrac") == 0 },
		Reason: "verl logs a constant 0: SAPO clips nothing; we log nothing",
	},
	{
		File: "papers/ctpo*.json", When: raised,
		Reason: "power 0: the authors' code raises TypeError (torch.exp of a Python float); ours computes bounds that do not grow",
	},
	{
		File: "papers/m2po*.json", When: raised, SecondSet: true,
		Reason: "the authors' solver returns a bare number in some branches and their caller raises TypeError; ours returns no clip",
	},
}, listOutputs("papers/vespo*.json", "",
	"tallies of the authors' logging: parameters echoed, splits by sign, counts of noise; the means and ranges of w_seq and phi are matched",
	"metrics/vespo/k_*", "metrics/vespo/lambda_*", "metrics/vespo/log_w_*", "metrics/vespo/*pos*", "metrics/vespo/*neg*",
	"metrics/vespo/*tis*", "metrics/vespo/w_seq_std"),
)

// listOutputs lists several outputs for one reason.
func listOutputs(file, source, reason string, outputs ...string) []Listing {
	rows := make([]Listing, len(outputs))
	for i, o := range outputs {
		rows[i] = Listing{File: file, Source: source, Output: o, Reason: reason}
	}
	return rows
}

// raised reports whether the peer's call ended in an error.
func raised(c *Case) bool { _, ok := c.Outputs["error"]; return ok }

// anyToken reports whether the mask of a verl case has a valid token.
func anyToken(c *Case) bool {
	for _, key := range []string{"response_mask", "loss_mask"} {
		if c.Inputs.Has(key) {
			for _, m := range c.Inputs.Flat(key) {
				if m != 0 {
					return true
				}
			}
			return false
		}
	}
	return true
}

// isNaN reports whether the output is there and is NaN.
func isNaN(c *Case, output string) bool {
	return c.Outputs.Has(output) && math.IsNaN(c.Outputs.Float(output))
}

// finite reports whether every number is.
func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
