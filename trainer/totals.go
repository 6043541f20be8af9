package trainer

import (
	"math"

	"driftlab/engine/learner"
	"driftlab/trainer/batch"
)

// totals averages the figures of a step's updates, as verl does.
type totals struct {
	updates, skipped    int
	loss, norm, maxNorm float64
	rate, scale         float64
	names               []string
	sums                []float64
}

// add counts one update.
func (t *totals) add(r learner.Report, rate float64) {
	t.updates++
	if r.Skipped {
		t.skipped++
	} else {
		t.norm += r.GradNorm
		t.maxNorm = max(t.maxNorm, r.GradNorm)
	}
	t.loss += r.Loss
	t.rate, t.scale = rate, r.Scale
	for _, m := range r.Metrics {
		t.sum(m.Name, m.Value)
	}
}

// sum adds to the figure of that name, in the order of first appearance.
func (t *totals) sum(name string, value float64) {
	for i, n := range t.names {
		if n == name {
			t.sums[i] += value
			return
		}
	}
	t.names = append(t.names, name)
	t.sums = append(t.sums, value)
}

// appendTo appends the averages under verl's names.
func (t *totals) appendTo(dst []batch.Metric) []batch.Metric {
	n := float64(max(t.updates, 1))
	dst = append(dst,
		batch.Metric{Name: "actor/loss", Value: t.loss / n},
		batch.Metric{Name: "actor/grad_norm", Value: t.norm / float64(max(t.updates-t.skipped, 1))},
		batch.Metric{Name: "actor/grad_norm_max", Value: t.maxNorm},
		batch.Metric{Name: "actor/lr", Value: t.rate})
	if t.scale != 1 {
		dst = append(dst,
			batch.Metric{Name: "actor/loss_scale", Value: t.scale},
			batch.Metric{Name: "actor/skipped_updates", Value: float64(t.skipped)})
	}
	for i, name := range t.names {
		dst = append(dst, batch.Metric{Name: name, Value: t.sums[i] / n})
	}
	return dst
}

// distance is the Euclidean distance of two parameter vectors.
func distance(a, b []float32) float64 {
	var sum float64
	for i, x := range a {
		d := float64(x) - float64(b[i])
		sum += d * d
	}
	return math.Sqrt(sum)
}
