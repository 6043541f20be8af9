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

// Stateful is implemented by methods that remember something between steps: a
// dual variable, an adaptive coefficient. A run that is interrupted saves the
// state and restores it.
type Stateful interface {
	State() []float64
	SetState(state []float64) error
}

// Grad is the result of a loss: its value, its derivative with respect to
// every response token's log-prob and, where a method needs it, to the logits.
// A Grad must not be shared by evaluations that run at the same time.
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

	// frozen, set by finite-difference tests only, replaces the current
	// log-probs wherever a method detaches them.
	frozen []float64
	// buffers are the working memory of the methods.
	buffers [][]float64
	order   []int
}

// Metric is one named figure of a step.
type Metric = batch.Metric

// Reset clears the result for a batch of n tokens and keeps the memory.
func (g *Grad) Reset(n int) {
	g.Loss = 0
	g.DLogp = batch.Column(g.DLogp, n)
	g.DLogits = g.DLogits[:0]
	g.Metrics = g.Metrics[:0]
}

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

// NeedLogits makes DLogits a zeroed matrix of n rows of vocab entries, or
// keeps it if a method has filled it before.
func (g *Grad) NeedLogits(n, vocab int) {
	if len(g.DLogits) == 0 {
		g.DLogits = batch.Column(g.DLogits, n*vocab)
	}
}

// work returns the k-th working buffer, zeroed, of length n.
func (g *Grad) work(k, n int) []float64 {
	for len(g.buffers) <= k {
		g.buffers = append(g.buffers, nil)
	}
	g.buffers[k] = batch.Column(g.buffers[k], n)
	return g.buffers[k]
}

// indices returns an empty list of token indices with working memory for n.
func (g *Grad) indices(n int) []int {
	if cap(g.order) < n {
		g.order = make([]int, 0, n)
	}
	return g.order[:0]
}
