package measure

import (
	"cmp"
	"context"
	"fmt"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
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
	// verdicts; nil for nobody.
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
	// KeptMass tests that the recorded log-probs belong to the sampling law; nil
	// where tokens are drawn from the policy as it is, so that nothing could be left
	// out. The learner's policy is that of Gap.
	KeptMass *metrics.KeptMass `json:"kept_mass,omitempty"`
	// Turns is the gap turn by turn, with the router free; nil for a task without
	// a tool.
	Turns []metrics.TurnGap `json:"turns,omitempty"`
	// ReplayedGates is what is left when it weighs their experts by the rollout
	// engine's gates too.
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
		for _, n := range []engine.Numerics{pair.Rollout, pair.Learner} {
			if err := n.Validate(); err != nil {
				return nil, fmt.Errorf("numerics %s: %w", n.Name, err)
			}
		}
	}
	m := &Measurement{Checkpoint: r.Checkpoint, Task: r.Task.Name, Seed: r.Seed,
		Prompts: r.Rollout.Prompts, Group: r.Rollout.Group, MaxTokens: r.Rollout.MaxTokens}
	grade := trainer.Grader(r)
	prompts, requests := measureRequests(r, r.Task.New())
	w, err := trainer.BeforeMeasurement(r, p, max(q.Workers, 1))
	if err != nil {
		return nil, err
	}
	var fault error
	for i, pair := range pairs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.Rollout.Numerics = pair.Rollout
		probe := Probe{Recipe: r, Weights: w, Requests: requests, Workers: max(q.Workers, 1)}
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
func measureRequests(r recipe.Recipe, t task.Task) (prompts []task.Prompt, requests []rollout.Request) {
	rng := stream.New(r.Seed, stream.Measurement, 0)
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
		gates := metrics.Compare(b)
		options.Gates = learner.LiveGates
		scorer.Score(&b.Old, &b.Sampled, options)
		replayed := metrics.Compare(b)
		out.Replayed, out.ReplayedGates = &replayed, &gates
		out.ReplayedResponses = metrics.CompareResponses(b)
	}
	options.Replay = learner.ReplayNone
	if b.KVKept != nil {
		masked := options
		masked.Retention = true
		scorer.Score(&b.Old, &b.Sampled, masked)
		shadow := metrics.Compare(b)
		out.Shadow, out.Retained = &shadow, metrics.Retained(b)
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
