package foreign

import (
	"math"

	"driftlab/trainer/method/correction"
)

// openrlhf: three flags, under their names of old and of 2026.
var openrlhf = framework{
	name: "openrlhf",
	loose: []string{"enable_vllm_is_correction", "vllm_is_truncated_threshold", "vllm_is_correction_type",
		"is_correction_enable", "is_correction_threshold", "is_correction_type"},
	own:  []string{"vllm_is_", "is_correction_"},
	read: readOpenRLHF,
}

func readOpenRLHF(v *values, c *Config) {
	p := &correction.Pipeline{Clamp: math.Inf(1), Denominator: correction.Pre}
	c.Pipeline = p
	on, threshold, kind := "enable_vllm_is_correction", "vllm_is_truncated_threshold", "vllm_is_correction_type"
	if v.has("is_correction_enable") || v.has("is_correction_type") || v.has("is_correction_threshold.0") {
		on, threshold, kind = "is_correction_enable", "is_correction_threshold", "is_correction_type"
	}
	low, high := v.number(threshold+".0", 0.5), v.number(threshold+".1", 5)
	switch k := v.choice(kind, "tis", "tis", "icepop", "seq-mask-tis"); {
	case !v.truth(on, false):
		c.Off = on + " is not given"
	case k == "icepop":
		p.Weights = &correction.IcePop{Low: low, High: high}
	case k == "seq-mask-tis":
		p.Weights = &correction.TokenTIS{Cap: math.Inf(1)}
		p.Masks = []correction.Masking{&correction.Geometric{Low: low, High: high}}
		c.note("seq-mask-tis: the weights of what is kept are not clamped, against the comment beside them")
	default:
		p.Weights = &correction.TokenTIS{Cap: high, Floor: low}
	}
}
