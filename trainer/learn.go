package trainer

import (
	"slices"

	"driftlab/engine/learner"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/guard"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/method/stream"
)

// learn makes the updates of a step. Weights that are not finite afterwards are
// an error of this step, not of the next.
func (s *Session) learn() error {
	r, step := &s.recipe, s.batch.Step
	s.sums = totals{scaled: s.sums.scaled, guarded: s.sums.guarded, named: s.sums.named[:0]} // the memory stays
	s.objective.rejection = metrics.Rejection{}
	for epoch := range r.Learner.Epochs {
		s.shuffle(step*r.Learner.Epochs + epoch)
		for m := range r.Learner.Minibatches {
			mini := s.minibatch(m)
			if err := s.update(step, (step*r.Learner.Epochs+epoch)*r.Learner.Minibatches+m, mini); err != nil {
				return err
			}
			s.keepTrained(mini)
			if s.options.Updated != nil {
				s.options.Updated(step, epoch*r.Learner.Minibatches+m+1)
			}
		}
	}
	s.metrics = s.objective.rejection.Metrics(s.sums.appendTo(s.metrics))
	return s.learner.CheckWeights()
}

// update makes one gradient step on a minibatch, of the run the one of that number,
// unless the loss scale or a guard skips it.
func (s *Session) update(step, number int, mini *batch.Batch) error {
	r := &s.recipe
	s.minimised.Batch, s.dense.Batch = mini, mini
	o := learner.StepOptions{Policy: s.policy, Earlier: &mini.Old, Distributions: r.Needs(batch.Dist), Entropy: r.Needs(batch.Entropy), Router: r.Needs(batch.RouterNow)}
	if s.dense.Loss != nil {
		o.Dense = &s.dense
	}
	if s.perturbed != nil {
		o.Perturb = s.perturbation(number)
	}
	if w := s.predictor; w != nil && number%r.Learner.Updates() > 0 {
		o.Predictor, o.Predicted = w.RoutePredictor, w.tokensOf(s)
	}
	report, err := s.learner.Gradient(&mini.Now, &mini.Sampled, &s.minimised, o)
	if err != nil {
		return err
	}
	decision := guard.Decision{Scale: 1, Skip: report.Skipped}
	if !report.Skipped && len(s.guards) > 0 {
		decision, err = guard.Apply(s.guards, s.learner.Grad(), guard.Input{Batch: mini, Step: step})
		if err != nil {
			return err
		}
	}
	if c := r.Critic; c.Trained() && step < c.Warmup {
		decision.Skip = true // the critic alone is trained
	}
	rate := decision.Scale * r.Learner.Optimizer.Rate(s.learner.Updates(), r.Steps*r.Learner.Updates())
	if !decision.Skip {
		s.learner.Update(rate)
		if s.perturbed != nil {
			s.perturbed.Move(o.Perturb.Grad)
		}
		s.versions.add(s.learner.Params(), s.learner.Updates())
	}
	s.sums.add(report, rate, decision.Skip)
	for _, g := range s.guards {
		s.guarded = g.Metrics(s.guarded[:0])
		for _, m := range s.guarded {
			s.sums.sum(m.Name, m.Value)
		}
	}
	return nil
}

// shuffle puts the prompt groups in the order in which the minibatches of an
// epoch take them, or the responses where there are fewer groups than
// minibatches. A single minibatch is the batch as it is.
func (s *Session) shuffle(epoch int) {
	if s.recipe.Learner.Minibatches == 1 {
		return
	}
	s.groups.Find(s.batch.Group)
	units := s.groups.Len()
	if s.apart = s.recipe.Learner.Minibatches > units; s.apart {
		units = s.batch.Len()
	}
	s.order = stream.New(s.recipe.Seed, stream.Minibatches, epoch).Perm(units)
}

// minibatch cuts out the m-th minibatch. Its responses stand in the order of
// the batch.
func (s *Session) minibatch(m int) *batch.Batch {
	n, count := len(s.order), s.recipe.Learner.Minibatches
	if count == 1 {
		return &s.batch
	}
	s.rows = s.rows[:0]
	for _, u := range s.order[n*m/count : n*(m+1)/count] {
		if s.apart {
			s.rows = append(s.rows, u)
		} else {
			s.rows = append(s.rows, s.groups.Rows(u)...)
		}
	}
	slices.Sort(s.rows)
	now := s.mini.Now
	s.batch.Select(&s.mini, s.rows)
	// The batch has no such columns; the gradient fills them, in the same memory.
	s.mini.Now = batch.Scored{Logp: now.Logp[:0], Entropy: now.Entropy[:0], Dist: now.Dist[:0]}
	return &s.mini
}

// keepTrained keeps the log-probs of a minibatch's forward pass, if they are asked
// for, in the order of the batch.
func (s *Session) keepTrained(mini *batch.Batch) {
	if !s.options.KeepTrained {
		return
	}
	if mini == &s.batch {
		s.trained = append(s.trained[:0], mini.Now.Logp...)
		return
	}
	if n := s.batch.Tokens(); len(s.trained) != n {
		s.trained = batch.Zeroed(s.trained, n)
	}
	for k, i := range s.rows {
		at, _ := s.batch.Span(i)
		from, to := mini.Span(k)
		copy(s.trained[at:], mini.Now.Logp[from:to])
	}
}

func (s *Session) perturbation(number int) *learner.Perturbation {
	layers := s.initial.Config.Layers
	rng := stream.New(s.recipe.Seed, stream.Perturbation, number)
	n := &learner.Perturbation{Grad: make([]float64, layers), Normal: func() float64 { return stream.Normal(rng) }}
	for _, sigma := range s.perturbed.Sigmas(layers) {
		n.Sigma = append(n.Sigma, float32(sigma))
	}
	return n
}
