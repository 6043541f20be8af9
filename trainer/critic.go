package trainer

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// critic estimates the value of every state for estimators that want one: a
// linear function of what the learner's head reads, fitted to the returns of
// earlier steps.
//
//	V_t = w·x_t,   x_t = (1, t/T, h_t), and with confidence min_{s<t} π_s, Π_{s<t} π_s and both times t/T
//	A ← μA + Σ x xᵀ,   c ← μc + Σ x·Return,   w = (A + I)⁻¹c
//
// h_t is the final hidden state that predicts token t, t counts from the start
// of the response and T is its longest length. It is a value head on a shared
// trunk whose gradient stops at the trunk, solved instead of trained. The
// values of a step come from the steps before it, so they depend on nothing
// that they are compared with; in the first step they are 0. Ridge and
// forgetting are fixed: one unit against thousands of tokens, and ten steps,
// since the hidden states move with the policy.
type critic struct {
	longest float64
	// confidence adds the probabilities that the old policy gave to the tokens so far. Where a wrong token is an unlikely
	// one they tell what the text alone tells to a critic that can do the task itself.
	confidence bool
	features   []float64 // [tokens, width] of the current batch
	width      int
	hidden     int
	gram       []float64 // A, [width, width]
	moment     []float64 // c
	weights    []float64 // w
	factor     []float64 // Cholesky factor, scratch
}

const (
	criticMemory = 0.9 // μ
	criticRidge  = 1
)

// newCritic makes the critic of a session, if its estimator reads values.
func newCritic(s *Session) (stage, error) {
	turns, byTurn := s.recipe.Advantage.Params.(*advantage.TurnLevel)
	if !s.recipe.Needs(batch.Value) && !(byTurn && turns.Baseline == "value") {
		return nil, nil
	}
	if s.recipe.Critic.Trained() {
		return newTrainedCritic(s), nil
	}
	return criticOf(s.recipe.Model.DModel, s.recipe.Rollout.MaxTokens, s.recipe.Critic != nil && s.recipe.Critic.Confidence), nil
}

// run fills Value from the hidden states of the pass of pi_old.
func (c *critic) run(s *Session) error {
	s.batch.Value = c.values(s.batch.Value, &s.batch, s.learner.Hidden())
	return nil
}

// valuer is a critic of either kind; fit takes the returns of the batch into account for the next step.
type valuer interface {
	stage
	fit(s *Session) error
}

// criticOf returns a critic for hidden states of that width and responses of
// that length at most.
func criticOf(hidden, longest int, confidence bool) *critic {
	n := hidden + 2
	if confidence {
		n += 4
	}
	return &critic{longest: float64(longest), confidence: confidence, width: n, hidden: hidden, gram: make([]float64, n*n), moment: make([]float64, n),
		weights: make([]float64, n), factor: make([]float64, n*n)}
}

// values returns the value of every token's state in dst's memory. hidden is
// [tokens, its width].
func (c *critic) values(dst []float64, b *batch.Batch, hidden []float32) []float64 {
	d := c.hidden
	c.features, dst = c.features[:0], dst[:0]
	for i := range b.Len() {
		from, to := b.Span(i)
		least, all := 1.0, 1.0
		for n := from; n < to; n++ {
			at := float64(n-from) / c.longest
			c.features = append(c.features, 1, at)
			if c.confidence {
				c.features = append(c.features, least, all, at*least, at*all)
				if b.Mask[n] {
					p := elementary.Exp(b.Old.Logp[n])
					least, all = min(least, p), all*p
				}
			}
			for _, h := range hidden[n*d : (n+1)*d] {
				c.features = append(c.features, float64(h))
			}
			x, v := c.features[n*c.width:], 0.0
			for j, w := range c.weights {
				v += float64(w * x[j])
			}
			dst = append(dst, v)
		}
	}
	return dst
}

// fit solves for the weights anew. The features come from the last call of values.
func (c *critic) fit(s *Session) error {
	b := &s.batch
	for i := range c.gram {
		c.gram[i] *= criticMemory
	}
	for i := range c.moment {
		c.moment[i] *= criticMemory
	}
	for n := range masked.Kept(b.Mask) {
		x := c.features[n*c.width : (n+1)*c.width]
		for j, y := range x {
			c.moment[j] += float64(y * b.Return[n])
			row := c.gram[j*c.width : j*c.width+j+1]
			for k := range row {
				row[k] += float64(y * x[k])
			}
		}
	}
	c.solve()
	return nil
}

// solve finds the weights by Cholesky's method, from the lower triangle of A + I.
func (c *critic) solve() {
	n, l := c.width, c.factor
	for j := range n {
		for i := j; i < n; i++ {
			sum := c.gram[i*n+j]
			if i == j {
				sum += criticRidge
			}
			for k := range j {
				sum -= float64(l[i*n+k] * l[j*n+k])
			}
			if i == j {
				l[j*n+j] = math.Sqrt(sum)
			} else {
				l[i*n+j] = sum / l[j*n+j]
			}
		}
	}
	w := c.weights
	for i := range n { // forward: L·y = c
		sum := c.moment[i]
		for k := range i {
			sum -= float64(l[i*n+k] * w[k])
		}
		w[i] = sum / l[i*n+i]
	}
	for i := n - 1; i >= 0; i-- { // backward: Lᵀ·w = y
		sum := w[i]
		for k := i + 1; k < n; k++ {
			sum -= float64(l[k*n+i] * w[k])
		}
		w[i] = sum / l[i*n+i]
	}
}

// AppendState appends A and c; the weights follow.
func (c *critic) AppendState(dst []byte) []byte { return method.AppendState(dst, c.gram, c.moment) }

func (c *critic) SetState(state []byte) error {
	if err := method.ReadState(state, c.gram, c.moment); err != nil {
		return err
	}
	c.solve()
	return nil
}
