package trainer

import (
	"context"
	"fmt"
	"slices"

	"driftlab/engine"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/results/stats/passk"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
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

// Evaluation is a pass rate and its parts.
type Evaluation struct {
	PassRate
	// Prompts says of each prompt how hard it is and how often it was solved.
	Prompts []PromptTally
	// Lengths says the same of responses by length, in equal parts of the limit.
	Lengths [lengthBins]passk.Tally
}

// PromptTally is what became of one held-out prompt.
type PromptTally struct {
	// Difficulty is that of the prompt, Tokens what was generated over all responses.
	Difficulty, Tokens int
	// Surprisal is the sum of −log p over these tokens, nats.
	Surprisal float64
	passk.Tally
}

// evaluator samples held-out prompts under given numerics. The prompts are the
// same at every call with the same seed: a pass rate moves because the weights did.
type evaluator struct {
	engine   *rollout.Engine
	task     task.Task
	sampling rollout.Sampling
	scales   recipe.KVScales
	batch    batch.Batch

	// One evaluation.
	seed     uint64
	purpose  stream.Purpose
	prompts  []task.Prompt
	requests []rollout.Request
	sum      Evaluation
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

func (e *evaluator) close() { e.engine.Close() }

// passRate evaluates the weights on n held-out prompts at the temperature, with
// the given number of responses to each. The first responses to a prompt are the
// same whatever that number.
func (e *evaluator) passRate(p *model.Params, n, samples int, temperature float64, seed uint64) Evaluation {
	e.begin(p, e.heldOut(n, seed), temperature, seed, stream.Evaluation)
	_ = e.tryAll(context.Background(), samples)
	return e.end()
}

// heldOut draws n prompts of the evaluation stream.
func (e *evaluator) heldOut(n int, seed uint64) []task.Prompt {
	rng := stream.New(seed, stream.Evaluation, 0)
	e.prompts = e.prompts[:0]
	for range n {
		e.prompts = append(e.prompts, task.DrawHeldOut(e.task, rng))
	}
	return e.prompts
}

// begin takes the prompts and the weights. The purpose names the random streams.
func (e *evaluator) begin(p *model.Params, prompts []task.Prompt, temperature float64, seed uint64, purpose stream.Purpose) {
	e.seed, e.purpose, e.prompts = seed, purpose, prompts
	e.sum = Evaluation{Prompts: make([]PromptTally, len(prompts))}
	e.engine.Publish(p, 0)
	var calibration [][]int32 // for fresh scales of a static KV cache
	for i, q := range prompts {
		e.sum.Prompts[i].Difficulty = q.Difficulty
		if i < e.scales.Prompts {
			calibration = append(calibration, q.Tokens)
		}
	}
	if calibration != nil {
		e.engine.Calibrate(calibration, e.scales.Margin)
	}
	e.sampling.Temperature = temperature
}

// tryAll adds the given number of responses to every prompt, in parts: what is generated at a time is
// held in memory. It ends early with the context.
func (e *evaluator) tryAll(ctx context.Context, samples int) error {
	all := indices(len(e.prompts))
	most := e.most()
	for done, part := 0, max(1, most/len(all)); done < samples; done += part {
		for some := range slices.Chunk(all, most) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			e.respond(some, min(part, samples-done), 0)
		}
	}
	return nil
}

// most is how many responses are held in memory.
func (e *evaluator) most() int {
	return min(mostResponses, max(evaluationSlots, mostTokens/e.sampling.MaxTokens))
}

// respond adds the next responses to some prompts. A prompt stops at its until-th
// correct response, as if they came one by one; 0 for never.
func (e *evaluator) respond(prompts []int, samples, until int) {
	e.requests = e.requests[:0]
	for s := range samples {
		for _, i := range prompts {
			k := i + len(e.prompts)*(e.sum.Prompts[i].Samples+s)
			e.requests = append(e.requests, rollout.Request{Prompt: e.prompts[i].Tokens, Seed: e.seed, Stream: stream.ID(e.purpose, 1+k), Tool: engines.Tool(e.task)})
		}
	}
	e.engine.Generate(&e.batch.Sampled, e.requests, e.sampling)
	for k := range e.requests {
		i := prompts[k%len(prompts)]
		of := &e.sum.Prompts[i]
		if of.Stopped {
			continue
		}
		from, to := e.batch.Span(k)
		of.Samples++
		generated := masked.Count(e.batch.Mask[from:to])
		for n := range e.batch.Where(k, e.batch.Mask) {
			of.Surprisal -= e.batch.LogpRoll[n]
		}
		long := &e.sum.Lengths[lengthBin(generated, e.sampling.MaxTokens)]
		long.Samples++
		if e.task.Verify(e.prompts[i], e.batch.Token[from:to]).Correct {
			of.Correct++
			long.Correct++
			of.Stopped = of.Correct == until
			e.sum.Rate++
		}
		if e.batch.Finished[k] {
			e.sum.Finished++
		}
		of.Tokens += generated
		e.sum.Length += float64(generated)
	}
}

// end turns the sums into means.
func (e *evaluator) end() Evaluation {
	r, responses := e.sum, 0
	for _, p := range r.Prompts {
		responses += p.Samples
	}
	r.Rate /= float64(responses)
	r.Length /= float64(responses)
	r.Finished /= float64(responses)
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
	p, eval := s.learner.Params(), s.recipe.Eval
	inLearner := s.inLearner.passRate(p, eval.Prompts, eval.PerPrompt(), 1, s.recipe.Seed)
	inRollout := inLearner
	if s.inRollout != s.inLearner {
		inRollout = s.inRollout.passRate(p, eval.Prompts, eval.PerPrompt(), 1, s.recipe.Seed)
	}
	greedy := s.inLearner.passRate(p, eval.Prompts, 1, 0, s.recipe.Seed)
	s.metrics = append(s.metrics,
		batch.Metric{Name: "val/learner/pass_rate", Value: inLearner.Rate},
		batch.Metric{Name: "val/learner/greedy_pass_rate", Value: greedy.Rate},
		batch.Metric{Name: "val/learner/response_length", Value: inLearner.Length},
		batch.Metric{Name: "val/rollout/pass_rate", Value: inRollout.Rate},
		batch.Metric{Name: "val/weight_travel", Value: distance(p.Theta, s.initial.Theta)})
	if !p.Config.Dense() {
		s.log("val/router_travel", routerTravel(p, s.initial))
	}
	if s.batch.Old.Logp != nil { // a step has been made
		var after batch.Scored // not kept: it may be as large as the batch's distributions
		s.Score(&after)
		s.metrics = metrics.Update(s.metrics, &s.batch, after)
	}
	if eval.PerPrompt() > 1 {
		s.metrics = inLearner.byLength(inLearner.passAtK(s.metrics), s.recipe.Rollout.MaxTokens)
		if s.first == nil && distance(p.Theta, s.initial.Theta) == 0 {
			s.first = inLearner.Prompts
		} else if s.first == nil { // the run was resumed
			s.first = s.inLearner.passRate(s.initial, eval.Prompts, eval.PerPrompt(), 1, s.recipe.Seed).Prompts
		}
		s.metrics = inLearner.strata(s.metrics, s.first)
	}
}

// Prompts are easy for the first weights that solve them more often than this, and
// hard that solve them less often.
const (
	easyPassRate = 0.9
	hardPassRate = 0.1
)

// strata appends the pass rate and the length of prompts that were easy and of those
// that were hard for the first weights, where there are any.
func (r *Evaluation) strata(metrics []batch.Metric, first []PromptTally) []batch.Metric {
	var easy, hard PromptTally
	for i, p := range r.Prompts {
		switch rate := float64(first[i].Correct) / float64(first[i].Samples); {
		case rate > easyPassRate:
			easy.add(p)
		case rate < hardPassRate:
			hard.add(p)
		}
	}
	metrics = easy.metrics(metrics, "val/learner/easy/", "")
	return hard.metrics(metrics, "val/learner/hard/", "")
}

func (p *PromptTally) add(q PromptTally) {
	p.Correct, p.Samples, p.Tokens, p.Surprisal = p.Correct+q.Correct, p.Samples+q.Samples, p.Tokens+q.Tokens, p.Surprisal+q.Surprisal
}

// metrics appends pass rate, length and entropy of a sum over prompts, if there are any.
func (p *PromptTally) metrics(dst []batch.Metric, before, behind string) []batch.Metric {
	if p.Samples == 0 {
		return dst
	}
	samples := float64(p.Samples)
	return append(dst, batch.Metric{Name: before + "pass_rate" + behind, Value: float64(p.Correct) / samples},
		batch.Metric{Name: before + "response_length" + behind, Value: float64(p.Tokens) / samples},
		batch.Metric{Name: before + "entropy" + behind, Value: p.Surprisal / float64(max(p.Tokens, 1))})
}

// Attempts says how often held-out prompts are tried.
type Attempts struct {
	// Prompts is how many there are, Samples the responses to each at first.
	Prompts, Samples int
	// Most, above Samples, goes on with the prompts that have fewer than Until correct
	// responses and stops each at its Until-th, or at Most: dynamic N. Then Rate, Length
	// and Finished are means over more responses to hard prompts than to easy ones;
	// passk has the estimators for such tallies.
	Most, Until int
}

// Evaluate tries the weights on held-out prompts of the recipe's task, in the
// learner's numerics, at temperature 1. The first responses to a prompt are those of
// an evaluation during training with the recipe's seed, however many there are.
func Evaluate(ctx context.Context, p *model.Params, r recipe.Recipe, a Attempts, o Options) (Evaluation, error) {
	r.Model, r.Eval.Prompts = p.Config, a.Prompts
	e := newEvaluator(r, r.Task.New(), r.Learner.Numerics, o.workers())
	defer e.close()
	e.begin(p, e.heldOut(a.Prompts, r.Seed), 1, r.Seed, stream.Evaluation)
	if err := e.tryAll(ctx, a.Samples); err != nil {
		return e.end(), err
	}
	all := indices(a.Prompts)
	for done := a.Samples; done < a.Most && ctx.Err() == nil; done += a.Samples {
		all = slices.DeleteFunc(all, func(i int) bool { return e.sum.Prompts[i].Correct >= a.Until })
		for some := range slices.Chunk(all, max(1, e.most()/a.Samples)) {
			e.respond(some, min(a.Samples, a.Most-done), a.Until)
		}
	}
	return e.end(), ctx.Err()
}

// mostResponses is how many responses an evaluation holds in memory; tests have fewer. Long
// ones are bounded by their tokens, some hundred bytes each.
var mostResponses = 1 << 13

const mostTokens = 1 << 22

// passAtK appends pass@k for powers of two up to the samples of a prompt and for
// all of them, the Beta distribution of the prompts' pass rates, and pass rate, length
// and entropy by difficulty.
func (r *Evaluation) passAtK(metrics []batch.Metric) []batch.Metric {
	tallies := make([]passk.Tally, len(r.Prompts))
	var byDifficulty []PromptTally
	for i, p := range r.Prompts {
		tallies[i] = p.Tally
		for len(byDifficulty) <= p.Difficulty {
			byDifficulty = append(byDifficulty, PromptTally{})
		}
		byDifficulty[p.Difficulty].add(p)
	}
	samples := tallies[0].Samples
	for k := 2; ; k = min(2*k, samples) {
		metrics = append(metrics, batch.Metric{Name: fmt.Sprintf("val/learner/pass@%d", k), Value: passk.Mean(tallies, k)})
		if k == samples {
			break
		}
	}
	beta := passk.Fit(tallies)
	metrics = append(metrics, batch.Metric{Name: "val/learner/pass_beta/alpha", Value: beta.Alpha}, batch.Metric{Name: "val/learner/pass_beta/beta", Value: beta.Beta})
	for difficulty, t := range byDifficulty {
		metrics = t.metrics(metrics, "val/learner/", fmt.Sprintf("_at/%d", difficulty))
	}
	return metrics
}

// lengthBins is how many equal parts of the length limit responses are sorted into.
const lengthBins = 8

// lengthBin is the part that a response of the given length belongs to: the first ends
// with an eighth of the limit.
func lengthBin(tokens, limit int) int {
	return min(max(tokens-1, 0)*lengthBins/limit, lengthBins-1)
}

// byLength appends the share of responses of each length, by the upper end of its
// part, and the pass rate of those, where there are any.
func (r *Evaluation) byLength(metrics []batch.Metric, limit int) []batch.Metric {
	all := 0
	for _, t := range r.Lengths {
		all += t.Samples
	}
	for k, t := range r.Lengths {
		upTo := limit * (k + 1) / lengthBins
		metrics = append(metrics, batch.Metric{Name: fmt.Sprintf("val/learner/share_of_length/%d", upTo), Value: float64(t.Samples) / float64(all)})
		if t.Samples > 0 {
			metrics = append(metrics, batch.Metric{Name: fmt.Sprintf("val/learner/pass_rate_of_length/%d", upTo), Value: float64(t.Correct) / float64(t.Samples)})
		}
	}
	return metrics
}
