package loss

import (
	"slices"

	"driftlab/engine/column"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// Loss is a policy loss to be minimised. Implementations are pointers to
// parameter structs.
type Loss interface {
	// Eval sets out.Loss, out.DLogp and out.Metrics from the batch. It reads
	// Logp, and whatever else its Spec lists under Needs. It allocates nothing
	// once out has grown to the batch's size.
	Eval(out *Grad, in *batch.Batch) error
}

// Grad is the result of a loss: its value, its derivative with respect to
// every response token's log-prob and, where a method needs it, to the logits.
// Metrics are appended by each method under the names verl logs. A Grad must not be
// shared by evaluations that run at the same time.
type Grad struct {
	column.Grad

	// frozen, unless it is nil, replaces the current log-probs wherever a method detaches
	// them: for finite differences and evaluations that move no state of a loss.
	frozen []float64
	// record, unless it is nil, keeps what a trace needs of the evaluation.
	record *record
	// buffers are the working memory of the methods.
	buffers [][]float64
	order   []int
	// rejected are the tokens that the loss itself keeps out by a mask; empty for none.
	rejected []bool
	// left are the active tokens that a method has not left out by a gate or a mask.
	left []bool
	// groups are the groups of the batch, gathered a column of one group.
	groups   batch.Groups
	gathered []float64
	head     head
	frame    frame
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

// Objective is a loss over a batch, as a learner minimises it.
type Objective struct {
	// Loss is evaluated on Batch, whose Now the learner fills.
	Loss  Loss
	Batch *batch.Batch

	grad Grad
	view batch.Batch
}

// Eval computes the loss of what the learner recorded of its current weights. If
// that is not the batch's own Now, it is a dense pass next to a shadow, which Now
// then is.
func (o *Objective) Eval(out *column.Grad, now *column.Scored) error {
	b := o.Batch
	if now != &b.Now {
		o.view = *b
		o.view.Now, o.view.Shadow = *now, b.Now
		b = &o.view
	}
	o.grad.Grad = *out
	err := o.Loss.Eval(&o.grad, b)
	*out = o.grad.Grad
	return err
}

// Term is an addition to a policy loss: something that shapes what the loss
// reads, or something added to it.
type Term interface {
	// AddLoss runs after the policy loss and adds to its result.
	AddLoss(out *Grad, in *batch.Batch) error
}

// Preparer is a Term with work to do before the policy loss. It may close gates of the batch, and
// may put other advantages in the place of the batch's for this evaluation.
type Preparer interface{ Prepare(in *batch.Batch) error }

// Prepare lets a term do that work, if it has any.
func Prepare(t Term, in *batch.Batch) error {
	if p, ok := t.(Preparer); ok {
		return p.Prepare(in)
	}
	return nil
}

// Evaluate computes a policy loss with a KL term and any further terms.
func Evaluate(out *Grad, in *batch.Batch, l Loss, kl KL, terms ...Term) error {
	defer func(advantage []float64) { in.Advantage = advantage }(in.Advantage)
	for _, t := range terms {
		if err := Prepare(t, in); err != nil {
			return err
		}
	}
	if err := l.Eval(out, in); err != nil {
		return err
	}
	if err := kl.AddLoss(out, in); err != nil {
		return err
	}
	for _, t := range terms {
		if err := t.AddLoss(out, in); err != nil {
			return err
		}
	}
	return nil
}

// DependsOn reports whether the gradient of a loss, with its parameters, depends on
// LogpRoll or Anchor where the ratio of the policy to the anchor is 1. A Spec cannot say:
// it lists what a method reads under any parameters. A loss that cannot be evaluated here depends on it; the error is nil.
func DependsOn(l Loss, column batch.Column) (bool, error) {
	return responds(l, true, func(b *batch.Batch, n int, distance float64) {
		displaced := either(column == batch.Anchor, b.Anchor, b.LogpRoll)
		displaced[n] += distance
	}), nil
}

// TakesWeights reports whether the gradient of a loss, with its parameters, depends on the
// importance weights of the correction stage, where the two engines agree.
func TakesWeights(l Loss) bool {
	return responds(l, true, func(b *batch.Batch, n int, distance float64) {
		b.LogpRoll[n], b.DistRoll = b.Now.Logp[n], b.Now.Dist
		b.Weight = append(b.Weight, elementary.Exp(distance))
	})
}

// WeighsByRoll reports whether the gradient of a loss, with its parameters, changes with small displacements of a rollout
// policy that agrees: mostly by a ratio to it that the loss contains; not by a bound, unless that is narrower than 3e-3.
func WeighsByRoll(l Loss) bool {
	return responds(l, false, func(b *batch.Batch, n int, distance float64) {
		b.LogpRoll[n] = b.Now.Logp[n] + float64(distance/1e3)
		b.DistRoll = threeTokens(b.LogpRoll, 1)
	})
}

// TakesGates reports whether the gradient of a loss, with its parameters, depends on the gates
// of its tokens, where the two engines agree.
func TakesGates(l Loss) bool {
	return responds(l, true, func(b *batch.Batch, n int, distance float64) {
		b.LogpRoll[n], b.DistRoll = b.Now.Logp[n], b.Now.Dist
		b.Gate = append(b.Gate, distance == 0 || n%2 == 0)
	})
}

// responds reports whether displacing the tokens of the worked example, where the ratio of the
// policy to the anchor is 1, changes the gradient of a loss; otherwise is the answer where there is none to evaluate, or it
// fails. No state of the loss moves.
func responds(l Loss, otherwise bool, displace func(b *batch.Batch, n int, distance float64)) bool {
	if l == nil {
		return otherwise
	}
	var before []float64
	// Displacements in both directions, within and beyond the bounds that methods have.
	for _, distance := range []float64{0, 0.05, -0.05, 0.5, -0.5, 3, -3} {
		b := Worked(l)
		copy(b.Now.Logp, b.Anchor)
		for n := range b.Tokens() {
			displace(b, n, float64(distance*float64(1-2*(n%2))))
		}
		out := &Grad{frozen: slices.Clone(b.Now.Logp)} // frozen: no dual variable moves
		if l.Eval(out, b) != nil {
			return otherwise
		}
		gradient := slices.Concat(out.DLogp, out.DLogits)
		if distance == 0 {
			before = gradient
		} else if !slices.Equal(before, gradient) {
			return true
		}
	}
	return false
}

// Worked is the batch of the worked examples of a loss: one sequence, once with A = +1
// and once with A = -1, as two responses of one group.
func Worked(l Loss) *batch.Batch {
	b := &batch.Batch{
		Sampled:        batch.Sampled{Offsets: []int{0, 3, 6}, Vocab: 3, Group: []int{0, 0}, PromptID: []int64{7, 7}},
		LearnerVersion: 8,
		Graded:         batch.Graded{Reward: []float64{1, 0}, Correct: []bool{true, false}},
	}
	for _, a := range []float64{1, -1} {
		b.Mask = append(b.Mask, true, true, true)
		b.Now.Logp = append(b.Now.Logp, -0.5, -1.2, -2.0)
		b.Anchor = append(b.Anchor, -0.7, -1.0, -2.5)
		b.Old.Logp = append(b.Old.Logp, -0.7, -1.0, -2.5)
		b.LogpRoll = append(b.LogpRoll, -0.6, -1.3, -2.2)
		b.Ref.Logp = append(b.Ref.Logp, -0.9, -0.8, -2.1)
		b.Teacher.Logp = append(b.Teacher.Logp, -0.4, -1.0, -1.0)
		b.Advantage = append(b.Advantage, a, a, a)
		b.Now.Entropy = append(b.Now.Entropy, 0.5, 1, 2)
		b.Version = append(b.Version, 4, 6, 7)
		b.Turn = append(b.Turn, 0, 0, 1)
		b.Token = append(b.Token, 0, 0, 0)
	}
	b.Now.Dist, b.Ref.Dist = threeTokens(b.Now.Logp, 2), threeTokens(b.Ref.Logp, 1)
	b.DistRoll, b.Old.Dist, b.Shadow.Dist = threeTokens(b.LogpRoll, 1), threeTokens(b.Anchor, 1), b.Ref.Dist
	b.Teacher.Dist = threeTokens(b.Teacher.Logp, 1)
	if _, ok := l.(*RefKL); ok {
		b.Teacher.Logp = nil // it would take the reference's place
	}
	return b
}

// threeTokens makes distributions over three tokens: the first has the given log-prob,
// the others share the rest in the proportion share to 1.
func threeTokens(logp []float64, share float64) []float32 {
	var dist []float32
	for _, lp := range logp {
		rest := -elementary.Expm1(lp)
		dist = append(dist, float32(lp), float32(elementary.Log(rest*share/(1+share))), float32(elementary.Log(rest/(1+share))))
	}
	return dist
}
