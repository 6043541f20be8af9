package foreign

import (
	"fmt"
	"math"
	"strings"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
)

// slime: flags, and the file of its custom weights, mis.yaml.
var slime = framework{
	name: "slime", program: "slime miles",
	loose: []string{"use_tis", "tis_clip", "tis_clip_low", "custom_tis_function_path", "use_opsm", "opsm_delta", "use_rollout_logprobs",
		"use_routing_replay", "use_rollout_routing_replay", "get_mismatch_metrics",
		"tis_level", "tis_mode", "tis_lower_bound", "tis_upper_bound", "tis_batch_normalize",
		"use_rs", "rs_level", "rs_lower_bound", "rs_upper_bound", "rs_veto_threshold"},
	own:   []string{"tis_", "rs_", "opsm_", "use_tis", "use_opsm"},
	table: slimeTable,
	lora:  [][2]string{{"lora_rank", "lora_alpha"}},
	read:  readSlime, write: writeSlime,
	unset: slimeUnset,
}

// slimeUnset are the defaults of slime's arguments, which vime and miles have, too.
const slimeUnset = `
loss={name: ppo_clip, eps_low: 0.2, eps_high: 0.2, dual_clip: 0}
kl={name: none}
rollout.group=1
rollout.temperature=1
rollout.top_p=1`

// vime is slime with vLLM's engine: its own flags, and slime's.
var vime = framework{name: "vime", mark: "vime", program: "vime", loose: slime.loose, own: slime.own, table: vimeTable, read: readSlime, unset: slimeUnset}

func readSlime(v *values, c *Config) {
	p := &correction.Pipeline{}
	c.Pipeline = p
	path := v.text("custom_tis_function_path", "")
	mis := strings.Contains(path, "mis") || v.has("tis_level") || v.has("tis_mode") || v.has("tis_upper_bound") || v.has("use_rs")
	switch {
	case !v.truth("use_tis", false):
		if path != "" || mis || v.has("tis_clip") {
			c.Off = "--use-tis is not given"
		}
	case strings.HasSuffix(path, "icepop_function"):
		p.Clamp = math.Inf(1)
		p.Weights = &correction.IcePop{Low: v.number("tis_clip_low", 0), High: v.number("tis_clip", 2)}
	case mis:
		if !v.has("tis_upper_bound") {
			c.note("mis.yaml was not given: its example's values stand for it")
		}
		readMIS(v, p)
	case path != "":
		c.note("custom_tis_function_path %s: what it computes cannot be known", path)
	default:
		p.Clamp = math.Inf(1)
		p.Weights = &correction.TokenTIS{Cap: v.number("tis_clip", 2), Floor: v.number("tis_clip_low", 0)}
	}
	if v.truth("use_opsm", false) {
		p.Masks = append(p.Masks, &correction.OPSM{Delta: v.number("opsm_delta", 1e-4), Signs: correction.Negative})
	}
	if v.truth("use_rollout_logprobs", false) {
		p.Mode = correction.Bypass
		if p.Weights != nil {
			v.fault(v.by["use_rollout_logprobs"], "slime refuses it together with use_tis: leave one")
		}
	}
	slimeRest(v, c)
	switch {
	case v.truth("use_rollout_routing_replay", false):
		c.Routing = "{replay: r3}"
	case v.truth("use_routing_replay", false):
		c.Routing = "{replay: r2}"
	}
}

// readMIS reads mis.yaml: weights at a level, then rejection.
func readMIS(v *values, p *correction.Pipeline) {
	levels := []string{"token", "sequence", "geometric"}
	level := v.choice("tis_level", "token", levels...)
	high := v.number("tis_upper_bound", 2)
	low := v.number("tis_lower_bound", 1/high)
	floor, top := 0.0, high
	switch v.choice("tis_mode", "truncate", "truncate", "clip", "mask") {
	case "clip":
		floor = low
	case "mask":
		top = math.Inf(1)
		p.Masks = append(p.Masks, bandAt(level, low, high))
	}
	switch level {
	case "token":
		p.Weights = &correction.TokenTIS{Cap: top, Floor: floor}
	case "sequence":
		p.Weights = &correction.SequenceTIS{Cap: top, Floor: floor}
	default:
		p.Weights = &correction.GeometricTIS{Cap: top, Floor: floor}
	}
	p.BatchNormalize = v.truth("tis_batch_normalize", false)
	if !v.truth("use_rs", false) {
		return
	}
	high = v.number("rs_upper_bound", high)
	p.Masks = append(p.Masks, bandAt(v.choice("rs_level", "token", levels...), v.number("rs_lower_bound", v.number("tis_lower_bound", 1/high)), high))
	if v.has("rs_veto_threshold") {
		p.Masks = append(p.Masks, &correction.Veto{Threshold: v.number("rs_veto_threshold", 1)})
	}
}

// bandAt is a test of the ratio at one of slime's levels.
func bandAt(level string, low, high float64) correction.Masking {
	switch level {
	case "token":
		return &correction.TokenMask{Low: low, High: high}
	case "sequence":
		return &correction.SequenceMask{Low: low, High: high}
	}
	return &correction.Geometric{Low: low, High: high}
}

const misPath = "examples.train_infer_mismatch_helper.mis.compute_mis_weights_with_cp"

func writeSlime(r recipe.Recipe) (string, []string) {
	w, p := &writing{framework: "slime"}, r.Correction.Pipeline()
	var flags, mis []string
	level, low, high := "", 0.0, 0.0
	switch x := p.Weights.(type) {
	case nil:
	case *correction.TokenTIS:
		level, low, high = "token", x.Floor, x.Cap
	case *correction.SequenceTIS:
		level, low, high = "sequence", x.Floor, x.Cap
	case *correction.GeometricTIS:
		level, low, high = "geometric", x.Floor, x.Cap
	case *correction.IcePop:
		flags = append(flags, "--use-tis --tis-clip "+number(x.High)+" --tis-clip-low "+number(x.Low),
			"--custom-tis-function-path slime.backends.megatron_utils.loss.icepop_function")
	default:
		w.cannot("weights " + r.Correction.Weights.Name)
	}
	for i, m := range p.Masks {
		name, low, high := "", 0.0, 0.0
		switch x := m.(type) {
		case *correction.TokenMask:
			name, low, high = "token", x.Low, x.High
		case *correction.SequenceMask:
			name, low, high = "sequence", x.Low, x.High
		case *correction.Geometric:
			name, low, high = "geometric", x.Low, x.High
		case *correction.OPSM:
			flags = append(flags, "--use-opsm --opsm-delta "+number(x.Delta))
			continue
		case *correction.Veto:
			mis = append(mis, "rs_veto_threshold: "+number(x.Threshold))
			continue
		}
		if name == "" || level == "" || len(mis) > 0 {
			w.cannot("mask " + r.Correction.Masks[i].Name + " here")
			continue
		}
		mis = append(mis, "use_rs: true", "rs_level: "+name, "rs_lower_bound: "+number(low), "rs_upper_bound: "+number(high))
	}
	mode := "truncate"
	if low > 0 {
		mode = "clip"
	}
	plain := level == "token" && len(mis) == 0 && !p.BatchNormalize && math.IsInf(p.Clamp, 1)
	switch {
	case level == "":
	case plain || level == "token" && len(mis) == 0 && !p.BatchNormalize:
		flags = append([]string{"--use-tis --tis-clip " + number(high)}, flags...)
		if low > 0 {
			flags[0] += " --tis-clip-low " + number(low)
		}
	default:
		flags = append([]string{"--use-tis --custom-tis-function-path " + misPath + " --custom-config-path mis.yaml"}, flags...)
		mis = append([]string{"# mis.yaml", "tis_level: " + level, "tis_mode: " + mode, "tis_upper_bound: " + number(high), "tis_lower_bound: " + bound(low),
			fmt.Sprintf("tis_batch_normalize: %v", p.BatchNormalize)}, mis...)
	}
	switch {
	case p.Mode == correction.Bypass:
		flags = append(flags, "--use-rollout-logprobs")
	case r.Routing.Replay == recipe.ReplayR3:
		flags = append(flags, "--use-rollout-routing-replay")
	case r.Routing.Replay == recipe.ReplayR2:
		flags = append(flags, "--use-routing-replay")
	}
	if n := r.Learner.Minibatches; n > 1 {
		flags = append(flags, fmt.Sprintf("--num-steps-per-rollout %d", n))
	}
	return strings.Join(append([]string{strings.Join(flags, " ")}, mis...), "\n") + "\n", w.notes
}

// bound is a bound, null for none.
func bound(x float64) string {
	if x == 0 {
		return "null"
	}
	return number(x)
}
