package golden

import "math"

// listedLoss are the rows of package trainer/loss.
var listedLoss = []Listing{
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
}

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
