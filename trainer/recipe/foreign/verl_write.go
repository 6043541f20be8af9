package foreign

import (
	"fmt"
	"strings"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
)

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
	var actor []string
	whole, part := w.minibatches(r)
	if part > 0 {
		text = fmt.Sprintf("data: {train_batch_size: %d} # with another: ppo_mini_batch_size = train_batch_size / %d\n", whole, whole/part) + text
		actor = append(actor, fmt.Sprintf("ppo_mini_batch_size: %d", part))
	}
	if mode := r.Routing.Replay; mode == recipe.ReplayR2 || mode == recipe.ReplayR3 {
		actor = append(actor, "router_replay: {mode: "+strings.ToUpper(mode)+"}")
	}
	if own := verlPolicyLoss(r); own != "" && p.Mode != correction.Bypass {
		actor = append(actor, own)
	}
	if len(actor) > 0 {
		text += ", actor: {" + strings.Join(actor, ", ") + "}"
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
