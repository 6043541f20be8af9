package golden

import (
	"fmt"
	"math"
	"strings"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
)

// text is a threshold as verl's configuration has it: a number or a string.
func text(v Values, key string) string {
	if !v.Has(key) {
		return ""
	}
	return fmt.Sprint(v[key])
}

// verlConfig reads verl's fields from a case's parameters or outputs.
func verlConfig(v Values) correction.VerlConfig {
	return correction.VerlConfig{IS: text(v, "rollout_is"), ISThreshold: text(v, "rollout_is_threshold"),
		ISBatchNormalize: v.Bool("rollout_is_batch_normalize"), RS: text(v, "rollout_rs"),
		RSThreshold: text(v, "rollout_rs_threshold"), Bypass: v.Bool("bypass_mode"), LossType: text(v, "loss_type")}
}

// claimMetrics compares every metric of the pipeline with the case's, and
// leaves those only the case has unclaimed, so that golden reports them.
func claimMetrics(c *Case, k *Check, got []batch.Metric, prefix string) {
	for _, m := range got {
		name := m.Name
		if _, ok := c.Outputs.Sub("metrics")[name]; !ok {
			name = strings.TrimPrefix(name, prefix)
		}
		if _, ok := c.Outputs.Sub("metrics")[name]; ok {
			k.Metric("metrics", name, settled(m.Value, c.Outputs.Sub("metrics"), name))
		}
	}
}

// settled takes the peer's value of a standard deviation that is the root of
// the difference of two means, where the squares agree to the rounding of those
// means: the root of what cancels has half the digits.
func settled(got float64, metrics Values, name string) float64 {
	if !strings.HasSuffix(name, "_std") || strings.HasSuffix(name, "_seq_std") {
		return got
	}
	want := metrics.Float(name)
	scale := max(1, math.Pow(metrics.FloatOr(strings.TrimSuffix(name, "_std")+"_mean", 0), 2))
	if math.Abs(got*got-want*want) <= 1e-14*scale {
		return want
	}
	return got
}

// masking takes the peer's entries where the mask is false, because its code
// leaves there whatever the padding was.
func masking(c *Case, key string, mask []bool, got []float64) []float64 {
	want := c.Outputs.Flat(key)
	if len(want) != len(mask) {
		return got
	}
	merged := append([]float64(nil), want...)
	for n, counts := range mask {
		if counts {
			merged[n] = got[n]
		}
	}
	return merged
}

func numbers(mask []bool) []float64 {
	x := make([]float64, len(mask))
	for n, m := range mask {
		if m {
			x[n] = 1
		}
	}
	return x
}

// A preset of ours must be the pipeline of verl's fields; a preset called with
// other thresholds must be read into the same methods.
func matchPreset(c *Case, k *Check) {
	want, err := verlConfig(c.Outputs).Pipeline()
	if !k.OK(err) {
		return
	}
	name := strings.TrimPrefix(c.Name, "preset/")
	if p, err := correction.LookupPreset(name); err == nil {
		if got := describe(p.New()); got != describe(want) {
			k.Fail("preset %s is %s, verl's is %s", name, got, describe(want))
		}
		k.Equal("loss_type", p.Loss)
	} else {
		k.Equal("loss_type", verlConfig(c.Outputs).LossType)
	}
	// What the pipeline holds must read back as the fields it was made from.
	for field, value := range fieldsOf(want, verlConfig(c.Outputs)) {
		k.Equal(field, value)
	}
	k.Equal("_target_", "")
}

// describe prints what a pipeline does.
func describe(p *correction.Pipeline) string {
	s := fmt.Sprintf("%s %s %s norm=%v weights=%T%+v", p.Mode, p.Order, p.Denominator, p.BatchNormalize, p.Weights, p.Weights)
	for _, m := range p.Masks {
		s += fmt.Sprintf(" %T%+v", m, m)
	}
	return s
}

// fieldsOf writes a pipeline as verl's fields. Thresholds of unused parts have
// no place in a pipeline and are taken from the configuration.
func fieldsOf(p *correction.Pipeline, c correction.VerlConfig) map[string]any {
	f := map[string]any{"rollout_is": nil, "rollout_is_threshold": any(2.0), "rollout_rs": nil, "rollout_rs_threshold": nil,
		"rollout_is_batch_normalize": p.BatchNormalize, "bypass_mode": p.Mode == correction.Bypass}
	switch w := p.Weights.(type) {
	case *correction.TokenTIS:
		f["rollout_is"], f["rollout_is_threshold"] = "token", w.Cap
	case *correction.SequenceTIS:
		f["rollout_is"], f["rollout_is_threshold"] = "sequence", w.Cap
	case *correction.IcePop:
		f["rollout_is"], f["rollout_is_threshold"] = "token", fmt.Sprintf("%s_%s", decimal(w.Low), decimal(w.High))
	}
	for _, m := range p.Masks {
		switch m := m.(type) {
		case *correction.K1Rejection:
			f["rollout_rs"], f["rollout_rs_threshold"] = ruleName(m), fmt.Sprintf("%s_%s", decimal(m.Low), decimal(m.High))
		case *correction.DivergenceRejection:
			f["rollout_rs"], f["rollout_rs_threshold"] = ruleName(m), m.High
		}
	}
	return f
}

// ruleName is the name of a rule in verl's configuration and figures.
func ruleName(m correction.Masking) string {
	accounts, err := (&correction.Pipeline{Masks: []correction.Masking{m}}).Explain(correction.Worked(), correction.AtBatch)
	if err != nil {
		panic(err)
	}
	return accounts[0].Name
}

// decimal prints a number as Python does: 5.0, 0.75.
func decimal(x float64) string {
	s := fmt.Sprint(x)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func matchParse(c *Case, k *Check) {
	p := c.Params
	_, failed := c.Outputs["error"]
	switch {
	case strings.Contains(c.Source, "_parse_rollout_is_threshold"):
		low, high, err := correction.ParseBand(text(p, "threshold"))
		if failed {
			k.Error(err)
			return
		}
		k.Scalar("upper", high)
		if c.Outputs.Has("lower") {
			k.Scalar("lower", low)
		} else {
			k.Equal("lower", nil)
			if low != 0 {
				k.Fail("lower is %v, want none", low)
			}
		}
	case strings.Contains(c.Source, "_parse_rollout_rs_thresholds"):
		masks, err := correction.ParseRejection(strings.Join(p.Strings("options"), ","), text(p, "threshold"))
		if failed {
			k.Error(err)
			return
		}
		// An entry is an object of two bounds: compare it as a list.
		want := c.Outputs.Sub("thresholds")
		for name, entry := range want {
			bounds := Values(entry.(map[string]any))
			list := []any{bounds["upper"]}
			if bounds.Has("lower") {
				list = append(list, bounds["lower"])
			}
			want[name] = list
		}
		for _, m := range masks {
			switch m := m.(type) {
			case *correction.K1Rejection:
				k.MetricVector("thresholds", ruleName(m), []float64{m.High, m.Low})
			case *correction.DivergenceRejection:
				k.MetricVector("thresholds", ruleName(m), []float64{m.High})
			}
		}
	case strings.Contains(c.Source, "compute_rollout_rejection_mask"):
		_, err := correction.ParseRejection(text(p, "rollout_rs"), text(p, "rollout_rs_threshold"))
		k.Error(err)
	default:
		_, err := verlConfig(c.Params).Pipeline()
		k.Error(err)
	}
}
