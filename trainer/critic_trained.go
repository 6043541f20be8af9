package trainer

import (
	"math"

	"driftlab/engine/column"
	"driftlab/engine/learner"
	"driftlab/precision/elementary"
	"driftlab/trainer/engines"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/recipe"
)

// trainedCritic is a transformer of its own whose value head is the difference of two rows of the output
// head, of the tokens padding and begin-of-sequence, which no response contains:
//
//	z = logit_0 - logit_1 = (w_0 - w_1)·h,  V = z, or low + (high-low)·(1/2 + atan(z)/π)
//
// With confidence z is added to a ridge on the probabilities of the tokens so far, and trained on what that leaves.
// So the kernels, the graph and AdamW of a learner train it as they are. Both rows are zero at the start,
// and so is z; the body is a copy of the policy's.
type trainedCritic struct {
	learner *learner.Learner
	updates int // per step
	all     int // of the run
	scored  batch.Scored
	now     batch.Scored
	target  valueTarget
	base    *critic // nil without confidence
	rest    []float64
	seen    float64 // mean version of the tokens of the last fit
}

// criticPolicy is how the critic reads a response: as it stands, without replay of routes or supports.
var criticPolicy = learner.Policy{Temperature: 1}

func newTrainedCritic(s *Session) stage {
	c := &trainedCritic{target: valueTarget{recipe: s.recipe.Critic}, updates: s.recipe.Critic.Updates * s.recipe.Learner.Updates()}
	c.all = c.updates * s.recipe.Steps
	if s.recipe.Critic.Confidence {
		c.base = criticOf(0, s.recipe.Rollout.MaxTokens, true)
	}
	p := s.initial.Clone()
	clear(p.Head[:2*p.Config.DModel])
	settings := engines.LearnerSettings(s.recipe.Learner, s.recipe.Critic.Optimizer)
	settings.Recompute = s.options.Recompute
	c.learner = learner.New(p, settings, s.options.Workers)
	return c
}

func (c *trainedCritic) Close() { c.learner.Close() }

// run fills Value, of every token the value of the state that it was drawn in. Its pass is also the forward pass of
// the first update, which nothing comes before.
func (c *trainedCritic) run(s *Session) error {
	c.learner.ScoreAhead(&c.scored, &s.batch.Sampled, learner.ScoreOptions{Policy: criticPolicy, Distributions: true, WithoutRoutes: true})
	s.batch.Value = s.batch.Value[:0]
	for n := range s.batch.Tokens() {
		v, _ := c.target.value(c.scored.Dist, n, s.batch.Vocab)
		s.batch.Value = append(s.batch.Value, v)
	}
	c.target.values = append(c.target.values[:0], s.batch.Value...)
	if c.learner.Updates() > 0 {
		s.log("critic/vf_age", float64(s.batch.LearnerVersion)-c.seen)
	}
	if c.base != nil {
		c.rest = c.base.values(c.rest, &s.batch, nil)
		for n, v := range c.rest {
			s.batch.Value[n] += v
		}
	}
	return nil
}

// fit makes the updates that a step has, on the returns of its batch.
func (c *trainedCritic) fit(s *Session) error {
	b := &s.batch
	c.target.returns, c.target.mask, c.target.vocab = b.Return, b.Mask, b.Vocab
	if c.base != nil { // what the ridge of the step leaves
		for n, r := range b.Return {
			c.rest[n] = r - c.rest[n]
		}
		c.target.returns = c.rest
		if err := c.base.fit(s); err != nil {
			return err
		}
	}
	loss := 0.0
	for range c.updates {
		report, err := c.learner.Gradient(&c.now, &b.Sampled, &c.target, learner.StepOptions{Policy: criticPolicy, Distributions: true})
		if err != nil {
			return err
		}
		loss += report.Loss / float64(c.updates)
		if !report.Skipped {
			c.learner.Update(c.target.recipe.Optimizer.Rate(c.learner.Updates(), c.all))
		}
	}
	versions := 0.0
	for n := range masked.Kept(b.Mask) {
		versions += float64(b.Version[n])
	}
	c.seen = versions / float64(max(masked.Count(b.Mask), 1))
	s.log("critic/vf_loss", loss)
	s.log("critic/vf_updates", float64(c.learner.Updates()))
	return c.learner.CheckWeights()
}

// valueTarget is the critic's objective: the mean squared error of the values of the generated tokens, halved.
type valueTarget struct {
	recipe          *recipe.Critic
	returns, values []float64 // returns, and values before the step
	mask            []bool
	vocab           int
}

// value is the value of the state of token n, and its derivative with respect to z.
func (v *valueTarget) value(dist []float32, n, vocab int) (value, slope float64) {
	z := float64(dist[n*vocab]) - float64(dist[n*vocab+1])
	if !v.recipe.Bounded {
		return z, 1
	}
	width := v.recipe.High - v.recipe.Low
	return v.recipe.Low + float64(width*(0.5+elementary.Atan(z)/math.Pi)), width / (math.Pi * (1 + float64(z*z)))
}

// Eval computes the loss over the generated tokens.
func (v *valueTarget) Eval(out *column.Grad, now *column.Scored) error {
	tokens := len(v.mask)
	out.Reset(tokens)
	out.NeedLogits(tokens, v.vocab)
	count := float64(masked.Count(v.mask))
	for n := range masked.Kept(v.mask) {
		value, slope := v.value(now.Dist, n, v.vocab)
		gap := value - v.returns[n]
		if c := v.recipe.Clip; c > 0 {
			held := min(max(value, v.values[n]-c), v.values[n]+c)
			if far := held - v.returns[n]; far*far > gap*gap {
				gap, slope = far, 0 // the value has moved as far as it may
			}
		}
		out.Loss += float64(gap*gap) / (2 * count)
		d := gap * slope / count
		out.DLogits[n*v.vocab] += d
		out.DLogits[n*v.vocab+1] -= d
	}
	return nil
}

// AppendState appends the weights, the moments of AdamW and the number of updates.
func (c *trainedCritic) AppendState(dst []byte) []byte {
	state := c.learner.State()
	dst = method.AppendState(dst, c.learner.Params().Theta, state.First, state.Second, state.Updates, state.Scale, state.Clean, c.seen)
	if c.base == nil {
		return dst
	}
	return c.base.AppendState(dst)
}

func (c *trainedCritic) SetState(data []byte) error {
	state := c.learner.State()
	into := []any{c.learner.Params().Theta, state.First, state.Second, &state.Updates, &state.Scale, &state.Clean, &c.seen}
	if c.base != nil {
		into = append(into, c.base.gram, c.base.moment)
	}
	if err := method.ReadState(data, into...); err != nil {
		return err
	}
	if c.base != nil {
		c.base.solve()
	}
	return c.learner.SetState(state)
}
