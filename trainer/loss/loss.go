package loss

import "driftlab/trainer/batch"

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
type Grad struct {
	// Loss is the value to be minimised.
	Loss float64
	// DLogp is d loss/d logp, length N; zero on tokens outside the mask.
	DLogp []float64
	// DLogits is the part of d loss/d logits that does not pass through the
	// sampled token's log-prob, N rows of Vocab entries; empty for most methods.
	DLogits []float64
	// Metrics are appended by each method under the names verl logs.
	Metrics []Metric
}

// Metric is one named figure of a step.
type Metric struct {
	Name  string
	Value float64
}

// Reset clears the result for a batch of n tokens and keeps the memory.
func (g *Grad) Reset(n int) {
	g.Loss = 0
	g.DLogp = resized(g.DLogp, n)
	g.DLogits = g.DLogits[:0]
	g.Metrics = g.Metrics[:0]
}

// Add appends a metric.
func (g *Grad) Add(name string, value float64) {
	g.Metrics = append(g.Metrics, Metric{name, value})
}

// resized returns a zeroed slice of length n, in x's memory where it suffices.
func resized(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	x = x[:n]
	clear(x)
	return x
}
