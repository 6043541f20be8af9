package engine_test

import (
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/precision/must"
)

// A pass agrees with the float64 reference within the tolerance of each format.
func TestConformance(t *testing.T) { enginetest.Conform(t, *exhaustive, observe) }

// observe is the pass as a subject of the suite.
func observe(p *model.Params, n engine.Numerics, prompts [][]int32, temperature float64) []enginetest.Observation {
	got := run(p, n, prompts, 1, engine.Options{})
	var list []enginetest.Observation
	for i, tokens := range prompts {
		o := enginetest.Observation{Tokens: tokens, Routes: got.routes[i]}
		for r := range tokens {
			logp := make([]float32, p.Config.Vocab)
			kernel.LogSoftmax(logp, got.logits[i][r*len(logp):(r+1)*len(logp)], len(logp), float32(1/temperature))
			o.LogProbs = append(o.LogProbs, logp)
		}
		list = append(list, o)
	}
	return list
}

// Scales in every place where Validate lets them stand, here with blocks
// shorter than a row, which no preset has at these widths.
func TestConformanceOfScales(t *testing.T) {
	const format = "fp8_e4m3/"
	for _, test := range []struct{ weights, inputs, cache string }{
		{"channel", "channel", "channel"},
		{"tensor", "channel", "1x2"},
		{"16x8", "1x8", "channel"},
		{"3x5", "1x5", "channel"},
		{"mx", "mx", "mx"},
		{"channel", "mx", "channel"},
		{"mx", "channel", "channel"},
	} {
		t.Run(test.weights+" "+test.inputs+" "+test.cache, func(t *testing.T) {
			n := preset(t, "fp8-kv8")
			n.Weights, n.Inputs, n.KVCache = quantizer(t, format+test.weights), quantizer(t, format+test.inputs), quantizer(t, format+test.cache)
			must.Do(t, n.Validate())
			enginetest.Compare(t, observe, n, enginetest.Tolerances["fp8-kv8"])
		})
	}
}

func quantizer(t testing.TB, text string) precision.Quantizer {
	return must.Get(precision.ParseQuantizer(text))(t)
}
