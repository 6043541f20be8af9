package measurements

import (
	"fmt"
	"slices"

	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
)

// gspoLow and gspoHigh are GSPO's clip.
const gspoLow, gspoHigh = 3e-4, 4e-4

// repetition counts runs of four tokens that repeat in the halves of responses that go on after the stop token, and
// responses outside GSPO's clip.
type repetition struct {
	// Engines sample; Clipped is the one whose clip is counted, against a learner in bf16, at Lengths.
	Engines []string
	Clipped string
	Lengths []int
}

// Measure samples with the same random numbers in each engine.
func (m *repetition) Measure(e *claim.Env, o *claim.Observation) {
	most := slices.Max(m.Lengths)
	p := claim.Loaded(e.Warm("chain-base", fmt.Sprintf("pretrain.steps=%d", e.Pick(900, 300, 3)), "task.difficulty=[2,5]"), 160)
	for _, name := range m.Engines {
		b := sample(e, probe{Params: p, Rollout: numerics(name), Sequences: e.Pick(64, 32, 4), Tokens: most})
		o.Set(name+", repeated", metrics.Repeated(b, 0, most/2), metrics.Repeated(b, most/2, most))
		if name == m.Clipped {
			measure.Score(b, p, measure.Scoring{Numerics: numerics("bf16")})
			o.Set("outside GSPO's clip", clippedByGSPO(b, m.Lengths)...)
		}
		e.Continue()
	}
}

// clippedByGSPO is the share of responses whose geometric mean of learner over rollout is outside GSPO's clip, by
// length.
func clippedByGSPO(b *batch.Batch, lengths []int) []float64 {
	out := make([]float64, len(lengths))
	ratios := logRatiosOf(b)
	for i := range b.Len() {
		from, _ := b.Span(i)
		for k, length := range lengths {
			sum := 0.0
			for _, x := range ratios[from : from+length] {
				sum += x
			}
			r := elementary.Exp(sum / float64(length))
			if r < 1-gspoLow || r > 1+gspoHigh {
				out[k] += 1 / float64(b.Len())
			}
		}
	}
	return out
}
