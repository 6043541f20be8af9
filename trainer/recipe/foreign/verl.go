package foreign

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/trainer/method/correction"
)

const verlActor = "actor_rollout_ref.actor."

func verlConfig(v *values) correction.VerlConfig {
	c := correction.VerlConfig{
		IS: v.text("rollout_is", ""), ISThreshold: v.text("rollout_is_threshold", "2.0"), ISBatchNormalize: v.truth("rollout_is_batch_normalize", false),
		RS: v.text("rollout_rs", ""), RSThreshold: v.text("rollout_rs_threshold", ""),
		Bypass: v.truth("bypass_mode", false), LossType: v.choice("loss_type", "ppo_clip", "ppo_clip", "reinforce"),
	}
	if c.Bypass && !v.has("loss_type") && v.truth("use_policy_gradient", false) {
		c.LossType = "reinforce"
	}
	return c
}

// prepareVerl reads the correction, whose thresholds are lists in a text.
func prepareVerl(v *values, c *Config) {
	v.text("_target_", "")
	config := verlConfig(v)
	if v.has("loss_type") && !config.Bypass {
		v.leave("loss_type", "verl reads it in bypass mode alone")
	}
	older := verlOlder(v, &config)
	p, err := config.Pipeline()
	if err != nil {
		s := v.by["rollout_is"]
		if strings.HasPrefix(err.Error(), "rollout_rs") {
			s = v.by["rollout_rs"]
		}
		v.fault(s, "%v", err)
		return
	}
	p.Masks = append(p.Masks, older...)
	if v.has("rollout_token_veto_threshold") {
		p.Masks = append(p.Masks, &correction.Veto{Threshold: v.number("rollout_token_veto_threshold", 1)})
	}
	c.Pipeline = p
	// Without the old log-probs of its own the asynchronous trainer compares with the rollout engine's.
	const prox = "async_training.compute_prox_log_prob"
	if !v.has(prox) && p.Mode != correction.Bypass && (p.Weights != nil || len(p.Masks) > 0) {
		v.by[prox] = settingOf("true")
	}
	v.truth("async_training.use_rollout_log_probs", true)
}

func readVerl(v *values, c *Config) {
	config := verlConfig(v)
	if config.Bypass {
		if c.Loss == "" || config.LossType == "reinforce" {
			c.Loss = config.LossType
		}
		if config.IS != "" && config.LossType == "ppo_clip" {
			c.note("rollout_is is not applied: in bypass mode the ratio of ppo_clip holds the weight already")
		}
	}
	logged, corrects := v.truth("rollout.calculate_log_probs", true), config.IS != "" || config.RS != "" // in bypass mode they are the old log-probs, and there
	if corrects && !logged {
		c.Off = "calculate_log_probs is false, so there are no log-probs of the rollout engine"
	} else if corrects && !v.block && !config.Bypass && !v.has("rollout.calculate_log_probs") {
		c.note("actor_rollout_ref.rollout.calculate_log_probs is not set: true is the default, false that of older versions of verl, which corrects nothing: set it")
	}
	v.truth("actor_rollout_ref.rollout.enable_rollout_routing_replay", false)
	if v.truth(verlActor+"use_kl_loss", false) && v.truth("algorithm.use_kl_in_reward", false) {
		v.leave("algorithm.use_kl_in_reward", "a recipe has one penalty: that of the loss is taken")
	}
	v.leaveUnread("another trainer runs", "trainer.use_v1", "trainer.v1.trainer_mode", "trainer.v1.colocate_async.num_warmup_batches", "trainer.v1.separate_async.num_warmup_batches",
		"trainer.v1.separate_async.parameter_sync_step", "trainer.v1.sampler.max_off_policy_threshold", "trainer.v1.sampler.max_off_policy_strategy")
}

// verlOlder are the masks of 2025: a level and one threshold for each side of the ratio.
// verl-recipe rep_exp/config/algorithm/rollout_correction.yaml.
func verlOlder(v *values, config *correction.VerlConfig) []correction.Masking {
	level := config.RS
	if !slices.Contains([]string{"token", "sequence", "geometric"}, level) {
		if v.has("rollout_rs_threshold_lower") {
			v.text("rollout_rs_threshold_lower", "")
			v.leave("rollout_rs_threshold_lower", "rollout_rs names no level that it bounds")
		}
		return nil
	}
	config.RS, config.RSThreshold = "", ""
	high := v.number("rollout_rs_threshold", v.number("rollout_is_threshold", 2))
	low := v.number("rollout_rs_threshold_lower", 1/high)
	switch level {
	case "token":
		return []correction.Masking{&correction.TokenMask{Low: low, High: high}}
	case "sequence":
		return []correction.Masking{&correction.SequenceMask{Low: low, High: high}}
	}
	return []correction.Masking{&correction.Geometric{Low: low, High: high}}
}

func writeVerl(w *writing) {
	p := w.pipeline
	switch x := p.Weights.(type) {
	case nil:
		w.set("rollout_is", "null")
	case *correction.TokenTIS:
		w.set("rollout_is", "token")
		w.set("rollout_is_threshold", number(x.Cap))
		w.unless(x.Floor == 0, "floor of token_tis")
	case *correction.SequenceTIS:
		w.set("rollout_is", "sequence")
		w.set("rollout_is_threshold", number(x.Cap))
		w.unless(x.Floor == 0, "floor of sequence_tis")
	case *correction.IcePop:
		w.unless(x.Low > 0, "lower bound 0 of a band")
		w.set("rollout_is", "token")
		w.set("rollout_is_threshold", band(x.Low, x.High))
	case *correction.SequenceMIS:
		w.unless(x.Low > 0, "lower bound 0 of a band")
		w.set("rollout_is", "sequence")
		w.set("rollout_is_threshold", band(x.Low, x.High))
	default:
		w.set("rollout_is", "null")
		w.cannot("weights " + w.recipe.Correction.Weights.Name)
	}
	if p.BatchNormalize {
		w.set("rollout_is_batch_normalize", "true")
	}
	var modes, thresholds []string
	for i, m := range p.Masks {
		name, threshold := w.recipe.Correction.Masks[i].Name, ""
		switch x := m.(type) {
		case *correction.K1Rejection:
			threshold = band(x.Low, x.High)
		case *correction.DivergenceRejection:
			threshold = number(x.High)
		case *correction.Geometric:
			name, threshold = "seq_mean_k1", w.inverse(x.Low, x.High)
		case *correction.SequenceMask:
			name, threshold = "seq_sum_k1", w.inverse(x.Low, x.High)
		case *correction.TokenMask:
			name, threshold = "token_k1", w.inverse(x.Low, x.High)
		default:
			w.cannot("mask " + name)
			continue
		}
		modes, thresholds = append(modes, name), append(thresholds, threshold)
	}
	if len(modes) > 0 {
		w.set("rollout_rs", strings.Join(modes, ","))
		w.set("rollout_rs_threshold", strings.Join(thresholds, ","))
	}
	if p.Mode == correction.Bypass {
		w.set("bypass_mode", "true")
		w.set("loss_type", w.recipe.Loss.Name)
	}
}

func (w *writing) unless(ok bool, what string) {
	if !ok {
		w.cannot(what)
	}
}

// inverse is a band of ρ as verl's k1 modes have it, as one of 1/ρ. A band that is its
// own inverse but for a thousandth is written as it is, as verl's documents have it, and
// others to six digits.
func (w *writing) inverse(low, high float64) string {
	if math.Abs(float64(low*high)-1) < 1e-3 {
		if low*high != 1 {
			w.notes = append(w.notes, fmt.Sprintf("%s bounds the inverse ratio: %s there is %.4f to %.4f of the ratio", w.framework.name, band(low, high), 1/high, 1/low))
		}
		return band(low, high)
	}
	return strconv.FormatFloat(1/high, 'g', 6, 64) + "_" + strconv.FormatFloat(1/low, 'g', 6, 64)
}

// band is verl's spelling of two bounds.
func band(low, high float64) string {
	if low == 0 { // which verl takes for a cap
		return number(high)
	}
	return number(low) + "_" + number(high)
}
