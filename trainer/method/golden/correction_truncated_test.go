package golden

import (
	"slices"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
)

// truncation applies the mask to responses of which these have ended.
func truncation(k *Check, mask [][]float64, finished []bool) *batch.Batch {
	b := Batch(mask)
	b.Finished, b.Anchor, b.LogpRoll = finished, make([]float64, b.Tokens()), make([]float64, b.Tokens())
	k.OK((&correction.Pipeline{Masks: []correction.Masking{&correction.Truncated{}}}).Apply(b, correction.AtBatch))
	return b
}

// matchTRLTruncated: a response is complete if its last token ends or pads it.
func matchTRLTruncated(c *Case, k *Check) {
	ends := []float64{c.Params.Float("eos_token_id"), c.Params.Float("pad_token_id")}
	mask := c.Inputs.Matrix("mask")
	var finished []bool
	var cut []float64
	for i, tokens := range c.Inputs.Matrix("completion_ids") {
		ended := slices.Contains(ends, tokens[len(tokens)-1])
		finished, cut = append(finished, ended), append(cut, count(!ended))
		if c.Inputs.Has("tool_mask") {
			for n, m := range c.Inputs.Matrix("tool_mask")[i] {
				mask[i][n] *= m
			}
		}
	}
	b := truncation(k, mask, finished)
	k.Mask("loss_mask", b.LossMask)
	k.Vector("is_truncated", cut)
	tokens := 0.0
	for _, kept := range b.LossMask {
		tokens += count(kept)
	}
	k.Scalar("num_items_in_batch", tokens)
}

func matchSkyRLOverlong(c *Case, k *Check) {
	var finished []bool
	for _, reason := range c.Inputs.Strings("stop_reasons") {
		finished = append(finished, reason == "stop")
	}
	k.Mask("loss_masks", truncation(k, c.Inputs.Matrix("loss_masks"), finished).LossMask)
}
