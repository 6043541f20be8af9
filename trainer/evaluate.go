package trainer

import (
	"driftlab/engine"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/batch"
	"driftlab/trainer/engines"
	"driftlab/trainer/masked"
	"driftlab/trainer/recipe"
	"driftlab/trainer/stream"
	"driftlab/trainer/task"
)

// PassRate is the outcome of an evaluation on held-out prompts.
type PassRate struct {
	// Rate is the share of responses the verifier accepted.
	Rate float64 `json:"rate"`
	// Length is the mean number of tokens that the policy generated.
	Length float64 `json:"length"`
	// Finished is the share of responses that ended with the stop token.
	Finished float64 `json:"finished"`
}

// evaluator samples one response per held-out prompt under given numerics. The
// prompts are the same at every call with the same seed: a pass rate moves
// because the weights did.
type evaluator struct {
	engine   *rollout.Engine
	task     task.Task
	sampling rollout.Sampling
	batch    batch.Batch
	prompts  []task.Prompt
	requests []rollout.Request
	scales   recipe.KVScales
}

// evaluationSlots is how many sequences are decoded side by side.
const evaluationSlots = 64

func newEvaluator(r recipe.Recipe, t task.Task, n engine.Numerics, workers int) *evaluator {
	return &evaluator{
		engine: rollout.New(r.Model, n, min(evaluationSlots, max(r.Eval.Prompts, 1)), workers), task: t,
		scales:   r.Rollout.KVScales,
		sampling: rollout.Sampling{TopP: 1, MaxTokens: r.Rollout.MaxTokens, Stop: task.EOS},
	}
}

// calibrate finds fresh scales for a static KV cache, from the prompts at hand.
func (e *evaluator) calibrate() {
	if e.scales.Prompts == 0 {
		return
	}
	var prompts [][]int32
	for i := range min(e.scales.Prompts, len(e.requests)) {
		prompts = append(prompts, e.requests[i].Prompt)
	}
	e.engine.Calibrate(prompts, e.scales.Margin)
}

func (e *evaluator) close() { e.engine.Close() }

// passRate evaluates the weights on n held-out prompts at the temperature.
func (e *evaluator) passRate(p *model.Params, n int, temperature float64, seed uint64) PassRate {
	rng := stream.New(seed, stream.Evaluation, 0)
	e.prompts, e.requests = e.prompts[:0], e.requests[:0]
	for i := range n {
		q := task.DrawHeldOut(e.task, rng)
		e.prompts = append(e.prompts, q)
		e.requests = append(e.requests, rollout.Request{Prompt: q.Tokens, Seed: seed, Stream: stream.ID(stream.Evaluation, 1+i), Tool: engines.Tool(e.task)})
	}
	e.engine.Publish(p, 0)
	e.calibrate()
	e.sampling.Temperature = temperature
	e.engine.Generate(&e.batch.Sampled, e.requests, e.sampling)
	var r PassRate
	for i, q := range e.prompts {
		from, to := e.batch.Span(i)
		if e.task.Verify(q, e.batch.Token[from:to]).Correct {
			r.Rate++
		}
		if e.batch.Finished[i] {
			r.Finished++
		}
		r.Length += float64(masked.Count(e.batch.Mask[from:to]))
	}
	r.Rate /= float64(n)
	r.Length /= float64(n)
	r.Finished /= float64(n)
	return r
}

// evaluators makes the engines of the evaluations, if the recipe has any.
func (s *Session) evaluators() {
	r, workers := s.recipe, s.options.Workers
	if r.Eval.Every == 0 {
		return
	}
	s.inLearner = newEvaluator(r, s.task, r.Learner.Numerics, workers)
	s.inRollout = s.inLearner
	if !r.Rollout.Numerics.Equal(r.Learner.Numerics) || r.Rollout.KVRetention != nil {
		s.inRollout = newEvaluator(r, s.task, r.Rollout.Numerics, workers)
		s.inRollout.engine.SetRetention(engines.Retention(r.Rollout))
	}
}

// evaluate appends the pass rates of the current weights in both engines, and
// how far the weights have travelled from the start.
func (s *Session) evaluate() {
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
