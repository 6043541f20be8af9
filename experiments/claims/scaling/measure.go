package scaling

import (
	"context"
	"fmt"
	"math"
	"slices"

	"driftlab/engine"
	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/method/task"
)

// serving is the rollout engine of a format, as a serving stack sums: every sum
// in four parts, and a decoding step splits the keys. The learner computes in the
// same format, each sum in one chain: nothing but order differs.
func serving(format string) engine.Numerics {
	decoding := claim.Numerics("bf16-flash-decoding")
	return claim.Named(claim.SplitK(claim.Numerics(format)), format+"-serving", func(n *engine.Numerics) {
		n.Attention, n.Tile, n.Splits = decoding.Attention, decoding.Tile, decoding.Splits
	})
}

// What a rung's observation lists, in this order.
const (
	entropyOf   = iota // nats per token
	lengthMean         // tokens per answer
	tokens             // how many there were
	exactKL            // nats per token
	k3                 // nats per token
	beyondTwo          // how many tokens have a ratio above 2 or below 1/2
	sequenceKL         // nats per answer
	flips              // share of router decisions; MoE only, as the rest
	hit                // share of tokens with a flip in any layer
	replayedKL         // exactKL with the rollout's routes replayed
	replayedK3         // k3 likewise
	replayedTwo        // beyondTwo likewise
)

// And what a dense rung's lists of fp16 on both sides.
const (
	fp16KL = iota
	fp16SequenceKL
)

// measureLadder makes the observation of one replication: a model of each rung.
func measureLadder(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	rungs := slices.DeleteFunc(ladder(e.Size), func(r rung) bool { return e.Seed%uint64(r.Every) != 0 })
	for i, r := range rungs {
		e.Report(fmt.Sprintf("rung %d/%d, %s: %s", i+1, len(rungs), r.Family, r.short()))
		if err := r.measure(ctx, e, o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// probe asks the rung's model of this replication for its answers, in the rollout engine.
func (r rung) probe(ctx context.Context, e *claim.Env) (claim.Probe, error) {
	p, err := r.warm(ctx, e)
	if err != nil {
		return claim.Probe{}, err
	}
	t, rng := r.prose(), e.Rand(claim.PromptStream)
	q := claim.Probe{Params: p, Rollout: serving("bf16"), Sequences: r.Answers, Tokens: t.MaxResponse(), Stops: true, Distributions: true}
	for range r.Answers {
		q.Prompts = append(q.Prompts, task.Draw(t, rng).Tokens)
	}
	return q, nil
}

// measure samples answers of the rung's model in the rollout engine, and scores
// them in the learner's.
func (r rung) measure(ctx context.Context, e *claim.Env, o *claim.Observation) error {
	q, err := r.probe(ctx, e)
	if err != nil {
		return err
	}
	bf16 := claim.Numerics("bf16")
	b, g := e.Measure(q, bf16)
	values := []float64{stats.Average(b.Old.Entropy), perAnswer(g), float64(g.Tokens), g.ExactKL, g.K3, beyond(b), g.ExactKL * perAnswer(g)}
	if r.Family == moeFamily {
		again := claim.Replayed(b, q.Params, bf16, true)
		values = append(values, g.FlipRoute, g.FlipToken, again.ExactKL, again.K3, beyond(b))
	}
	o.Set(r.Name(), values...)
	if err := ctx.Err(); err != nil || r.Family == moeFamily {
		return err
	}
	q.Rollout = serving("fp16")
	_, g = e.Measure(q, claim.Numerics("fp16"))
	o.Set(fp16Of(r), g.ExactKL, g.ExactKL*perAnswer(g))
	return ctx.Err()
}

// fp16Of names the observation of fp16 on both sides.
func fp16Of(r rung) string { return r.Name() + ", fp16" }

// perAnswer is the mean length of the answers.
func perAnswer(g metrics.Gap) float64 { return float64(g.Tokens) / float64(g.Sequences) }

// beyond counts the tokens with a ratio above 2 or below 1/2.
func beyond(b *batch.Batch) float64 {
	n := 0.0
	for _, e := range claim.LogRatios(b) {
		if math.Abs(e) > math.Ln2 {
			n++
		}
	}
	return n
}
