package trainer

import (
	"context"
	"slices"

	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/cluster"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/guard"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// Session is a run in progress: the parts of one recipe, and the batch that
// they fill. It takes and returns values and touches no file.
type Session struct {
	recipe  recipe.Recipe
	options Options
	stages  []namedStage // in the order in which they run
	*grader

	estimator advantage.Estimator
	correct   *correction.Pipeline
	objective objective
	guards    []guard.Guard
	policy    learner.Policy // the one that is trained
	minimised loss.Objective // the objective of a gradient, and of its dense pass
	dense     loss.Objective
	perturbed loss.Perturber  // nil for a policy without noise in its layers
	predictor *routePredictor // nil for a recipe whose routing replays none

	learner     *learner.Learner
	fleet       *engines.Fleet
	speculation *speculation // nil unless tokens are drafted
	inLearner   *evaluator   // evaluations in the learner's numerics
	inRollout   *evaluator   // and in the rollout engine's; the same one if they are equal
	versions    versions
	published   func(updates int) *cluster.Version // those of a schedule on a clock, nil for others
	initial     *model.Params
	first       []PromptTally // of the first weights, where held-out prompts are sampled several times

	batch    batch.Batch
	mini     batch.Batch
	source   *engines.Prompts
	asked    []task.Prompt // of the step
	prompts  []task.Prompt // by response
	requests []rollout.Request
	groups   batch.Groups
	apart    bool  // the minibatches part groups, for want of them
	order    []int // groups or responses, shuffled for the minibatches
	rows     []int // responses of one minibatch
	sums     totals
	metrics  []batch.Metric
	guarded  []batch.Metric // of one guard, reused

	// Memory of columns that come and go within a step.
	trained         []float64 // the training forward's log-probs, if they are kept
	tokenReward     []float64
	penalisedReward []float64
}

// NewSession assembles the parts of a resolved recipe around the given weights,
// which it trains in place, with the teacher and the drafter that the recipe names.
func NewSession(r recipe.Recipe, p *model.Params, o Options) (*Session, error) {
	o.Workers = o.workers()
	if o.Scorer != nil {
		if err := checkScorer(r); err != nil {
			return nil, err
		}
	}
	if err := p.Config.Fits(7*4, "the weights and those of the start, a gradient, two moments of AdamW and a copy in each engine"); err != nil && r.LoRA == nil {
		return nil, recipe.Faults{{Problem: err.Error()}}
	}
	s := new(Session)
	if err := s.open(r, p, o); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Session) open(r recipe.Recipe, p *model.Params, o Options) error {
	settings := engines.LearnerSettings(r.Learner, r.Learner.Optimizer)
	settings.Recompute = o.Recompute
	settings.FrozenRouter = r.Routing.Router == recipe.RouterFrozen
	*s = Session{
		recipe: r, options: o, grader: newGrader(r),
		estimator: r.Advantage.New(), correct: r.Correction.Pipeline(), policy: engines.Policy(r),
		learner: learner.New(p, settings, o.Workers), initial: p.Clone(),
	}
	s.correct.Seed, s.correct.Mode = r.Seed, r.Mode()
	for _, g := range r.Guards {
		s.guards = append(s.guards, g.New())
	}
	s.sums.scaled, s.sums.guarded = settings.LossScale.Initial > 0, len(s.guards) > 0
	s.objective = newObjective(r, s.correct)
	s.minimised.Loss, s.dense.Loss = &s.objective, s.objective.dense
	for _, t := range s.objective.terms {
		if p, ok := t.(loss.Perturber); ok {
			s.perturbed = p
		}
	}
	s.predictor = newRoutePredictor(s)
	s.versions.ring = make([]*model.Params, r.Lag()+1)
	s.versions.ring[0] = p.Clone()
	s.source = engines.NewPrompts(r, s.task)
	err := s.filterPool()
	if err == nil {
		err = s.assemble()
	}
	if err != nil {
		s.Close()
		return err
	}
	s.evaluators()
	return nil
}

// Close releases engines and workers.
func (s *Session) Close() {
	s.learner.Close()
	for _, m := range s.stages {
		if c, ok := m.stage.(closer); ok {
			c.Close()
		}
	}
	if s.inLearner != nil {
		s.inLearner.close()
	}
	if s.inRollout != nil && s.inRollout != s.inLearner {
		s.inRollout.close()
	}
}

// Run makes the steps from first on and hands the figures of each to the caller,
// numbered from 1, with those of the first weights as 0 where the recipe evaluates
// and nothing has been done. It ends with the context's error before the next
// step, with the caller's, or with a StepError; else all steps are made, or as
// many as the limit on generated tokens allows.
func (s *Session) Run(ctx context.Context, first int, each func(step int, figures []batch.Metric) error) error {
	every := s.recipe.Eval.Every
	if first == 0 && every > 0 && ctx.Err() == nil {
		s.metrics = s.metrics[:0]
		s.evaluate()
		if err := each(0, s.metrics); err != nil {
			return err
		}
	}
	limit := stageOf[*tokenLimit](s)
	for step := first; step < s.recipe.Steps && !limit.reached(); step++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if n := s.options.workers(); n > s.options.Workers {
			if err := s.spread(n); err != nil {
				return &StepError{Step: step + 1, Err: err}
			}
		}
		if err := s.Step(step); err != nil {
			return &StepError{Step: step + 1, Err: err}
		}
		if every > 0 && (step == 0 || (step+1)%every == 0 || step+1 == s.recipe.Steps || limit.reached()) {
			s.evaluate()
		}
		if err := each(step+1, s.metrics); err != nil {
			return err
		}
		s.report(step + 1)
	}
	// The last update was not tried by a forward pass.
	if err := s.learner.CheckWeights(); err != nil {
		return &StepError{Step: s.recipe.Steps + 1, Err: err}
	}
	return nil
}

// report tells whoever watches how the step went.
func (s *Session) report(done int) {
	p := Progress{Step: done, Steps: s.recipe.Steps}
	p.Reward, _ = s.metric("critic/score/mean")
	p.KL, _ = s.metric("gap/k3")
	p.Length, _ = s.metric("response_length/mean")
	s.options.progress(p)
}

// metric returns the step's figure of that name, and whether there is one.
func (s *Session) metric(name string) (float64, bool) {
	if i := slices.IndexFunc(s.metrics, func(m batch.Metric) bool { return m.Name == name }); i >= 0 {
		return s.metrics[i].Value, true
	}
	return 0, false
}

// Clock is the cluster of a schedule that runs on a virtual clock, nil for others.
func (s *Session) Clock() *cluster.Cluster {
	if a := stageOf[*asynchronous](s); a != nil {
		return a.Cluster
	}
	return nil
}

// Params are the weights as they are; the session changes them in place.
func (s *Session) Params() *model.Params { return s.learner.Params() }

// Vocab lists the task's tokens.
func (s *Session) Vocab() []string { return s.task.Vocab() }

// Sampled returns the batch of the last step with the prompts and verdicts of its
// responses, and, if Options keep them, the log-probs that each token had in the
// forward pass before its last update. All are overwritten by the next step.
func (s *Session) Sampled() (b *batch.Batch, prompts []task.Prompt, verdicts []task.Verdict, trained []float64) {
	return &s.batch, s.prompts, s.verdicts, s.trained
}

// correctBatch applies the corrections that are due once per batch.
func (s *Session) correctBatch() error {
	s.correct.Withhold(guard.Withholds(s.guards))
	return s.correct.Apply(&s.batch, correction.AtBatch)
}

func (s *Session) diagnose() error {
	limits := metrics.Limits{Response: s.recipe.Rollout.MaxTokens, Prompt: s.task.MaxPrompt()}
	s.metrics = metrics.Step(s.metrics, &s.batch, limits)
	s.metrics = metrics.Peer(s.metrics, &s.batch, s.recipe.Correction.Names)
	return nil
}
