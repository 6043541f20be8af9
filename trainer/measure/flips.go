package measure

import (
	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/batch"
	"driftlab/trainer/diagnose"
	"driftlab/trainer/engines"
	"driftlab/trainer/recipe"
)

// Flips measures where the engines of a recipe send tokens, and what replay of the
// routes leaves of their gap. The first responses, so many, are shown token by token.
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
	w, err := trainer.BeforeCalibration(r, p, max(workers, 1))
	if err != nil {
		return nil, err
	}
	q := Probe{Recipe: r, Weights: w, Requests: requests, Workers: max(workers, 1)}
	sampling := q.Sampling()
	sampling.Gates = true
	b := q.Sample(sampling)
	f := &record.Flips{Rollout: r.Rollout.Numerics.Name, Learner: r.Learner.Numerics.Name, Seed: r.Seed, Layers: b.Layers}
	_, to := b.Span(min(responses, b.Len()) - 1)
	for i := range min(responses, b.Len()) {
		from, _ := b.Span(i)
		f.Starts = append(f.Starts, from)
	}
	vocab := t.Vocab()
	for _, id := range b.Token[:to] {
		f.Tokens = append(f.Tokens, vocab[id])
	}
	scorer := q.scorer(r.Learner.Numerics)
	defer scorer.Close()
	options := learner.ScoreOptions{Policy: engines.Policy(r), Distributions: true}
	score := func(replay learner.Replay, gates learner.Gates) (float64, []float64) {
		options.Replay, options.Gates = replay, gates
		scorer.Score(&b.Old, &b.Sampled, options)
		deltas := make([]float64, to)
		for n := range deltas {
			deltas[n] = b.Old.Logp[n] - b.LogpRoll[n]
		}
		return diagnose.Compare(b).ExactKL, deltas
	}
	f.KLIDsGates, f.DeltaIDsGates = score(learner.ReplayRollout, learner.RecordedGates)
	f.KLIDs, f.DeltaIDs = score(learner.ReplayRollout, learner.LiveGates)
	f.KLFree, f.DeltaFree = score(learner.ReplayNone, learner.LiveGates)
	g := diagnose.Compare(b)
	f.Count, f.FlippedTokens, f.FlippedDecisions = g.Tokens, g.FlipToken, g.FlipRoute
	f.Flip, f.Margin = routesOf(b, p.Config.Layers, to), make([][]float64, b.Layers)
	States(b, p, r.Learner.Numerics, false, func(pass *engine.Pass, rows []int) {
		margins := RouterMargins(pass, p, rows)
		for l := range f.Margin {
			for n := range to {
				f.Margin[l] = append(f.Margin[l], margins[n*b.Layers+l])
			}
		}
	})
	return f, nil
}

// routesOf says of the first tokens, layer by layer, whether the engines part.
func routesOf(b *batch.Batch, layers, tokens int) [][]bool {
	flips := make([][]bool, layers)
	for l := range flips {
		for n := range tokens {
			flips[l] = append(flips[l], diagnose.Flipped(b, n, l))
		}
	}
	return flips
}
