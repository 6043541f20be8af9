package foreign

import (
	"fmt"
	"strings"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
)

// verl: algorithm.rollout_correction, and what must be on for it.
var verl = framework{
	name: "verl",
	sections: []section{{"rollout_correction", []string{"rollout_is", "rollout_is_threshold", "rollout_is_batch_normalize",
		"rollout_rs", "rollout_rs_threshold", "bypass_mode", "loss_type", "_target_"}}},
	loose: []string{"rollout.calculate_log_probs", "router_replay.mode"},
	own:   []string{"rollout_is_", "rollout_rs_"},
	read:  readVerl, write: writeVerl,
}

func readVerl(v *values, c *Config) {
	config := correction.VerlConfig{
		IS: v.text("rollout_is", ""), ISThreshold: v.text("rollout_is_threshold", "2.0"), ISBatchNormalize: v.truth("rollout_is_batch_normalize", false),
		RS: v.text("rollout_rs", ""), RSThreshold: v.text("rollout_rs_threshold", ""),
		Bypass: v.truth("bypass_mode", false), LossType: v.choice("loss_type", "ppo_clip", "ppo_clip", "reinforce"),
	}
	p, err := config.Pipeline()
	if err != nil {
		s := v.by["rollout_is"]
		if strings.HasPrefix(err.Error(), "rollout_rs") {
			s = v.by["rollout_rs"]
		}
		v.fault(s, "%v", err)
		return
	}
	c.Pipeline = p
	if config.Bypass {
		c.Loss = config.LossType
		if config.IS != "" && config.LossType == "ppo_clip" {
			c.note("rollout_is is not applied: in bypass mode the ratio of ppo_clip holds the weight already")
		}
	}
	if (config.IS != "" || config.RS != "") && v.has("rollout.calculate_log_probs") && !v.truth("rollout.calculate_log_probs", true) {
		c.Off = "calculate_log_probs is false, so there are no log-probs of the rollout engine"
	}
	switch mode := v.choice("router_replay.mode", "disabled", "disabled", "R2", "R3"); mode {
	case "R2", "R3":
		c.Routing = "{replay: " + strings.ToLower(mode) + "}"
	}
}

func writeVerl(r recipe.Recipe) (string, []string) {
	w, p := &writing{framework: "verl"}, r.Correction.Pipeline()
	fields := []string{"rollout_is: null"}
	switch x := p.Weights.(type) {
	case nil:
	case *correction.TokenTIS:
		fields = []string{"rollout_is: token", "rollout_is_threshold: " + number(x.Cap)}
		w.unless(x.Floor == 0, "a floor of weights")
	case *correction.SequenceTIS:
		fields = []string{"rollout_is: sequence", "rollout_is_threshold: " + number(x.Cap)}
		w.unless(x.Floor == 0, "a floor of weights")
	case *correction.IcePop:
		fields = []string{"rollout_is: token", fmt.Sprintf("rollout_is_threshold: %q", band(x.Low, x.High))}
	case *correction.SequenceMIS:
		fields = []string{"rollout_is: sequence", fmt.Sprintf("rollout_is_threshold: %q", band(x.Low, x.High))}
	default:
		w.cannot("weights " + r.Correction.Weights.Name)
	}
	if p.BatchNormalize {
		fields = append(fields, "rollout_is_batch_normalize: true")
	}
	var modes, thresholds []string
	for i, m := range p.Masks {
		switch x := m.(type) {
		case *correction.K1Rejection:
			modes, thresholds = append(modes, r.Correction.Masks[i].Name), append(thresholds, band(x.Low, x.High))
		case *correction.DivergenceRejection:
			modes, thresholds = append(modes, r.Correction.Masks[i].Name), append(thresholds, number(x.High))
		case *correction.Geometric:
			modes, thresholds = append(modes, "seq_mean_k1"), append(thresholds, w.inverse(x.Low, x.High))
		case *correction.SequenceMask:
			modes, thresholds = append(modes, "seq_sum_k1"), append(thresholds, w.inverse(x.Low, x.High))
		case *correction.TokenMask:
			modes, thresholds = append(modes, "token_k1"), append(thresholds, w.inverse(x.Low, x.High))
		default:
			w.cannot("mask " + r.Correction.Masks[i].Name)
		}
	}
	if len(modes) > 0 {
		fields = append(fields, "rollout_rs: "+quotedIf(strings.Join(modes, ",")), fmt.Sprintf("rollout_rs_threshold: %q", strings.Join(thresholds, ",")))
	}
	if p.Mode == correction.Bypass {
		fields = append(fields, "bypass_mode: true", "loss_type: "+r.Loss.Name)
	}
	text := "algorithm: {rollout_correction: {" + strings.Join(fields, ", ") + "}}\nactor_rollout_ref: {rollout: {calculate_log_probs: true}"
	if mode := r.Routing.Replay; mode == recipe.ReplayR2 || mode == recipe.ReplayR3 {
		text += ", actor: {router_replay: {mode: " + strings.ToUpper(mode) + "}}"
	}
	return text + "}\n", w.notes
}

// quotedIf quotes a text that a list in braces would be cut by.
func quotedIf(s string) string {
	if strings.Contains(s, ",") {
		return fmt.Sprintf("%q", s)
	}
	return s
}
