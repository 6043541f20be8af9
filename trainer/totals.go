package trainer

import (
	"math"
	"slices"

	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/trainer/method/batch"
)

// totals averages the figures of a step's updates, as verl does.
type totals struct {
	scaled, guarded            bool // whether a loss scale or a guard may skip updates
	gradients, finite, skipped int
	loss, norm, maxNorm        float64
	rate, scale                float64
	named                      []namedSum
}

// namedSum is the sum of a figure over the updates that had it.
type namedSum struct {
	name  string
	sum   float64
	count int
}

// add counts one gradient; skipped says that no update followed it.
func (t *totals) add(r learner.Report, rate float64, skipped bool) {
	t.gradients++
	if skipped {
		t.skipped++
	}
	if !r.Skipped { // else it overflowed, and has no norm
		t.finite++
		t.norm += r.GradNorm
		t.maxNorm = max(t.maxNorm, r.GradNorm)
	}
	t.loss += r.Loss
	t.rate, t.scale = rate, r.Scale
	for _, m := range r.Metrics {
		t.sum(m.Name, m.Value)
	}
}

// gradNorm is the mean norm of the gradients that have one, -1 if none has.
func (t *totals) gradNorm() float64 {
	if t.finite == 0 {
		return -1
	}
	return t.norm / float64(t.finite)
}

// sum adds to the figure of that name, in the order of first appearance.
func (t *totals) sum(name string, value float64) {
	for i := range t.named {
		if s := &t.named[i]; s.name == name {
			s.sum += value
			s.count++
			return
		}
	}
	t.named = append(t.named, namedSum{name, value, 1})
}

// appendTo appends the averages under verl's names. A name that dst has already
// keeps its figure: actor/entropy is the entropy of the whole batch when the step
// begins, also where a term of the loss reports it.
func (t *totals) appendTo(dst []batch.Metric) []batch.Metric {
	dst = append(dst,
		batch.Metric{Name: "actor/loss", Value: t.loss / float64(t.gradients)},
		batch.Metric{Name: "actor/grad_norm", Value: max(t.gradNorm(), 0)},
		batch.Metric{Name: "actor/grad_norm_max", Value: t.maxNorm},
		batch.Metric{Name: "actor/lr", Value: t.rate})
	if t.scaled {
		dst = append(dst, batch.Metric{Name: "actor/loss_scale", Value: t.scale})
	}
	if t.scaled || t.guarded {
		dst = append(dst, batch.Metric{Name: "actor/skipped_updates", Value: float64(t.skipped)})
	}
	before := dst
	for _, s := range t.named {
		if !slices.ContainsFunc(before, func(m batch.Metric) bool { return m.Name == s.name }) {
			dst = append(dst, batch.Metric{Name: s.name, Value: s.sum / float64(s.count)})
		}
	}
	return dst
}

// routerTravel is the distance of the routers' weights of two models of one kind.
func routerTravel(a, b *model.Params) float64 {
	var sum float64
	for i, t := range a.Tensors() {
		if t.Router() {
			d := distance(t.Data, b.Tensors()[i].Data)
			sum += float64(d * d)
		}
	}
	return math.Sqrt(sum)
}

// distance is the Euclidean distance of two parameter vectors.
func distance(a, b []float32) float64 {
	var sum float64
	for i, x := range a {
		d := float64(x) - float64(b[i])
		sum += float64(d * d)
	}
	return math.Sqrt(sum)
}
