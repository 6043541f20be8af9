package correction

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strings"

	"driftlab/trainer/method"
)

// Preset is a published configuration of the whole correction.
type Preset struct {
	// Name is the code base's own name, SkyRL's with the prefix skyrl_.
	Name string `json:"name"`
	// Source is where it was read.
	Source string `json:"source"`
	// Loss is the policy loss it goes with: ppo_clip or reinforce.
	Loss string `json:"loss"`
	// New builds the pipeline with the code base's default thresholds.
	New func() *Pipeline `json:"-"`
}

const (
	verlSource  = "verl RolloutCorrectionConfig"
	skyrlSource = "SkyRL off_policy_correction recommended settings"
)

// Presets lists verl's presets by their names and SkyRL's recommended settings.
var Presets = []Preset{
	verlPreset("disabled", VerlConfig{}),
	verlPreset("decoupled_token_is", VerlConfig{IS: "token", ISThreshold: "2.0"}),
	verlPreset("decoupled_seq_is", VerlConfig{IS: "sequence", ISThreshold: "2.0"}),
	verlPreset("decoupled_seq_is_rs", VerlConfig{IS: "sequence", ISThreshold: "2.0", RS: "seq_sum_k1", RSThreshold: "0.5_2.0"}),
	verlPreset("decoupled_geo_rs", VerlConfig{RS: "seq_mean_k1", RSThreshold: "0.999_1.001"}),
	verlPreset("decoupled_geo_rs_seq_tis", VerlConfig{IS: "sequence", ISThreshold: "2.0", RS: "seq_mean_k1", RSThreshold: "0.999_1.001"}),
	verlPreset("decoupled_geo_rs_token_tis", VerlConfig{IS: "token", ISThreshold: "2.0", RS: "seq_mean_k1", RSThreshold: "0.999_1.001"}),
	verlPreset("decoupled_k3_rs", VerlConfig{RS: "seq_mean_k3", RSThreshold: "0.01"}),
	verlPreset("decoupled_k3_rs_seq_tis", VerlConfig{IS: "sequence", ISThreshold: "2.0", RS: "seq_mean_k3", RSThreshold: "0.01"}),
	verlPreset("decoupled_k3_rs_token_tis", VerlConfig{IS: "token", ISThreshold: "2.0", RS: "seq_mean_k3", RSThreshold: "0.01"}),
	verlPreset("decoupled_token_icepop", VerlConfig{IS: "token", ISThreshold: "0.5_5.0"}),
	verlPreset("bypass_ppo_clip", VerlConfig{Bypass: true}),
	verlPreset("bypass_ppo_clip_geo_rs", VerlConfig{Bypass: true, RS: "seq_mean_k1", RSThreshold: "0.999_1.001"}),
	verlPreset("bypass_ppo_clip_k3_rs", VerlConfig{Bypass: true, RS: "seq_mean_k3", RSThreshold: "0.01"}),
	verlPreset("bypass_pg_is", VerlConfig{Bypass: true, LossType: "reinforce", IS: "sequence", ISThreshold: "2.0"}),
	verlPreset("bypass_pg_geo_rs", VerlConfig{Bypass: true, LossType: "reinforce", RS: "seq_mean_k1", RSThreshold: "0.999_1.001"}),
	verlPreset("bypass_pg_geo_rs_seq_tis", VerlConfig{Bypass: true, LossType: "reinforce", IS: "sequence", ISThreshold: "2.0", RS: "seq_mean_k1", RSThreshold: "0.999_1.001"}),
	verlPreset("bypass_pg_geo_rs_token_tis", VerlConfig{Bypass: true, LossType: "reinforce", IS: "token", ISThreshold: "2.0", RS: "seq_mean_k1", RSThreshold: "0.999_1.001"}),
	verlPreset("bypass_pg_token_icepop", VerlConfig{Bypass: true, LossType: "reinforce", IS: "token", ISThreshold: "0.5_5.0"}),

	skyrlPreset("skyrl_token_tis", 0, &TokenTIS{Cap: 2}),
	skyrlPreset("skyrl_sequence_tis", 0, &SequenceTIS{Cap: 5}),
	skyrlPreset("skyrl_geometric", 0, nil, &Geometric{Low: 0.99, High: 1.01}),
	skyrlPreset("skyrl_product", 0, nil, &SequenceMask{Low: 0.5, High: 2}),
	skyrlPreset("skyrl_outlier", 0, nil, &Outlier{Low: 1e-4, High: 100}),
	skyrlPreset("skyrl_token_mask", 0, nil, &TokenMask{Low: 0.5, High: 2}),
	skyrlPreset("skyrl_all", 2, &TokenTIS{Cap: 2}, &Outlier{Low: 1e-4, High: 100},
		&TokenMask{Low: 0.5, High: 2}, &Geometric{Low: 0.99, High: 1.01}),

	{Name: "kpop", Source: "AReaL metric binary_kl@cbff54d64; prime-rl and verl kpop (bound of prime-rl)", Loss: "ppo_clip", New: func() *Pipeline {
		return &Pipeline{Clamp: unbounded, Weights: &TokenTIS{Cap: unbounded}, Denominator: Pre,
			Masks: []Masking{&Band{Level: "token", Statistic: "binary_kl", Aggregate: "mean", Floor: 1e-6, Low: -unbounded, High: 0.1}}}
	}},
	{Name: "flash_reinforce", Source: "yifanzhang-pro/FlashREINFORCE@d7604df3a; miles binary_kl_trust_region", Loss: "reinforce", New: func() *Pipeline {
		return &Pipeline{Mode: Bypass, Clamp: 30, Weights: &TokenTIS{Cap: unbounded}, Denominator: Pre,
			Masks: []Masking{&Band{Level: "sequence", Statistic: "roll_binary_kl", Aggregate: "mean", Floor: 1e-6, Low: -unbounded, High: 5e-3}}}
	}},
}

// Summary says what the preset does, in one line.
func (p Preset) Summary() string {
	pipeline := p.New()
	parts := []string{"old against rollout, once per batch"}
	if pipeline.Mode == Bypass {
		parts[0] = "no old policy: current against rollout, at every gradient step"
	}
	parameters := func(name string, m any) string {
		_, values, _ := strings.Cut(strings.TrimSuffix(flow(name, m), "}"), ", ")
		return strings.TrimSpace(name + " " + strings.ReplaceAll(values, ":", ""))
	}
	if pipeline.Weights != nil {
		parts = append(parts, "weights "+parameters(weightName(pipeline.Weights), pipeline.Weights))
	}
	for _, m := range pipeline.Masks {
		parts = append(parts, "mask "+parameters(maskName(m), m))
	}
	if len(parts) == 1 {
		parts = append(parts, "nothing is corrected")
	}
	return strings.Join(parts, "; ")
}

// LookupPreset finds a preset by name; the error names the nearest one.
func LookupPreset(name string) (Preset, error) {
	names := make([]string, len(Presets))
	for i, p := range Presets {
		if p.Name == name {
			return p, nil
		}
		names[i] = p.Name
	}
	return Preset{}, method.UnknownName(name, names)
}

// verlPreset is a preset of verl; its configuration is checked by a test.
func verlPreset(name string, c VerlConfig) Preset {
	c.LossType = cmp.Or(c.LossType, "ppo_clip")
	return Preset{Name: name, Source: verlSource, Loss: c.LossType, New: func() *Pipeline {
		p, err := c.Pipeline()
		if err != nil {
			panic("correction: preset " + name + ": " + err.Error())
		}
		return p
	}}
}

// skyrlPreset is a sequential pipeline with SkyRL's metric names. Its methods
// hold no state, so pipelines of one preset may share them.
func skyrlPreset(name string, weightsAfter int, w Weighting, masks ...Masking) Preset {
	return Preset{Name: name, Source: skyrlSource, Loss: "ppo_clip", New: func() *Pipeline {
		return &Pipeline{Mode: Decoupled, Order: Sequential, Denominator: Post, Names: "skyrl",
			Weights: w, Masks: masks, WeightsAfter: weightsAfter}
	}}
}

// Recipe writes the pipeline as the correction section of a recipe, in one line
// of YAML: every field and every parameter, so that it does not depend on
// defaults.
//
//	correction: {mode: decoupled, weights: {name: token_tis, cap: 2, floor: 0, from_turn: 0}, ...}
func (p *Pipeline) Recipe() string {
	fields := []string{"mode: " + string(cmp.Or(p.Mode, Decoupled))}
	if p.Weights != nil {
		fields = append(fields, "weights: "+flow(weightName(p.Weights), p.Weights), fmt.Sprintf("batch_normalize: %v", p.BatchNormalize))
	}
	if len(p.Masks) > 0 {
		masks := make([]string, len(p.Masks))
		for i, m := range p.Masks {
			masks[i] = flow(maskName(m), m)
		}
		fields = append(fields, "masks: ["+strings.Join(masks, ", ")+"]")
	}
	if p.Clamp != 0 {
		fields = append(fields, "clamp: "+scalar(p.Clamp))
	}
	fields = append(fields, "order: "+string(cmp.Or(p.Order, Independent)), fmt.Sprintf("weights_after: %d", p.WeightsAfter),
		"denominator: "+string(cmp.Or(p.Denominator, Post)), "names: "+cmp.Or(p.Names, "verl"))
	return "correction: {" + strings.Join(fields, ", ") + "}"
}

// flow writes a method with its parameters as a YAML flow mapping.
func flow(name string, m any) string {
	text := "{name: " + name
	for _, p := range parametersOf(m) {
		text += ", " + p.Name + ": " + p.Value
	}
	return text + "}"
}

// Parameter is one of a method, as YAML writes it.
type Parameter struct{ Name, Value string }

func parametersOf(m any) (list []Parameter) {
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		if tag := v.Type().Field(i).Tag.Get("yaml"); tag != "" {
			list = append(list, Parameter{tag, scalar(v.Field(i).Interface())})
		}
	}
	return list
}

// Rule is a method of a pipeline under its registered name.
type Rule struct {
	Name       string
	Unit       method.Unit
	Parameters []Parameter
}

// Rules are the weighting of the pipeline, nil without one, and its masks.
func (p *Pipeline) Rules() (weights *Rule, masks []Rule) {
	if e := entryOf(Weightings, p.Weights); p.Weights != nil && e.Name != "none" {
		weights = &Rule{e.Name, e.Unit, parametersOf(p.Weights)}
	}
	for _, m := range p.Masks {
		if e, err := Masks.Lookup(maskName(m)); err == nil {
			masks = append(masks, Rule{e.Name, e.Unit, parametersOf(m)})
		}
	}
	return weights, masks
}

// scalar writes a value as YAML does.
func scalar(x any) string {
	switch f, _ := x.(float64); {
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	return fmt.Sprint(x)
}

// entryOf is the registry's entry of the first method with the type of m, empty without one.
func entryOf[T any](table method.Table[T], m T) (found method.Entry[T]) {
	for _, e := range table {
		if reflect.TypeOf(e.New()) == reflect.TypeOf(m) {
			return e
		}
	}
	return found
}

// weightName is the registered name of a weighting.
func weightName(w Weighting) string { return cmp.Or(entryOf(Weightings, w).Name, "weight") }

// maskName is the registered name of a rule; the eleven modes share two types.
func maskName(m Masking) string {
	if d, ok := m.(measured); ok {
		return d.measures().name()
	}
	return cmp.Or(entryOf(Masks, m).Name, "mask")
}
