package measure

import (
	"context"
	"math"
	"slices"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe"
)

// Divergence says at which operation of the forward pass two engines part, token by token, and how their difference grows
// from there to the log-probs.
type Divergence struct {
	// Checkpoint, Task and Seed say what was sampled; Rollout and Learner name the numerics.
	Checkpoint string `json:"checkpoint"`
	Task       string `json:"task"`
	Seed       uint64 `json:"seed"`
	Rollout    string `json:"rollout"`
	Learner    string `json:"learner"`
	// Tokens is how many response tokens were compared, Equal those of them for which no operation differs.
	Tokens int `json:"tokens"`
	Equal  int `json:"equal"`
	// Unequal is how many tokens have another log-prob than the rollout engine recorded while it sampled: what decoding
	// token by token adds to a pass over whole sequences. -1: not compared, since the recorded one belongs to a shaped
	// distribution (temperature, top-p, top-k).
	Unequal int `json:"unequal"`
	// Operations come in the order in which they run.
	Operations []OperationGap `json:"operations"`
}

// OperationGap is the difference of two engines after one operation.
type OperationGap struct {
	// Name and Layer say which; layer -1 is before the layers, and the number of layers after them.
	Name  string `json:"name"`
	Layer int    `json:"layer"`
	// First is how many tokens part here: no operation before differs in any bit at this token. Differ is how many differ here.
	First  int `json:"first"`
	Differ int `json:"differ"`
	// Median and High are quantiles over tokens, 0.5 and 0.9, of the relative difference |a - b| / |b|, Euclidean norms of the
	// rollout engine's a and the learner's b.
	Median float64 `json:"median"`
	High   float64 `json:"high"`
	// Flips is how many tokens go to other experts in this layer; the router has it.
	Flips int `json:"flips,omitempty"`
}

// Layers samples responses with the rollout engine of a recipe, runs them once more through both engines as whole sequences,
// and compares the operations. With equal numerics none differs.
func Layers(ctx context.Context, r recipe.Recipe, pair Pair, workers int) (*Divergence, error) {
	r, p, err := trainer.Prepare(r)
	if err != nil {
		return nil, err
	}
	if pair, err = pair.of(r); err != nil {
		return nil, err
	}
	switch {
	case r.Rollout.KVScales.Prompts > 0:
		return nil, recipe.Faults{{Path: "rollout.kv_scales.prompts", Problem: "operations are compared without calibrated scales: leave it out"}}
	case r.Rollout.KVRetention != nil:
		return nil, recipe.Faults{{Path: "rollout.kv_retention", Problem: "operations are compared over whole sequences, where no entry of the cache is dropped: leave it out"}}
	}
	r.Rollout.Numerics, r.Learner.Numerics = pair.Rollout, pair.Learner
	q, _, err := probeOf(r, p, workers)
	if err != nil {
		return nil, err
	}
	b := q.Sample(q.Sampling())
	d := &Divergence{Checkpoint: r.Checkpoint, Task: r.Task.Name, Seed: r.Seed, Rollout: pair.Rollout.Name, Learner: pair.Learner.Name, Tokens: b.Tokens()}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	States(b, q.Weights.Current, pair.Rollout, false, func(here *engine.Pass, rows []int) {
		d.Unequal = otherThanRecorded(b, here, rows, q)
		States(b, q.Weights.Current, pair.Learner, false, func(there *engine.Pass, _ []int) {
			d.compare(here, there, rows, r.Model)
		})
	})
	return d, nil
}

// otherThanRecorded counts the tokens whose log-prob in a pass is not the recorded one; -1 where that is of a shaped distribution.
func otherThanRecorded(b *batch.Batch, pass *engine.Pass, rows []int, q *Probe) (n int) {
	s := q.Sampling()
	if s.Temperature != 1 || s.TopP != 0 && s.TopP != 1 || s.TopK != 0 {
		return -1
	}
	logp := pass.LogProbs()
	vocab := len(logp) / (len(pass.Hidden()) / q.Recipe.Model.DModel)
	for i, row := range rows {
		if float64(logp[row*vocab+int(b.Token[i])]) != b.LogpRoll[i] {
			n++
		}
	}
	return n
}

func (d *Divergence) compare(here, there *engine.Pass, rows []int, c model.Config) {
	parted := make([]bool, len(rows))
	relative := make([]float64, len(rows))
	others := there.Operations()
	for n, a := range here.Operations() {
		b := others[n]
		gap := OperationGap{Name: a.Name, Layer: a.Layer}
		for i, row := range rows {
			x, y := a.Values[row*a.Width:][:a.Width], b.Values[row*a.Width:][:a.Width]
			relative[i] = RelativeDistance(x, y)
			if relative[i] == 0 {
				continue
			}
			gap.Differ++
			if !parted[i] {
				parted[i] = true
				gap.First++
			}
		}
		slices.Sort(relative)
		gap.Median, gap.High = stats.Quantile(relative, 0.5), stats.Quantile(relative, 0.9)
		if a.Name == "router" {
			for _, row := range rows {
				at := (row*c.Layers + a.Layer) * c.TopK // in [row][layer][rank]
				if !sameExperts(here.Routes()[at:][:c.TopK], there.Routes()[at:][:c.TopK], c.TopK) {
					gap.Flips++
				}
			}
		}
		d.Operations = append(d.Operations, gap)
	}
	for _, p := range parted {
		if !p {
			d.Equal++
		}
	}
}

// RelativeDistance is |x - y| / |y|, and |x - y| of a y without length. It is 0 where all values are equal, and only there.
func RelativeDistance(x, y []float32) float64 {
	var square, length float64
	for i, v := range y {
		e := float64(x[i]) - float64(v)
		square += float64(e * e)
		length += float64(float64(v) * float64(v))
	}
	if square == 0 || length == 0 {
		return math.Sqrt(square)
	}
	return math.Sqrt(square / length)
}

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
	q, _, err := probeOf(r, p, workers)
	if err != nil {
		return nil, err
	}
	sampling := q.Sampling()
	sampling.Gates = true
	b := q.Sample(sampling)
	f := &record.Flips{Rollout: r.Rollout.Numerics.Name, Learner: r.Learner.Numerics.Name, Seed: r.Seed, Layers: b.Layers}
	responses = min(responses, b.Len())
	vocab := r.Task.New().Vocab()
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
		deltas := stats.Map(tokens, func(n int) float64 { return b.Old.Logp[n] - b.LogpRoll[n] })
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
