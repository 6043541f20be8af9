package measurements

import (
	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

// truncatedSupport compares ratios under truncated sampling with the kept mass.
type truncatedSupport struct {
	TopP []float64 `yaml:"top-p"`
}

// Measure samples in bf16 and scores in fp32.
func (m *truncatedSupport) Measure(e *claim.Env, o *claim.Observation) {
	shipped := e.Base(192)
	n, t := e.Pick(256, 48, 4), e.Pick(96, 64, 16)
	for _, p := range m.TopP {
		q := probe{Params: shipped, Rollout: numerics("bf16"), Sequences: n, Tokens: t, TopP: p, Distributions: true}
		b, _ := measuredGap(e, q, numerics("fp32"))
		if p == 1 {
			o.Set("entropy", stats.Average(b.Old.Entropy))
		}
		ratio, outside := ratioAndOutside(logRatiosOf(b))
		masked, outsideMasked := ratioAndOutside(maskedRatios(b))
		o.Append("ratio", ratio)
		o.Append("masked ratio", masked)
		o.Append("kept mass", stats.Average(b.KeptMass))
		o.Append("outside", outside)
		o.Append("outside, masked", outsideMasked)
	}
	for _, raw := range []bool{false, true} {
		b := sample(e, probe{Params: shipped, Rollout: numerics("fp32"), Sequences: n, Tokens: t, Temperature: 0.6, Raw: raw})
		measure.Score(b, shipped, measure.Scoring{Numerics: numerics("fp32"), Temperature: 0.6})
		o.Set(map[bool]string{false: "temperature, both sides", true: "temperature, one side"}[raw], stats.Average(stats.Magnitudes(logRatiosOf(b))))
	}
}

// ratioAndOutside are the mean ratio and the share of tokens outside [0.9, 1.1].
func ratioAndOutside(e []float64) (mean, outside float64) {
	for _, v := range e {
		r := elementary.Exp(v)
		mean += r / float64(len(e))
		if r < 0.9 || r > 1.1 {
			outside += 1 / float64(len(e))
		}
	}
	return mean, outside
}

// maskedRatios are the log-ratios with the learner's distribution renormalised
// over each token's sampling support.
func maskedRatios(b *batch.Batch) []float64 {
	e := logRatiosOf(b)
	for n, support := range b.Support {
		if support == nil {
			continue
		}
		mass := 0.0
		for _, id := range support {
			mass += elementary.Exp(float64(b.Old.Dist[n*b.Vocab+int(id)]))
		}
		e[n] -= elementary.Log(mass)
	}
	return e
}
