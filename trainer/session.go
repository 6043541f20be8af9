package trainer

import (
	"cmp"

	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/advantage"
	"driftlab/trainer/batch"
	"driftlab/trainer/correction"
	"driftlab/trainer/diagnose"
	"driftlab/trainer/engines"
	"driftlab/trainer/guard"
	"driftlab/trainer/loss"
	"driftlab/trainer/recipe"
	"driftlab/trainer/schedule"
	"driftlab/trainer/stream"
	"driftlab/trainer/task"
)

// session is a run in progress: the parts of one recipe, and the batch that
// travels through them.
type session struct {
	recipe  recipe.Recipe
	options Options
	columns columns
	*grader

	schedule  schedule.Schedule
	estimator advantage.Estimator
	correct   *correction.Pipeline
	objective objective
	guards    []guard.Guard
	policy    learner.Policy // the one that is trained
	minimised loss.Objective // the objective of a gradient, and of its dense pass
	dense     loss.Objective

	learner   *learner.Learner
	fleet     *engines.Fleet
	reference *learner.Scorer // nil unless a method reads it, and so the next three
	teacher   *learner.Scorer
	taught    *model.Params // the teacher's weights
	critic    *critic
	greedy    *greedy
	inLearner *evaluator // evaluations in the learner's numerics
	inRollout *evaluator // and in the rollout engine's; the same one if they are equal
	versions  versions

	speculation *speculation // nil unless tokens are drafted
	initial     *model.Params

	batch    batch.Batch
	mini     batch.Batch
	released batch.Scored // of the batch, without replay
	prompts  []task.Prompt
	requests []rollout.Request
	groups   batch.Groups
	apart    bool  // the minibatches part groups, for want of them
	order    []int // groups or responses, shuffled for the minibatches
	rows     []int // responses of one minibatch
	sums     totals
	metrics  []batch.Metric
	guarded  []batch.Metric // of one guard, reused

	// Memory of columns that come and go within a step.
	trained         []float64 // the training forward's log-probs, for a dump
	tokenReward     []float64
	penalisedReward []float64
}

// newSession assembles the parts of a recipe around the given weights, which
// it trains in place, with the teacher and the drafter that the recipe names.
func newSession(r recipe.Recipe, p *model.Params, o Options) (*session, error) {
	teacher, err := openTeacher(r)
	if err != nil {
		return nil, err
	}
	drafter, err := openDrafter(r)
	if err != nil {
		return nil, err
	}
	workers, settings := o.workers(), engines.LearnerSettings(r.Learner, r.Learner.Optimizer)
	settings.Recompute = o.Recompute
	settings.FrozenRouter = r.Routing.Router == recipe.RouterFrozen
	s := &session{
		recipe: r, options: o, columns: columnsOf(r), grader: newGrader(r), schedule: r.Schedule.New(),
		estimator: r.Advantage.New(), correct: r.Correction.Pipeline(), policy: engines.Policy(r),
		learner: learner.New(p, settings, workers), initial: p.Clone(),
	}
	s.correct.Seed = r.Seed
	for _, g := range r.Guards {
		s.guards = append(s.guards, g.New())
	}
	s.sums.scaled, s.sums.guarded = settings.LossScale.Initial > 0, len(s.guards) > 0
	s.fleet = engines.NewFleet(r, r.Rollout.Numerics, workers)
	if r.Rollout.Speculative != nil {
		s.draftWith(cmp.Or(drafter, s.initial.Clone()))
	}
	s.objective = newObjective(r, s.correct)
	s.minimised.Loss, s.dense.Loss = &s.objective, s.objective.dense
	s.versions.start(p, s.schedule.MaxLag())
	s.recordFor(p, teacher)
	if r.Eval.Every > 0 {
		s.inLearner = newEvaluator(r, s.task, r.Learner.Numerics, workers)
		s.inRollout = s.inLearner
		if !r.Rollout.Numerics.Equal(r.Learner.Numerics) || r.Rollout.KVRetention != nil {
			s.inRollout = newEvaluator(r, s.task, r.Rollout.Numerics, workers)
			s.inRollout.engine.SetRetention(engines.Retention(r.Rollout))
		}
	}
	return s, nil
}

// recordFor makes what the recipe's methods need recorded.
func (s *session) recordFor(p, teacher *model.Params) {
	r, workers := &s.recipe, s.options.workers()
	if s.columns.reference {
		s.reference = learner.NewScorer(r.Model, r.Learner.Numerics, workers)
		s.reference.Publish(p, 0)
	}
	if teacher != nil {
		s.teacher = learner.NewScorer(teacher.Config, r.Learner.Numerics, workers)
		s.teacher.Publish(teacher, 0)
		s.taught = teacher
	}
	if s.columns.value {
		s.critic = newCritic(r.Model.DModel, r.Rollout.MaxTokens)
	}
	if s.columns.greedy {
		s.greedy = newGreedy(*r)
	}
}

func (s *session) close() {
	s.learner.Close()
	s.fleet.Close()
	if s.speculation != nil && s.speculation.learner != nil {
		s.speculation.learner.Close()
	}
	for _, scorer := range []*learner.Scorer{s.reference, s.teacher} {
		if scorer != nil {
			scorer.Close()
		}
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
	s.metrics = s.metrics[:0]
	s.generate(step)
	if err := s.fleet.Check(&s.batch); err != nil {
		return err
	}
	for _, stage := range []func() error{s.reward, s.score, s.penalise, s.correctBatch, s.estimate} {
		if err := stage(); err != nil {
			return err
		}
	}
	s.diagnose()
	s.metrics = s.speculation.metrics(s.metrics)
	if err := s.distil(step); err != nil {
		return err
	}
	if err := s.learn(step); err != nil {
		return err
	}
	s.varianceProxy()
	s.metrics = append(s.metrics, s.correct.Metrics()...)
	return s.dump(step)
}

// generate samples the step's responses with weights as old as the schedule says.
func (s *session) generate(step int) {
	r, b := &s.recipe, &s.batch
	version, weights := s.versions.at(s.learner.Updates() - s.schedule.Lag(step))
	sigma := r.Rollout.Noise.Sigma(step, r.Steps)
	s.fleet.Publish(weights, version, sigma, stream.New(r.Seed, stream.Noise, step))
	s.prepareDrafter(step, version, weights)
	rng := stream.New(r.Seed, stream.Prompts, step)
	s.prompts, s.requests = s.prompts[:0], s.requests[:0]
	for g := range r.Rollout.Prompts {
		p := s.task.Prompt(rng)
		for i := range r.Rollout.Group {
			s.prompts = append(s.prompts, p)
			s.requests = append(s.requests, rollout.Request{
				Prompt: p.Tokens, Group: g, PromptID: p.ID, Seed: r.Seed + uint64(step)<<32, Stream: stream.ID(stream.Sampling, g*r.Rollout.Group+i),
				Tool: engines.Tool(s.task),
			})
		}
	}
	s.calibrate(step)
	s.fleet.Generate(&b.Sampled, s.requests, engines.Sampling(*r))
	if s.speculation != nil {
		s.speculation.observe(b)
	}
	if r.Rollout.Noise.Start > 0 {
		s.metrics = append(s.metrics, batch.Metric{Name: "rollout/noise_sigma", Value: sigma})
	}
	b.LearnerVersion, b.Step = s.learner.Updates(), step
}

// calibrate finds the scales of static KV caches: the rollout engines' where they
// are due, and those of the policies that score, at every step.
func (s *session) calibrate(step int) {
	k := s.recipe.Rollout.KVScales
	if k.Prompts == 0 {
		return
	}
	s.fleet.Calibrate(step, s.requests)
	prompts := engines.CalibrationPrompts(s.recipe.Rollout, s.requests)
	s.learner.Calibrate(prompts, k.Margin)
	for _, frozen := range []*learner.Scorer{s.reference, s.teacher} {
		if frozen != nil {
			frozen.Calibrate(prompts, k.Margin)
		}
	}
}

// reward verifies the responses and turns verdicts into rewards.
func (s *session) reward() error {
	b := &s.batch
	if err := s.grade(b, s.prompts); err != nil {
		return err
	}
	if b.TokenReward == nil && s.columns.tokenReward {
		s.tokenReward = batch.Zeroed(s.tokenReward, b.Tokens())
		for i, r := range b.Reward {
			s.tokenReward[b.Offsets[i+1]-1] = r
		}
		b.TokenReward = s.tokenReward
	}
	if s.greedy == nil {
		return nil
	}
	return s.greedyRewards()
}

// correctBatch applies the corrections that are due once per batch.
func (s *session) correctBatch() error {
	s.batch.Anchor = s.batch.Old.Logp
	return s.correct.Apply(&s.batch, correction.AtBatch)
}

// diagnose appends the figures of the batch.
func (s *session) diagnose() {
	limits := diagnose.Limits{Response: s.recipe.Rollout.MaxTokens, Prompt: s.task.MaxPrompt()}
	s.metrics = diagnose.Step(s.metrics, &s.batch, limits)
	if s.recipe.Routing.Released {
		s.release()
	}
}

// varianceProxy appends estimates of the gradient's signal and noise, with the
// weights that held for the batch as a whole.
func (s *session) varianceProxy() {
	b := s.batch
	b.Weight = b.BatchWeight
	s.metrics = diagnose.VarianceProxy(s.metrics, &b, s.sums.gradNorm())
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
