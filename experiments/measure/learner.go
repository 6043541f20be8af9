package measure

import (
	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
)

// Learner learns from probed batches, with AdamW, on weights of its own.
type Learner struct{ learner *learner.Learner }

// NewLearner begins at a copy of the weights.
func NewLearner(p *model.Params, n engine.Numerics) *Learner {
	return &Learner{learner.New(p.Clone(), learner.Settings{Numerics: n, AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, ClipNorm: 1}}, 1)}
}

// Close releases its workers.
func (l *Learner) Close() { l.learner.Close() }

// Params are its weights by now, and Grad the last gradient of all of them: both
// are the learner's own memory.
func (l *Learner) Params() *model.Params { return l.learner.Params() }

// Grad is described at Params.
func (l *Learner) Grad() []float32 { return l.learner.Grad() }

// Gradient takes the gradient of a loss over a batch, whose Now it fills.
func (l *Learner) Gradient(b *batch.Batch, objective loss.Loss) error {
	o := learner.StepOptions{Policy: learner.Policy{Temperature: 1}, Distributions: len(b.Teacher.Dist) > 0}
	_, err := l.learner.Gradient(&b.Now, &b.Sampled, &loss.Objective{Loss: objective, Batch: b}, o)
	return err
}

// Update makes one gradient step per minibatch and round.
func (l *Learner) Update(parts []*batch.Batch, objective loss.Loss, rate float64, rounds int) error {
	for range rounds {
		for _, m := range parts {
			if err := l.Gradient(m, objective); err != nil {
				return err
			}
			l.learner.Update(rate)
		}
	}
	return nil
}

// Score fills dst with what the weights say now; earlier is the pass whose routes
// they follow, nil for their own.
func (l *Learner) Score(dst *batch.Scored, b *batch.Batch, earlier *batch.Scored) {
	o := learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}, Distributions: true, Earlier: earlier}
	if earlier != nil {
		o.Replay = learner.ReplayOld
	}
	l.learner.Score(dst, &b.Sampled, o)
}
