package measure

import (
	"cmp"
	"context"
	"fmt"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// Pair is two engines to compare: one samples, the other scores.
type Pair struct {
	Rollout, Learner engine.Numerics
}

// of is the pair, or that of a recipe where it is zero, with an error for numerics that cannot be.
func (p Pair) of(r recipe.Recipe) (Pair, error) {
	if p == (Pair{}) {
		p = Pair{r.Rollout.Numerics, r.Learner.Numerics}
	}
	for _, n := range []engine.Numerics{p.Rollout, p.Learner} {
		if err := n.Validate(); err != nil {
			return p, fmt.Errorf("numerics %s: %w", n.Name, err)
		}
	}
	return p, nil
}

// UsualPairs are the pairs people meet: the same engine twice as a control,
// fp32 in another order, half precisions against fp32, and the served formats
// against a bf16 learner.
func UsualPairs() []Pair {
	var pairs []Pair
	for _, names := range [][2]string{
		{"fp32", "fp32"}, {"fp32-splitk4", "fp32"}, {"fp16", "fp32"}, {"bf16", "fp32"},
		{"bf16-tp4", "bf16"}, {"int8-w8a8", "bf16"}, {"fp8-w8a8", "bf16"}, {"fp4-w4a16", "bf16"},
	} {
		rollout, _ := engine.Preset(names[0])
		learner, _ := engine.Preset(names[1])
		pairs = append(pairs, Pair{rollout, learner})
	}
	return pairs
}

// GapRequest asks for the gap between engines at equal weights.
type GapRequest struct {
	// Recipe gives checkpoint, task and sampling, and the seed; its two numerics
	// are one pair if Pairs is empty.
	Recipe recipe.Recipe
	// Pairs are the engines to compare.
	Pairs []Pair
	// Workers is the number of cores; 0 means one.
	Workers int
	// Progress is called after each pair.
	Progress func(done, pairs int)
	// Responses receives what each pair sampled and scored, with prompts and
	// verdicts; nil for none.
	Responses func(pair string, b *batch.Batch, prompts []task.Prompt, verdicts []task.Verdict) error
}

// PairGap is the gap of one pair.
type PairGap struct {
	// Rollout and Learner name the numerics.
	Rollout string `json:"rollout"`
	Learner string `json:"learner"`
	// Gap is measured with the learner's router free.
	Gap metrics.Gap `json:"gap"`
	// Replayed is the gap left when the learner follows the rollout engine's
	// routes (R3); nil for a dense model.
	Replayed *metrics.Gap `json:"replayed,omitempty"`
	// KeptMass tests that the recorded log-probs belong to the sampling distribution; nil
	// where tokens are drawn from the policy as it is, so that nothing could be left
	// out. The learner's policy is the same as for Gap.
	KeptMass *metrics.KeptMass `json:"kept_mass,omitempty"`
	// Turns is the gap turn by turn, with the router free; nil for a task without
	// a tool.
	Turns []metrics.TurnGap `json:"turns,omitempty"`
	// ReplayedGates is the gap left when the learner weighs the experts of these
	// routes by the rollout engine's gates too; nil for a dense model.
	ReplayedGates *metrics.Gap `json:"replayed_gates,omitempty"`
	// Retained is the share of the positions that response tokens still saw in the
	// rollout engine's cache, or that its index of sparse attention chose, and Shadow the
	// gap left when the learner replays that mask; 0 and nil where nothing is left out. Gap is then with the recipe's
	// choice (retention.replay), Replayed too.
	Retained float64      `json:"retained,omitempty"`
	Shadow   *metrics.Gap `json:"shadow,omitempty"`
	// Speculative is what became of drafted tokens; nil where none were drafted.
	Speculative *SpeculativeGap `json:"speculative,omitempty"`

	// Responses are the parts of Gap, and ReplayedResponses of Replayed, for intervals.
	Responses         []metrics.ResponseGap `json:"-"`
	ReplayedResponses []metrics.ResponseGap `json:"-"`
}

// Measurement is the gap of several pairs on the same prompts.
type Measurement struct {
	// Checkpoint, Task and Seed say what was sampled.
	Checkpoint string `json:"checkpoint"`
	Task       string `json:"task"`
	Seed       uint64 `json:"seed"`
	// Prompts, each answered Group times by MaxTokens at most.
	Prompts   int `json:"prompts"`
	Group     int `json:"group"`
	MaxTokens int `json:"max_tokens"`
	// Pairs are in the order asked for.
	Pairs []PairGap `json:"pairs"`
}

// Gaps samples responses in one engine and scores them in the other, at the
// same weights, pair by pair on the same prompts and the same random numbers.
// Nothing is trained. Every gap is due to what the two numerics declare. A pair
// that leaves the finite numbers is left out, and the first one's error, a
// learner.NonFinite, comes with the measurement of the others.
func Gaps(ctx context.Context, q GapRequest) (*Measurement, error) {
	r, p, err := trainer.Prepare(q.Recipe)
	if err != nil {
		return nil, err
	}
	pairs := q.Pairs
	if len(pairs) == 0 {
		pairs = []Pair{{r.Rollout.Numerics, r.Learner.Numerics}}
	}
	for _, pair := range pairs {
		if _, err := pair.of(r); err != nil {
			return nil, err
		}
	}
	m := &Measurement{Checkpoint: r.Checkpoint, Task: r.Task.Name, Seed: r.Seed,
		Prompts: r.Rollout.Prompts, Group: r.Rollout.Group, MaxTokens: r.Rollout.MaxTokens}
	grade := trainer.Grader(r)
	probe, prompts, err := probeOf(r, p, q.Workers)
	if err != nil {
		return nil, err
	}
	var fault error
	for i, pair := range pairs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		probe.Recipe.Rollout.Numerics = pair.Rollout
		gap, b, err := probe.gap(pair.Learner)
		if err != nil {
			fault = cmp.Or(fault, fmt.Errorf("%s to %s: %w", pair.Rollout.Name, pair.Learner.Name, err))
			continue
		}
		m.Pairs = append(m.Pairs, gap)
		if q.Responses != nil {
			verdicts, err := grade(b, prompts)
			if err != nil {
				return nil, err
			}
			if err := q.Responses(gap.Rollout+"-to-"+gap.Learner, b, prompts, verdicts); err != nil {
				return nil, err
			}
		}
		if q.Progress != nil {
			q.Progress(i+1, len(pairs))
		}
	}
	return m, fault
}

// measureRequests draws the prompts of a measurement, the group size of the
// recipe for each.
func measureRequests(r recipe.Recipe) (prompts []task.Prompt, requests []rollout.Request) {
	t, rng := r.Task.New(), stream.New(r.Seed, stream.Measurement, 0)
	for g := range r.Rollout.Prompts {
		p := task.Draw(t, rng)
		for i := range r.Rollout.Group {
			prompts = append(prompts, p)
			requests = append(requests, rollout.Request{Prompt: p.Tokens, Group: g, PromptID: p.ID, Seed: r.Seed,
				Stream: stream.ID(stream.Measurement, 1+g*r.Rollout.Group+i), Tool: engines.Tool(t)})
		}
	}
	return prompts, requests
}

// probeOf samples the prompts of a measurement, which it returns, with a recipe that was prepared.
func probeOf(r recipe.Recipe, p *model.Params, workers int) (*Probe, []task.Prompt, error) {
	prompts, requests := measureRequests(r)
	w, err := trainer.BeforeMeasurement(r, p, max(workers, 1))
	return &Probe{r, w, requests, max(workers, 1)}, prompts, err
}

// gap compares the rollout side with a learner.
func (q *Probe) gap(n engine.Numerics) (PairGap, *batch.Batch, error) {
	r := &q.Recipe
	sampler, scorer := q.fleet(), q.scorer(n)
	defer sampler.Close()
	defer scorer.Close()
	b := new(batch.Batch)
	recorded := q.Sampling()
	recorded.Gates = !r.Model.Dense()
	sampler.Generate(&b.Sampled, q.Requests, recorded)
	if err := sampler.Check(b); err != nil {
		return PairGap{}, nil, err
	}
	options := learner.ScoreOptions{Policy: engines.Policy(*r), Distributions: true}
	out := PairGap{Rollout: sampler.Name(r.Rollout.Numerics), Learner: n.Name}
	if !r.Model.Dense() {
		options.Replay, options.Gates = learner.ReplayRollout, learner.RecordedGates
		scorer.Score(&b.Old, &b.Sampled, options)
		out.ReplayedGates = new(metrics.Compare(b))
		options.Gates = learner.LiveGates
		scorer.Score(&b.Old, &b.Sampled, options)
		out.Replayed, out.ReplayedResponses = new(metrics.Compare(b)), metrics.CompareResponses(b)
	}
	options.Replay = learner.ReplayNone
	if b.KVKept != nil {
		masked := options
		masked.Retention = true
		scorer.Score(&b.Old, &b.Sampled, masked)
		out.Shadow, out.Retained = new(metrics.Compare(b)), metrics.Retained(b)
	}
	scorer.Score(&b.Old, &b.Sampled, options)
	old := engines.LogProbs{Column: "logp_old", Values: b.Old.Logp, Who: "the learner", Field: "learner.numerics", Numerics: n, Params: q.Weights.Current,
		Scales: scorer.KVScales(), Options: options}
	if err := old.Check(b, 0, b.Len()); err != nil {
		return PairGap{}, nil, err
	}
	out.Gap, out.Responses = metrics.Compare(b), metrics.CompareResponses(b)
	if o := r.Rollout; o.TopP < 1 || o.TopK > 0 || o.Temperature != 1 || r.LearnerTemperature() != o.Temperature {
		if k, ok := metrics.CompareKeptMass(b); ok {
			out.KeptMass = &k
		}
	}
	out.Turns = metrics.CompareTurns(b)
	out.Speculative = q.speculativeGap(b)
	return out, b, nil
}

// Probe samples prompts at frozen weights and scores the responses, in the
// engines that a step of its recipe has.
type Probe struct {
	// Recipe says how responses are sampled. Where it is made for a probe, Model
	// and Rollout are enough.
	Recipe recipe.Recipe
	// Weights are the weights of both engines and of the drafter.
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
	o := learner.ScoreOptions{Policy: learner.Policy{Temperature: cmp.Or(how.Temperature, 1)}, Distributions: how.Distributions}
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
