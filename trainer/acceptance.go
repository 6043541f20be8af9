package trainer

import (
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
)

// acceptance takes the updates of a step back where the loss does not accept them (MIPU). To every other part that is a step whose updates were skipped.
type acceptance struct {
	*grader
	rule     *loss.MIPU
	batch    batch.Batch
	scored   batch.Scored
	prompts  []task.Prompt
	requests []rollout.Request
	weights  []float32 // before the updates
	before   learner.State
}

func newAcceptance(s *Session) (stage, error) {
	if rule, ok := s.recipe.Loss.Params.(*loss.MIPU); ok {
		return &acceptance{grader: newGrader(s.recipe), rule: rule}, nil
	}
	return nil, nil
}

// run keeps what the updates of the step are about to change. The versions that they make wait for the decision.
func (a *acceptance) run(s *Session) error {
	now := s.learner.State()
	now.First, now.Second = append(a.before.First[:0], now.First...), append(a.before.Second[:0], now.Second...)
	a.weights, a.before = append(a.weights[:0], s.Params().Trained()...), now
	s.versions.held = []*model.Params{}
	return nil
}

// decide keeps the updates of the step, if there are any, or takes them back.
func (a *acceptance) decide(s *Session) error {
	if s.learner.Updates() == a.before.Updates {
		s.versions.settle(true)
		return nil
	}
	post, err := a.postTerm(s)
	if err != nil {
		return err
	}
	keep, accepted := a.rule.Accepts(post, float64(s.batch.Step)/float64(max(s.recipe.Steps-1, 1))), 1.0
	if s.versions.settle(keep); !keep {
		accepted = 0
		copy(s.Params().Trained(), a.weights)
		s.Params().Merge()
		err = s.learner.SetState(a.before)
	}
	s.log("mipu/t_post", post)
	s.log("mipu/accepted", accepted)
	return err
}

// postTerm has the rollout engine answer fresh held-out prompts with the new weights, and the learner score the responses.
func (a *acceptance) postTerm(s *Session) (float64, error) {
	r, next := &s.recipe, s.batch.Step+1
	seed := r.Seed + uint64(next)<<32
	a.prompts, a.requests = a.prompts[:0], a.requests[:0]
	for g, rng := 0, stream.New(seed, stream.Validation, 0); g < a.rule.Prompts; g++ {
		p := task.DrawHeldOut(s.task, rng)
		for range a.rule.Responses {
			a.prompts = append(a.prompts, p)
			a.requests = append(a.requests, rollout.Request{Prompt: p.Tokens, Group: g, PromptID: p.ID, Seed: seed,
				Stream: stream.ID(stream.Validation, len(a.prompts)), Tool: engines.Tool(s.task), Fuse: s.share(next, p)})
		}
	}
	s.fleet.Publish(next, s.Params(), s.learner.Updates(), r.Rollout.Noise.Sigma(min(next, r.Steps-1), r.Steps), stream.New(r.Seed, stream.Noise, next))
	s.fleet.Generate(&a.batch.Sampled, a.requests, engines.Sampling(*r))
	if err := s.fleet.Check(&a.batch); err != nil {
		return 0, err
	}
	a.batch.LearnerVersion = s.learner.Updates()
	if err := a.gradeCopy(s, &a.batch, a.prompts); err != nil {
		return 0, err
	}
	s.learner.Score(&a.scored, &a.batch.Sampled, s.scoring())
	return loss.PostTerm(&a.batch, a.scored.Logp), nil
}
