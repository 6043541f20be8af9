package correction

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"driftlab/trainer/method"
)

// VerlConfig is verl's algorithm.rollout_correction block, field by field.
type VerlConfig struct {
	// IS is rollout_is: "", "token" or "sequence".
	IS string `yaml:"rollout_is"`
	// ISThreshold is rollout_is_threshold: a cap, "2.0", or a band, "0.5_5.0", which is IcePop.
	ISThreshold string `yaml:"rollout_is_threshold"`
	// ISBatchNormalize is rollout_is_batch_normalize.
	ISBatchNormalize bool `yaml:"rollout_is_batch_normalize"`
	// RS is rollout_rs: "" or rejection modes joined by commas.
	RS string `yaml:"rollout_rs"`
	// RSThreshold is rollout_rs_threshold: one threshold for all modes or one per mode, joined by commas.
	RSThreshold string `yaml:"rollout_rs_threshold"`
	// Bypass is bypass_mode.
	Bypass bool `yaml:"bypass_mode"`
	// LossType is loss_type: "ppo_clip", or in bypass mode "reinforce". With
	// ppo_clip in bypass mode the ratio already contains the weight, and IS is not applied.
	LossType string `yaml:"loss_type"`
}

// Pipeline returns the same correction as a Pipeline.
func (c VerlConfig) Pipeline() (*Pipeline, error) {
	p := &Pipeline{Mode: Decoupled, Order: Independent, Denominator: Post, Names: "verl"}
	if c.Bypass {
		p.Mode = Bypass
	}
	if c.IS != "" && !(c.Bypass && c.LossType == "ppo_clip") {
		w, err := verlWeighting(c.IS, c.ISThreshold)
		if err != nil {
			return nil, err
		}
		p.Weights, p.BatchNormalize = w, c.ISBatchNormalize
	}
	if c.RS != "" {
		masks, err := ParseRejection(c.RS, c.RSThreshold)
		if err != nil {
			return nil, err
		}
		p.Masks = masks
	}
	return p, p.Validate()
}

// verlWeighting is verl's rollout_is with its threshold.
func verlWeighting(level, threshold string) (Weighting, error) {
	if err := oneOf("rollout_is", level, "token", "sequence"); err != nil {
		return nil, err
	}
	low, high, err := ParseBand(threshold)
	if err != nil {
		return nil, fmt.Errorf("rollout_is_threshold: %w", err)
	}
	switch {
	case level == "token" && low > 0:
		return &IcePop{Low: low, High: high}, nil
	case level == "token":
		return &TokenTIS{Cap: high}, nil
	case low > 0:
		return &SequenceMIS{Low: low, High: high}, nil
	}
	return &SequenceTIS{Cap: high}, nil
}

// ParseBand reads verl's rollout_is_threshold: "2.0" is a cap with low 0,
// "0.5_5.0" a band.
func ParseBand(spec string) (low, high float64, err error) {
	spec = strings.TrimSpace(spec)
	lowText, highText, banded := strings.Cut(spec, "_")
	if !banded {
		highText = spec
	} else if low, err = positive(lowText); err != nil {
		return 0, 0, fmt.Errorf("threshold %q: %w", spec, err)
	}
	if high, err = positive(highText); err != nil {
		return 0, 0, fmt.Errorf("threshold %q: %w", spec, err)
	}
	if low > high {
		return 0, 0, fmt.Errorf("threshold %q: lower bound above upper bound", spec)
	}
	return low, high, nil
}

// ParseRejection reads verl's rollout_rs and rollout_rs_threshold. Modes that
// occur twice count once, and thresholds match what is left. A k1 threshold is
// "low_high" in ratio units, or u for 1/u and u; the others take one number.
func ParseRejection(modes, thresholds string) ([]Masking, error) {
	var names []string
	for name := range strings.SplitSeq(modes, ",") {
		name = strings.TrimSpace(name)
		if name == "" || slices.Contains(names, name) {
			continue
		}
		if err := oneOf("rollout_rs", name, rejectionModes()...); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("rollout_rs %q names no mode", modes)
	}
	var specs []string
	for spec := range strings.SplitSeq(thresholds, ",") {
		if spec = strings.TrimSpace(spec); spec != "" {
			specs = append(specs, spec)
		}
	}
	if len(specs) != 1 && len(specs) != len(names) {
		return nil, fmt.Errorf("rollout_rs_threshold %q has %d thresholds, need 1 or %d", thresholds, len(specs), len(names))
	}
	masks := make([]Masking, len(names))
	for i, name := range names {
		m, err := thresholded(name, specs[min(i, len(specs)-1)])
		if err != nil {
			return nil, fmt.Errorf("rollout_rs_threshold for %s: %w", name, err)
		}
		masks[i] = m
	}
	return masks, nil
}

// thresholded builds one mode with its threshold.
func thresholded(name, spec string) (Masking, error) {
	mask := newRejection(name)
	switch m := mask.(type) {
	case *K1Rejection:
		low, high, err := ParseBand(spec)
		if err != nil {
			return nil, err
		}
		if low == 0 {
			low = 1 / high
		}
		m.Low, m.High = low, high
	case *DivergenceRejection:
		high, err := positive(spec)
		if err != nil {
			return nil, err
		}
		m.High = high
	}
	return mask, method.Check(mask)
}

// rejectionModes are the names of the eleven modes, in the order of Masks.
func rejectionModes() []string {
	var names []string
	for _, e := range Masks {
		if _, ok := e.New().(measured); ok {
			names = append(names, e.Name)
		}
	}
	return names
}

// positive reads a positive decimal number. Go's other spellings are refused:
// an underscore is the mark of a band, which it would swallow, and Python reads
// no hexadecimal.
func positive(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	switch {
	case err != nil || strings.ContainsAny(text, "_xXpP"):
		return 0, fmt.Errorf("%q is not a number", text)
	case !(x > 0):
		return 0, fmt.Errorf("%v is not positive", x)
	}
	return x, nil
}
