package measure

import (
	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/recipe"
)

// Probe samples prompts at frozen weights and scores the responses, in the
// engines that a step of its recipe has.
type Probe struct {
	// Recipe says how responses are sampled. Where it is made for a probe, Model
	// and Rollout are enough.
	Recipe recipe.Recipe
	// Weights are those of both engines, and the drafter's.
	Weights trainer.Weights
	// Requests are the prompts, one response each.
	Requests []rollout.Request
	// Workers is the number of cores.
	Workers int
}

// NewProbe samples from bare weights, on one core.
func NewProbe(p *model.Params, r recipe.Rollout, requests []rollout.Request) *Probe {
	return &Probe{Recipe: recipe.Recipe{Model: p.Config, Rollout: r}, Weights: trainer.Weights{Current: p, Calibrated: p, Drafter: p}, Requests: requests, Workers: 1}
}

// Tool is the environment of a response.
type Tool = rollout.Tool

// Requests asks for one response to each prompt, each from a stream of its own:
// the given one and those that follow. The tool of a response may be nil.
func Requests(prompts [][]int32, seed, stream uint64, tool func(response int) Tool) []rollout.Request {
	requests := make([]rollout.Request, len(prompts))
	for i := range requests {
		requests[i] = rollout.Request{Prompt: prompts[i], Seed: seed, Stream: stream + uint64(i)}
		if tool != nil {
			requests[i].Tool = tool(i)
		}
	}
	return requests
}

// Sampling is how the recipe samples, for a caller to change what is recorded.
func (q *Probe) Sampling() rollout.Sampling { return engines.Sampling(q.Recipe) }

// Sample draws the responses.
func (q *Probe) Sample(s rollout.Sampling) *batch.Batch {
	f := q.fleet()
	defer f.Close()
	b := new(batch.Batch)
	f.Generate(&b.Sampled, q.Requests, s)
	return b
}

// fleet is the rollout side, ready to sample. Its noise is the largest of the
// schedule.
func (q *Probe) fleet() *engines.Fleet {
	r := &q.Recipe
	f := engines.NewFleet(*r, r.Rollout.Numerics, q.Workers)
	noise := r.Rollout.Noise.Start
	if r.Rollout.KVScales.Prompts > 0 { // with its noise, as a step calibrates
		f.Publish(0, q.Weights.Calibrated, 0, noise, stream.New(r.Seed, stream.Noise, 0))
		f.Calibrate(0, q.Requests)
	}
	if q.Weights.Prefixes != nil && r.Rollout.SharedPrefixCache != nil {
		f.Publish(0, q.Weights.Prefixes, 0, 0, nil)
		s := q.Sampling()
		s.Gates = !r.Model.Dense() // a measurement may record them
		f.ReadPrompts(q.Requests, s)
	}
	if q.Weights.Missed != nil && r.Rollout.WeightSync != nil {
		f.Publish(r.Rollout.WeightSync.Keeps(), q.Weights.Missed, 0, 0, nil)
	}
	f.Publish(q.Weights.Sync, q.Weights.Current, q.Weights.Updates, noise, stream.New(r.Seed, stream.Noise, 0))
	if set := r.Rollout.Speculative; set != nil {
		f.DraftWith(set, q.Weights.Drafter, 0)
	}
	return f
}

// scorer is a learner's engine, ready to score.
func (q *Probe) scorer(n engine.Numerics) *learner.Scorer {
	s := learner.NewScorer(q.Recipe.Model, n, q.Workers)
	s.Publish(q.Weights.Current, 0)
	if k := q.Recipe.Rollout.KVScales; k.Prompts > 0 {
		s.Calibrate(engines.CalibrationPrompts(q.Recipe.Rollout, q.Requests), k.Margin)
	}
	return s
}

// Scoring says how a learner scores what was sampled.
type Scoring struct {
	// Numerics are the learner's.
	Numerics engine.Numerics
	// Temperature is the learner's; 0 means 1.
	Temperature float64
	// Replay follows the rollout engine's routes, and Gates weighs the experts by
	// its gates too.
	Replay, Gates bool
	// Distributions are recorded on request.
	Distributions bool
	// Workers is the number of cores; 0 means one.
	Workers int
}

// Score fills b.Old with what a learner with the weights says of the responses.
func Score(b *batch.Batch, p *model.Params, how Scoring) {
	o := learner.ScoreOptions{Policy: learner.Policy{Temperature: how.Temperature}, Distributions: how.Distributions}
	if how.Temperature == 0 {
		o.Temperature = 1
	}
	if how.Replay {
		o.Replay = learner.ReplayRollout
	}
	if how.Gates {
		o.Gates = learner.RecordedGates
	}
	q := NewProbe(p, recipe.Rollout{}, nil)
	q.Workers = max(how.Workers, 1)
	s := q.scorer(how.Numerics)
	defer s.Close()
	scoreInSlices(s, b, o)
}

// slice is how many tokens are scored in one pass at most: it holds the logits
// of all.
const slice = 1 << 14

// scoreInSlices fills b.Old, some responses at a time where there are many tokens.
func scoreInSlices(s *learner.Scorer, b *batch.Batch, o learner.ScoreOptions) {
	if b.Tokens() <= slice {
		s.Score(&b.Old, &b.Sampled, o)
		return
	}
	var all, part batch.Scored
	var in batch.Sampled
	for from := 0; from < b.Len(); {
		to := from + 1
		for to < b.Len() && b.Offsets[to+1]-b.Offsets[from] <= slice {
			to++
		}
		rows := make([]int, 0, to-from)
		for i := from; i < to; i++ {
			rows = append(rows, i)
		}
		b.Sampled.Select(&in, rows)
		s.Score(&part, &in, o)
		all.Logp, all.Entropy = append(all.Logp, part.Logp...), append(all.Entropy, part.Entropy...)
		all.Routes, all.Dist = append(all.Routes, part.Routes...), append(all.Dist, part.Dist...)
		all.PromptRoutes = append(all.PromptRoutes, part.PromptRoutes...)
		from = to
	}
	b.Old = all
}
