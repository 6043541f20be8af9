package trainer

import (
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/advantage"
	"driftlab/trainer/batch"
	"driftlab/trainer/correction"
	"driftlab/trainer/diagnose"
	"driftlab/trainer/guard"
	"driftlab/trainer/recipe"
	"driftlab/trainer/reward"
	"driftlab/trainer/schedule"
	"driftlab/trainer/task"
)

// session is a run in progress: the parts of one recipe, and the batch that
// travels through them.
type session struct {
	recipe  recipe.Recipe
	options Options

	task      task.Task
	parts     []reward.Shaper
	scorer    *reward.Scorer
	schedule  schedule.Schedule
	estimator advantage.Estimator
	correct   *correction.Pipeline
	objective objective
	guards    []guard.Guard
	replay    learner.Replay

	learner   *learner.Learner
	engine    *rollout.Engine
	reference *learner.Scorer // nil unless a KL term reads it
	inLearner *evaluator      // evaluations in the learner's numerics
	inRollout *evaluator      // and in the rollout engine's; the same one if they are equal
	versions  versions

	batch    batch.Batch
	mini     batch.Batch
	prompts  []task.Prompt
	verdicts []task.Verdict
	requests []rollout.Request
	order    []int // groups or responses, shuffled for the minibatches
	rows     []int // responses of one minibatch
	sums     totals
	guarded  []batch.Metric // of one guard, reused
	metrics  []batch.Metric
	initial  *model.Params
}

// newSession assembles the parts of a recipe around the given weights, which
// it trains in place.
func newSession(r recipe.Recipe, p *model.Params, o Options) *session {
	workers, settings := o.workers(), learnerSettings(r.Learner, r.Learner.Optimizer)
	s := &session{
		recipe: r, options: o, task: r.Task.New(), schedule: r.Schedule.New(),
		estimator: r.Advantage.New(), correct: r.Correction.Pipeline(), replay: learner.Replay(r.Routing.Replay),
		learner: learner.New(p, settings, workers),
	}
	for _, part := range r.Reward {
		s.parts = append(s.parts, part.New())
	}
	s.scorer = reward.NewScorer(s.parts...)
	for _, g := range r.Guards {
		s.guards = append(s.guards, g.New())
	}
	s.sums.scaled, s.sums.guarded = settings.LossScale.Initial > 0, len(s.guards) > 0
	slots := r.Rollout.Slots
	if slots == 0 {
		slots = r.Rollout.Responses()
	}
	s.engine = rollout.New(r.Model, r.Rollout.Numerics, slots, workers)
	s.objective = objective{correction: s.correct, loss: r.Loss.New(), kl: r.KL.New()}
	if r.KL.Name != "none" {
		s.reference = learner.NewScorer(r.Model, r.Learner.Numerics, workers)
		s.reference.Publish(p, 0)
	}
	if r.Eval.Every > 0 {
		s.inLearner = newEvaluator(r, s.task, r.Learner.Numerics, workers)
		s.inRollout = s.inLearner
		if !r.Rollout.Numerics.Equal(r.Learner.Numerics) {
			s.inRollout = newEvaluator(r, s.task, r.Rollout.Numerics, workers)
		}
	}
	s.initial = p.Clone()
	s.versions.start(p, s.schedule.MaxLag())
	return s
}

func (s *session) close() {
	s.learner.Close()
	s.engine.Close()
	if s.reference != nil {
		s.reference.Close()
	}
	if s.inLearner != nil {
		s.inLearner.close()
	}
	if s.inRollout != nil && s.inRollout != s.inLearner {
		s.inRollout.close()
	}
}

// step makes one training step and leaves its figures in metrics.
func (s *session) step(step int) error {
	r, b := &s.recipe, &s.batch
	s.metrics = s.metrics[:0]
	s.generate(step)
	if err := s.reward(); err != nil {
		return err
	}
	if err := s.score(); err != nil {
		return err
	}
	scored := b.LogpOld
	if r.Correction.Mode == correction.Bypass {
		// The pipeline puts mu in the place of pi_old; the gap between the
		// engines is measured on what the learner scored.
		b.LogpOld = nil
	}
	if err := s.correct.Apply(b, correction.AtBatch); err != nil {
		return err
	}
	if err := s.estimator.Estimate(b); err != nil {
		return err
	}
	anchor := b.LogpOld
	b.LogpOld = scored
	limits := diagnose.Limits{Response: r.Rollout.MaxTokens, Prompt: s.task.MaxPrompt()}
	s.metrics = diagnose.Step(s.metrics, b, limits)
	b.LogpOld = anchor
	if err := s.learn(step); err != nil {
		return err
	}
	s.metrics = append(s.metrics, s.correct.Metrics()...)
	return s.dump(step)
}

// generate samples the step's responses with weights as old as the schedule says.
func (s *session) generate(step int) {
	r, b := &s.recipe, &s.batch
	version, weights := s.versions.at(s.learner.Updates() - s.schedule.Lag(step))
	s.engine.Publish(weights, version)
	rng := stream(r.Seed, forPrompts, step)
	s.prompts, s.requests = s.prompts[:0], s.requests[:0]
	b.Group, b.PromptID = b.Group[:0], b.PromptID[:0]
	for g := range r.Rollout.Prompts {
		p := s.task.Prompt(rng)
		for i := range r.Rollout.Group {
			s.prompts = append(s.prompts, p)
			s.requests = append(s.requests, rollout.Request{
				Prompt: p.Tokens, Seed: r.Seed + uint64(step)<<32, Stream: streamID(forSampling, g*r.Rollout.Group+i),
			})
			b.Group = append(b.Group, g)
			b.PromptID = append(b.PromptID, p.ID)
		}
	}
	s.engine.Generate(b, s.requests, sampling(r.Rollout))
	b.LearnerVersion = s.learner.Updates()
}

// reward verifies the responses and turns verdicts into rewards.
func (s *session) reward() error {
	b := &s.batch
	s.verdicts = s.verdicts[:0]
	for i, p := range s.prompts {
		from, to := b.Span(i)
		s.verdicts = append(s.verdicts, s.task.Verify(p, b.Token[from:to]))
	}
	return s.scorer.Score(b, s.verdicts)
}

// score fills pi_old's columns, and the reference's where a KL term wants them.
func (s *session) score() error {
	r, b := &s.recipe, &s.batch
	replay := s.replay
	if replay == learner.ReplayOld {
		replay = learner.ReplayNone // the routes this pass records are the ones replayed later
	}
	s.learner.Score(b, learner.ScoreOptions{
		Column: learner.Old, Temperature: r.Rollout.Temperature, Replay: replay, Distributions: true,
	})
	if s.reference == nil {
		return nil
	}
	s.reference.Score(b, learner.ScoreOptions{
		Column: learner.Reference, Temperature: r.Rollout.Temperature, Replay: replay, Distributions: true,
	})
	kl, err := s.objective.kl.AddReward(b)
	if err != nil {
		return err
	}
	s.metrics = append(s.metrics, batch.Metric{Name: "actor/reward_kl_penalty", Value: kl},
		batch.Metric{Name: "actor/reward_kl_penalty_coeff", Value: s.objective.kl.Coefficient()})
	return nil
}

// evaluate appends the pass rates of the current weights in both engines, and
// how far the weights have travelled from the start.
func (s *session) evaluate() {
	if s.inLearner == nil {
		return
	}
	p, n := s.learner.Params(), s.recipe.Eval.Prompts
	inLearner := s.inLearner.passRate(p, n, 1, s.recipe.Seed)
	inRollout := inLearner
	if s.inRollout != s.inLearner {
		inRollout = s.inRollout.passRate(p, n, 1, s.recipe.Seed)
	}
	greedy := s.inLearner.passRate(p, n, 0, s.recipe.Seed)
	s.metrics = append(s.metrics,
		batch.Metric{Name: "val/learner/pass_rate", Value: inLearner.Rate},
		batch.Metric{Name: "val/learner/greedy_pass_rate", Value: greedy.Rate},
		batch.Metric{Name: "val/learner/response_length", Value: inLearner.Length},
		batch.Metric{Name: "val/rollout/pass_rate", Value: inRollout.Rate},
		batch.Metric{Name: "val/weight_travel", Value: distance(p.Theta, s.initial.Theta)})
}

// metric returns the step's figure of that name, and whether there is one.
func (s *session) metric(name string) (float64, bool) {
	for _, m := range s.metrics {
		if m.Name == name {
			return m.Value, true
		}
	}
	return 0, false
}
