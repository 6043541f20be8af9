package measurements

import (
	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
)

// streamDifference is the mean relative difference of the residual stream after
// every layer, between the rollout engine's pass and the learner's on the same
// tokens, and the geometric mean of that difference after the expert block over
// before it: over the decisions that flipped (NaN without any), and over those
// that did not.
func streamDifference(b *batch.Batch, p *model.Params, rollout, learner engine.Numerics, replay bool) (lists [2][]float64) {
	c := p.Config
	var logs, count [2]float64 // not flipped, flipped
	measure.States(b, p, rollout, false, func(here *engine.Pass, rows []int) {
		measure.States(b, p, learner, replay, func(there *engine.Pass, _ []int) {
			for l := range c.Layers {
				sum := 0.0
				for n, row := range rows {
					from, to := row*c.DModel, (row+1)*c.DModel
					d := measure.RelativeDistance(here.Out(l)[from:to], there.Out(l)[from:to])
					sum += d
					at := 0
					if !c.Dense() && !replay && metrics.Flipped(b, n, l) {
						at = 1
					}
					if first := measure.RelativeDistance(here.Middle(l)[from:to], there.Middle(l)[from:to]); d > 0 && first > 0 {
						logs[at] += elementary.Log(d / first)
						count[at]++
					}
				}
				lists[0] = append(lists[0], sum/float64(len(rows)))
			}
		})
	})
	lists[1] = []float64{elementary.Exp(logs[1] / count[1]), elementary.Exp(logs[0] / count[0])}
	return lists
}
