package correction_test

import (
	"math"
	"testing"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
)

// What a pipeline writes as a recipe reads back as the same pipeline: every
// preset, every method, and bounds that are infinite.
func TestRecipeRoundTrip(t *testing.T) {
	pipelines := map[string]*correction.Pipeline{
		"infinite bounds": {Weights: &correction.TokenTIS{Cap: math.Inf(1)},
			Masks: []correction.Masking{&correction.Band{Level: "token", Statistic: "k1", Aggregate: "mean", Low: math.Inf(-1), High: 1}}},
		"sequential": {Order: correction.Sequential, WeightsAfter: 1, Denominator: correction.Pre, Names: "skyrl", Weights: &correction.SequenceTIS{Cap: 3},
			BatchNormalize: true, Masks: []correction.Masking{&correction.OPSM{Delta: .1, Signs: correction.Both}}},
	}
	for _, p := range correction.Presets {
		pipelines[p.Name] = p.New()
	}
	for _, e := range correction.Weightings {
		if e.Name != "none" { // which is no weighting at all in a recipe
			pipelines[e.Name] = &correction.Pipeline{Weights: e.New()}
		}
	}
	for _, e := range correction.Masks {
		pipelines["mask "+e.Name] = &correction.Pipeline{Masks: []correction.Masking{e.New()}}
	}
	for name, p := range pipelines {
		text := p.Recipe()
		r, err := recipe.Parse("preset.yaml", []byte(text+"\nloss: reinforce\n")) // which goes with every correction
		if err != nil {
			t.Errorf("%s: %s: %v", name, text, err)
			continue
		}
		if got := r.Correction.Pipeline().Recipe(); got != text {
			t.Errorf("%s: %s\nreads back as %s", name, text, got)
		}
	}
}
