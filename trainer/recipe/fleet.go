package recipe

import (
	"fmt"

	"driftlab/engine"
	"driftlab/precision/elementary"
)

// FleetMember is an engine in addition to the main one.
type FleetMember struct {
	Numerics engine.Numerics `yaml:"numerics"`
	Share    float64         `yaml:"share" range:"(0,1]"`
}

// KVScales are scales of keys and values that are fixed between calibrations (FP8-RL, 2601.18150).
type KVScales struct {
	Prompts int     `yaml:"prompts" range:"[0,2^16]"`
	Every   int     `yaml:"every" default:"1" range:"[1,2^24]"`
	Margin  float64 `yaml:"margin" default:"1" range:"(0,100]"`
}

// Noise is a schedule of noise on the gains of all norms in the rollout engine's weights (AQN, QeRL, 2510.11696).
type Noise struct {
	Start  float64 `yaml:"start" range:"[0,1]"`
	End    float64 `yaml:"end" default:"1e-4" range:"(0,1]"`
	Stages int     `yaml:"stages" default:"10" range:"[2,2^24]"`
}

// Sigma is the standard deviation at a step, counted from 0, of a run of the given number of steps.
func (n Noise) Sigma(step, steps int) float64 {
	if n.Start == 0 {
		return 0
	}
	stage := step * n.Stages / steps
	switch {
	case stage == 0:
		return 0
	case n.Stages == 2:
		return n.Start
	}
	return n.Start * elementary.Pow(n.End/n.Start, float64(stage-1)/float64(n.Stages-2))
}

// start implements starter: an engine is fp32 unless it says otherwise.
func (m *FleetMember) start() { m.Numerics, _ = engine.Preset("fp32") }

func (c *checker) fleet(r Rollout) {
	sum := 0.0
	for i, m := range r.Fleet {
		c.numerics(fmt.Sprintf("rollout.fleet[%d].numerics", i), m.Numerics)
		sum += m.Share
	}
	c.that(sum <= 1, "rollout.fleet", "the shares sum to %v, more than 1", sum)
}

func (c *checker) kvScales(r Rollout) {
	const at = "rollout.kv_scales"
	if r.KVScales.Prompts == 0 {
		c.that(r.KVScales.Every <= 1 && r.KVScales.Margin == 1, at+".prompts", "0 calibrates no scales: say from how many prompts")
		return
	}
	static := r.Numerics.StaticKV()
	for _, m := range r.Fleet {
		static = static || m.Numerics.StaticKV()
	}
	c.that(static, at+".prompts", "%d calibrate scales for a KV cache of 8 bits without any, such as kv_cache: fp8_e4m3, and this one is %s",
		r.KVScales.Prompts, r.Numerics.KVCache)
}
