package foreign

import (
	"fmt"
	"math"
	"strings"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// skyrl: trainer.algorithm.off_policy_correction, and the loss where the correction
// changes what it means.
var skyrl = framework{
	name: "skyrl",
	sections: []section{{"off_policy_correction", []string{"tis_ratio_type", "token_tis_ratio_clip_high", "sequence_tis_ratio_clip_high",
		"sequence_mask_metric", "geo_mask_high", "geo_mask_low", "product_mask_high", "product_mask_low",
		"outlier_token_is_threshold_low", "outlier_token_is_threshold_high", "token_mask_is_threshold_low", "token_mask_is_threshold_high"}}},
	loose:  []string{"generator.sampling_params.logprobs"},
	own:    []string{"tis_ratio_type", "geo_mask", "product_mask", "outlier_token_is"},
	blocks: []string{"trainer.algorithm.", "trainer.", "generator."},
	table:  skyrlTable,
	read:   readSkyRL, write: writeSkyRL,
	unset: `
kl={name: k3, coef: 0.001, in: loss}
advantage={name: grpo, std: true}
rollout.group=5
rollout.temperature=1
rollout.top_p=1
learner.epochs=1`,
}

func readSkyRL(v *values, c *Config) {
	p := &correction.Pipeline{Order: correction.Sequential, Names: "skyrl"}
	c.Pipeline = p
	if v.has("outlier_token_is_threshold_low") || v.has("outlier_token_is_threshold_high") {
		p.Masks = append(p.Masks, &correction.Outlier{Low: v.number("outlier_token_is_threshold_low", 0), High: v.number("outlier_token_is_threshold_high", math.Inf(1))})
	}
	low, high := v.has("token_mask_is_threshold_low"), v.has("token_mask_is_threshold_high")
	switch {
	case low && high:
		p.Masks = append(p.Masks, &correction.TokenMask{Low: v.number("token_mask_is_threshold_low", 0), High: v.number("token_mask_is_threshold_high", 0)})
	case low != high:
		c.note("token_mask_is_threshold_* has one bound, and does nothing without the other")
	}
	p.WeightsAfter = len(p.Masks)
	c.takeTruncated(v, "generator.apply_overlong_filtering")
	switch v.choice("tis_ratio_type", "", "token", "sequence") {
	case "token":
		p.Weights = &correction.TokenTIS{Cap: v.number("token_tis_ratio_clip_high", 2)}
	case "sequence":
		p.Weights = &correction.SequenceTIS{Cap: v.number("sequence_tis_ratio_clip_high", 5)}
	}
	switch v.choice("sequence_mask_metric", "", "product", "geometric") {
	case "product":
		p.Masks = append(p.Masks, &correction.SequenceMask{Low: v.number("product_mask_low", 0.5), High: v.number("product_mask_high", 2)})
	case "geometric":
		p.Masks = append(p.Masks, &correction.Geometric{Low: v.number("geo_mask_low", 0.99), High: v.number("geo_mask_high", 1.01)})
	}
	if cap := skyrlAlgorithm + "tis_imp_ratio_cap"; p.Weights == nil && v.truth(skyrlAlgorithm+"use_tis", false) { // before off_policy_correction
		if x := v.number(cap, 2); x >= 1 {
			p.Weights = &correction.TokenTIS{Cap: x}
		}
	} else {
		v.leave(cap, "use_tis is not true")
	}
	skyrlLoss(v, c)
	skyrlRest(v, c)
	switch on := p.Weights != nil || len(p.Masks) > 0; {
	case on && v.nulled("generator.sampling_params.logprobs"):
		c.Off = "generator.sampling_params.logprobs is null, so there are no log-probs of the rollout engine"
	case !on && low != high:
		c.Off = "token_mask_is_threshold_* has one bound of two"
	}
}

func writeSkyRL(r recipe.Recipe) (string, []string) {
	w, p := &writing{framework: "SkyRL"}, r.Correction.Pipeline()
	var fields []string
	say := func(key, value string) { fields = append(fields, key+": "+value) }
	switch x := p.Weights.(type) {
	case nil:
		say("tis_ratio_type", "null")
	case *correction.TokenTIS:
		say("tis_ratio_type", "token")
		say("token_tis_ratio_clip_high", number(x.Cap))
		w.unless(x.Floor == 0, "a floor of weights")
	case *correction.SequenceTIS:
		say("tis_ratio_type", "sequence")
		say("sequence_tis_ratio_clip_high", number(x.Cap))
		w.unless(x.Floor == 0, "a floor of weights")
	default:
		w.cannot("weights " + r.Correction.Weights.Name)
	}
	for i, m := range p.Masks {
		switch x := m.(type) {
		case *correction.Geometric:
			say("sequence_mask_metric", "geometric")
			say("geo_mask_low", number(x.Low))
			say("geo_mask_high", number(x.High))
		case *correction.SequenceMask:
			say("sequence_mask_metric", "product")
			say("product_mask_low", number(x.Low))
			say("product_mask_high", number(x.High))
		case *correction.Outlier:
			if x.Low > 0 {
				say("outlier_token_is_threshold_low", number(x.Low))
			}
			if !math.IsInf(x.High, 1) {
				say("outlier_token_is_threshold_high", number(x.High))
			}
		case *correction.TokenMask:
			say("token_mask_is_threshold_low", number(x.Low))
			say("token_mask_is_threshold_high", number(x.High))
		default:
			w.cannot("mask " + r.Correction.Masks[i].Name)
		}
	}
	w.unless(!p.BatchNormalize, "normalised weights")
	algorithm := ""
	if l, ok := r.Loss.Params.(*loss.GSPOToken); ok {
		algorithm = fmt.Sprintf("policy_loss_type: gspo, eps_clip_low: %v, eps_clip_high: %v, ", l.EpsLow, l.EpsHigh)
		w.unless(l.RatioMask == "pre" || len(p.Masks) == 0, "sequence ratio over the tokens that a mask leaves: its mean is over all of them (ratio_mask: pre)")
	}
	batches, other := "", ""
	if whole, part := w.minibatches(r); part > 0 {
		batches = fmt.Sprintf("train_batch_size: %d, policy_mini_batch_size: %d, ", whole, part)
		other = fmt.Sprintf(" # with another train_batch_size: policy_mini_batch_size = train_batch_size / %d", whole/part)
	}
	return "trainer: {" + batches + "algorithm: {" + algorithm + "off_policy_correction: {" + strings.Join(fields, ", ") + "}}}" + other + "\ngenerator: {sampling_params: {logprobs: 1}}\n", w.notes
}
