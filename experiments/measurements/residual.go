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
	var middle, out [][]float32
	measure.States(b, p, rollout, false, func(pass *engine.Pass, rows []int) {
		for l := range c.Layers {
			middle, out = append(middle, gather(pass.Middle(l), rows, c.DModel)), append(out, gather(pass.Out(l), rows, c.DModel))
		}
	})
	var logs, count [2]float64 // not flipped, flipped
	measure.States(b, p, learner, replay, func(pass *engine.Pass, rows []int) {
		for l := range c.Layers {
			before, after := gather(pass.Middle(l), rows, c.DModel), gather(pass.Out(l), rows, c.DModel)
			sum := 0.0
			for n := range rows {
				from, to := n*c.DModel, (n+1)*c.DModel
				d := measure.RelativeDistance(out[l][from:to], after[from:to])
				sum += d
				at := 0
				if !c.Dense() && !replay && metrics.Flipped(b, n, l) {
					at = 1
				}
				if first := measure.RelativeDistance(middle[l][from:to], before[from:to]); d > 0 && first > 0 {
					logs[at] += elementary.Log(d / first)
					count[at]++
				}
			}
			lists[0] = append(lists[0], sum/float64(len(rows)))
		}
	})
	lists[1] = []float64{elementary.Exp(logs[1] / count[1]), elementary.Exp(logs[0] / count[0])}
	return lists
}

func gather(x []float32, rows []int, d int) []float32 {
	out := make([]float32, 0, len(rows)*d)
	for _, r := range rows {
		out = append(out, x[r*d:(r+1)*d]...)
	}
	return out
}
