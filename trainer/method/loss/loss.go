package loss

import (
	"driftlab/engine/column"
	"driftlab/trainer/method/batch"
)

// Loss is a policy loss to be minimised. Implementations are pointers to
// parameter structs; one file each.
type Loss interface {
	// Eval sets out.Loss, out.DLogp and out.Metrics from the batch. It reads
	// Logp, and whatever else its Spec lists under Needs. It allocates nothing
	// once out has grown to the batch's size.
	Eval(out *Grad, in *batch.Batch) error
}

// Grad is the result of a loss: its value, its derivative with respect to
// every response token's log-prob and, where a method needs it, to the logits.
// Metrics are appended by each method under the names verl logs. A Grad must not be shared by evaluations that run at the same time.
type Grad struct {
	column.Grad

	// frozen, set by finite-difference tests only, replaces the current
	// log-probs wherever a method detaches them.
	frozen []float64
	// record, unless it is nil, keeps what a trace needs of the evaluation.
	record *record
	// buffers are the working memory of the methods.
	buffers [][]float64
	order   []int
	// rejected are the tokens that the loss itself keeps out by a mask; empty for none.
	rejected []bool
	// groups are those of the batch, gathered a column of one of them.
	groups   batch.Groups
	gathered []float64
}

// Metric is one named figure of a step.
type Metric = batch.Metric

// Add appends a metric.
func (g *Grad) Add(name string, value float64) {
	g.Metrics = append(g.Metrics, Metric{Name: name, Value: value})
}

// Metric returns the last metric of that name, and whether there is one.
func (g *Grad) Metric(name string) (float64, bool) {
	for i := len(g.Metrics) - 1; i >= 0; i-- {
		if g.Metrics[i].Name == name {
			return g.Metrics[i].Value, true
		}
	}
	return 0, false
}

// Rejected are the tokens that the loss kept out by a mask of its own, as a correction
// does; nil if there are none. What a clip leaves without a gradient is not among them.
func (g *Grad) Rejected() []bool {
	if len(g.rejected) == 0 {
		return nil
	}
	return g.rejected
}

// work returns the k-th working buffer, zeroed, of length n.
func (g *Grad) work(k, n int) []float64 {
	for len(g.buffers) <= k {
		g.buffers = append(g.buffers, nil)
	}
	g.buffers[k] = batch.Zeroed(g.buffers[k], n)
	return g.buffers[k]
}

// indices returns an empty list of token indices with working memory for n.
func (g *Grad) indices(n int) []int {
	if cap(g.order) < n {
		g.order = make([]int, 0, n)
	}
	return g.order[:0]
}
