package measure

import (
	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe"
)

// Flips measures where the engines of a recipe send tokens, and what replay of the
// routes leaves of their gap. So many responses, spread evenly over the batch, are shown
// token by token.
func Flips(r recipe.Recipe, responses, workers int) (*record.Flips, error) {
	r, p, err := trainer.Prepare(r)
	if err != nil {
		return nil, err
	}
	if r.Model.Dense() {
		return nil, recipe.Faults{{Path: "model.experts", Problem: "a dense model has no routes"}}
	}
	t := r.Task.New()
	_, requests := measureRequests(r, t)
	w, err := trainer.BeforeMeasurement(r, p, max(workers, 1))
	if err != nil {
		return nil, err
	}
	q := Probe{Recipe: r, Weights: w, Requests: requests, Workers: max(workers, 1)}
	sampling := q.Sampling()
	sampling.Gates = true
	b := q.Sample(sampling)
	f := &record.Flips{Rollout: r.Rollout.Numerics.Name, Learner: r.Learner.Numerics.Name, Seed: r.Seed, Layers: b.Layers}
	responses = min(responses, b.Len())
	vocab := t.Vocab()
	var tokens []int // those that are shown
	for k := range responses {
		from, to := b.Span(k * b.Len() / responses)
		f.Starts = append(f.Starts, len(tokens))
		for n := from; n < to; n++ {
			tokens = append(tokens, n)
			f.Tokens = append(f.Tokens, vocab[b.Token[n]])
		}
	}
	scorer := q.scorer(r.Learner.Numerics)
	defer scorer.Close()
	options := learner.ScoreOptions{Policy: engines.Policy(r), Distributions: true}
	var g metrics.Gap // as last scored
	score := func(replay learner.Replay, gates learner.Gates) (float64, []float64) {
		options.Replay, options.Gates = replay, gates
		scorer.Score(&b.Old, &b.Sampled, options)
		var deltas []float64
		for _, n := range tokens {
			deltas = append(deltas, b.Old.Logp[n]-b.LogpRoll[n])
		}
		g = metrics.Compare(b)
		return g.ExactKL, deltas
	}
	f.KLIDsGates, f.DeltaIDsGates = score(learner.ReplayRollout, learner.RecordedGates)
	f.KLIDs, f.DeltaIDs = score(learner.ReplayRollout, learner.LiveGates)
	f.KLFree, f.DeltaFree = score(learner.ReplayNone, learner.LiveGates)
	f.Count, f.FlippedTokens, f.FlippedDecisions = g.Tokens, g.FlipToken, g.FlipRoute
	f.Flip, f.Margin = make([][]bool, b.Layers), make([][]float64, b.Layers)
	States(b, p, r.Learner.Numerics, false, func(pass *engine.Pass, rows []int) {
		margins := RouterMargins(pass, p, rows)
		for l := range f.Margin {
			for _, n := range tokens {
				f.Flip[l] = append(f.Flip[l], metrics.Flipped(b, n, l))
				f.Margin[l] = append(f.Margin[l], margins[n*b.Layers+l])
			}
		}
	})
	return f, nil
}
