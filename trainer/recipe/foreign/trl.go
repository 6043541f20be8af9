package foreign

import (
	"fmt"
	"math"
	"strings"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
)

// trl: fields of GRPOConfig. Without any of them the correction is on.
var trl = framework{
	name: "trl", program: "GRPOConfig",
	loose: []string{"vllm_importance_sampling_correction", "vllm_importance_sampling_mode", "vllm_importance_sampling_clip_max",
		"vllm_importance_sampling_clip_min", "vllm_importance_sampling_cap", "off_policy_mask_threshold", "use_vllm"},
	own:   []string{"vllm_importance_sampling", "off_policy_mask"},
	table: trlTable,
	read:  readTRL, write: writeTRL,
	unset: `
kl={name: none}
advantage={name: grpo, std: true}
rollout.group=8
rollout.temperature=1
rollout.top_p=1
learner.epochs=1`,
}

func readTRL(v *values, c *Config) {
	p := &correction.Pipeline{Denominator: correction.Pre, Clamp: math.Inf(1)}
	c.Pipeline = p
	c.takeTruncated(v, "mask_truncated_completions")
	if trlRest(v, c) { // the asynchronous trainer's ratio is to the rollout engine itself
		p.Mode = correction.Bypass
		if !v.any("vllm_importance_sampling_correction", "vllm_importance_sampling_mode") {
			return
		}
	}
	high := v.number("vllm_importance_sampling_clip_max", v.number("vllm_importance_sampling_cap", 3))
	low := v.number("vllm_importance_sampling_clip_min", 0)
	if v.nulled("vllm_importance_sampling_clip_max") {
		high = 1e9
		c.note("vllm_importance_sampling_clip_max None: 1e9 stands for no bound")
	}
	mode := v.choice("vllm_importance_sampling_mode", "sequence_mask", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask")
	if v.truth("vllm_importance_sampling_correction", true) {
		switch mode {
		case "token_truncate":
			p.Weights = &correction.TokenTIS{Cap: high, Floor: low}
		case "token_mask":
			p.Weights = &correction.TokenMIS{Low: low, High: high}
		case "sequence_truncate":
			p.Weights = &correction.SequenceTIS{Cap: high, Floor: low}
		case "sequence_mask":
			p.Weights = &correction.SequenceMIS{Low: low, High: high}
		}
		if v.has("use_vllm") && !v.truth("use_vllm", true) {
			c.Off = "use_vllm is false, so there is no other engine to correct for"
		}
	} else if v.has("vllm_importance_sampling_mode") || v.has("vllm_importance_sampling_clip_max") {
		c.Off = "vllm_importance_sampling_correction is false"
	}
	if v.has("off_policy_mask_threshold") {
		p.Masks = append(p.Masks, &correction.OPSM{Delta: v.number("off_policy_mask_threshold", 0), Signs: correction.Negative})
	}
}

func writeTRL(r recipe.Recipe) (string, []string) {
	w, p := &writing{framework: "TRL"}, r.Correction.Pipeline()
	args := []string{"vllm_importance_sampling_correction=True"}
	weigh := func(mode string, low, high float64) {
		args = append(args, fmt.Sprintf("vllm_importance_sampling_mode=%q", mode), "vllm_importance_sampling_clip_max="+number(high))
		if low > 0 {
			args = append(args, "vllm_importance_sampling_clip_min="+number(low))
		}
	}
	switch x := p.Weights.(type) {
	case nil:
		args = []string{"vllm_importance_sampling_correction=False"}
	case *correction.TokenTIS:
		weigh("token_truncate", x.Floor, x.Cap)
	case *correction.SequenceTIS:
		weigh("sequence_truncate", x.Floor, x.Cap)
	case *correction.TokenMIS:
		weigh("token_mask", x.Low, x.High)
	case *correction.IcePop:
		weigh("token_mask", x.Low, x.High)
		w.unless(!x.Binary, "weights of 0 and 1")
	case *correction.SequenceMIS:
		weigh("sequence_mask", x.Low, x.High)
	default:
		w.cannot("weights " + r.Correction.Weights.Name)
	}
	for i, m := range p.Masks {
		if x, ok := m.(*correction.OPSM); ok {
			args = append(args, "off_policy_mask_threshold="+number(x.Delta))
		} else {
			w.cannot(r.Correction.Masks[i].Name)
		}
	}
	w.unless(!p.BatchNormalize, "normalised weights")
	args = append(args, trlPolicyLoss(r)...)
	return "GRPOConfig(" + strings.Join(args, ", ") + ")\n", w.notes
}
