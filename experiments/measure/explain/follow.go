package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"driftlab/precision/elementary"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/trace"
	"driftlab/trainer/recipe"
)

// Request asks for some tokens of a training step.
type Request struct {
	// Step is the one to follow, from 1; the steps before it are made.
	Step int
	// Tokens is how many are followed, spread evenly over the sizes of the ratio
	// between the engines.
	Tokens int
	// Workers is the number of cores; 0 means one.
	Workers int
	// Progress is called after every training step; nil for none.
	Progress func(trainer.Progress)
}

// errDone ends a run after the step that was asked for.
var errDone = errors.New("followed")

// Follow makes the run of a recipe up to a step, and follows tokens through that one.
// The clip settings come from the recipe's loss where that is ppo_clip, else from ppo_clip's defaults.
func Follow(ctx context.Context, r recipe.Recipe, q Request) (*record.Update, error) {
	r, p, err := trainer.Prepare(r)
	if err != nil {
		return nil, err
	}
	if q.Step < 1 || q.Step > r.Steps {
		return nil, fmt.Errorf("step %d: the run has the steps 1 to %d", q.Step, r.Steps)
	}
	var s *trainer.Session
	var after [][]float64 // log-probs of the batch after each update
	s, err = trainer.NewSession(r, p, trainer.Options{Workers: q.Workers, Progress: q.Progress, Updated: func(step, _ int) {
		if step == q.Step-1 {
			var now batch.Scored
			s.Score(&now)
			after = append(after, now.Logp)
		}
	}})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	err = s.Run(ctx, 0, func(step int, _ []batch.Metric) error {
		if step == q.Step {
			return errDone
		}
		return nil
	})
	if !errors.Is(err, errDone) {
		return nil, err
	}
	b, _, _, _ := s.Sampled()
	after = slices.Insert(after, 0, b.Old.Logp)
	u := &record.Update{Seed: r.Seed, Step: q.Step, Rollout: r.Rollout.Numerics.Name, Learner: r.Learner.Numerics.Name,
		Updates: len(after) - 1, Caps: []float64{1, 1.5, 2, 3, 5}}
	f := &follower{Update: u, batch: b, after: after, clip: *method.New[loss.PPOClip]()}
	if own, ok := r.Loss.New().(*loss.PPOClip); ok {
		f.clip = *own
	}
	f.clip.Aggregation = loss.Aggregation{Mode: "token-sum"} // each token's own part
	u.Low, u.High = 1-f.clip.EpsLow, 1+f.clip.EpsHigh
	return u, f.fill(s.Vocab(), q.Tokens)
}

// follower fills an Update from the batch of a step.
type follower struct {
	*record.Update
	batch *batch.Batch
	after [][]float64
	clip  loss.PPOClip
}

func (f *follower) fill(vocab []string, tokens int) error {
	f.Count = masked.Count(f.batch.Mask)
	chosen := f.choose(tokens)
	for _, n := range chosen {
		f.Tokens = append(f.Tokens, f.token(n, vocab))
	}
	for update := range f.after {
		merged, _, err := f.price(update, f.batch.LogpRoll, false, chosen)
		if err != nil {
			return err
		}
		decoupled, weights, err := f.price(update, f.batch.Old.Logp, true, chosen)
		if err != nil {
			return err
		}
		f.OutsideMerged = append(f.OutsideMerged, f.outside(update, f.batch.LogpRoll))
		f.OutsideDecoupled = append(f.OutsideDecoupled, f.outside(update, f.batch.Old.Logp))
		for k, n := range chosen {
			t := &f.Tokens[k]
			t.MergedBranch = append(t.MergedBranch, string(merged.Tokens[n].Branch))
			t.DecoupledBranch = append(t.DecoupledBranch, string(decoupled.Tokens[n].Branch))
			lines := merged.Tokens[n].Lines()
			for i := range lines { // the anchor is the sampler's policy
				lines[i] = strings.Replace(lines[i], "old =", "roll =", 1)
			}
			t.MergedLines = append(t.MergedLines, lines)
			t.DecoupledLines = append(t.DecoupledLines, append(weights.Tokens[n].Lines(), decoupled.Tokens[n].Lines()...))
		}
	}
	return nil
}

// tisCap is the cap of the weights in the formulas (verl's default).
const tisCap = 2

// sure is the log-prob from which on a token says nothing: all policies agree on it.
const sure = -0.05

// choose returns the given number of tokens with an advantage that are not sure, evenly over the ranks
// of the log-ratio of the engines, from the smallest to the largest.
func (f *follower) choose(tokens int) []int {
	b := f.batch
	var all []int
	for n, m := range b.Mask {
		if m && b.Advantage[n] != 0 && b.Old.Logp[n] < sure {
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(x, y int) int { return cmp.Compare(f.engine(x), f.engine(y)) })
	if len(all) <= tokens {
		return all
	}
	chosen := make([]int, tokens)
	for k := range chosen {
		chosen[k] = all[k*(len(all)-1)/max(tokens-1, 1)]
	}
	return chosen
}

// engine is the log-ratio of old over mu.
func (f *follower) engine(n int) float64 { return f.batch.Old.Logp[n] - f.batch.LogpRoll[n] }

func (f *follower) token(n int, vocab []string) record.UpdatedToken {
	b := f.batch
	i, found := slices.BinarySearch(b.Offsets, n)
	if !found {
		i--
	}
	t := record.UpdatedToken{Response: i, Position: n - b.Offsets[i], Token: vocab[b.Token[n]], Advantage: b.Advantage[n],
		LogMu: b.LogpRoll[n], LogOld: b.Old.Logp[n], Engine: elementary.Exp(f.engine(n))}
	for _, now := range f.after {
		t.LogNow = append(t.LogNow, now[n])
		t.Staleness = append(t.Staleness, elementary.Exp(now[n]-t.LogOld))
		t.Merged = append(t.Merged, elementary.Exp(now[n]-t.LogMu))
	}
	for _, c := range f.Caps {
		t.Weight = append(t.Weight, min(t.Engine, c))
	}
	return t
}

// outside is the share of tokens whose ratio to an anchor lies outside the band, after
// the given number of updates.
func (f *follower) outside(update int, anchor []float64) float64 {
	outside := 0.0
	for n, m := range f.batch.Mask {
		if r := elementary.Exp(f.after[update][n] - anchor[n]); m && (r < f.Low || r > f.High) {
			outside++
		}
	}
	return outside / float64(f.Count)
}

// price is what the clipped loss makes of every token after the given number of updates, with a
// policy in the place of the old one and, in decoupled mode, the correction between that
// and the sampler. The gradients of the chosen tokens are checked.
func (f *follower) price(update int, anchor []float64, corrected bool, chosen []int) (*trace.Trace, *trace.Trace, error) {
	view := *f.batch
	view.Now.Logp, view.Anchor = f.after[update], anchor
	view.LossMask, view.Weight, view.Gate = nil, nil, nil
	var weights *trace.Trace
	if corrected {
		view.Corrected = batch.Corrected{Anchor: anchor}
		p := correction.Pipeline{Weights: &correction.TokenTIS{Cap: tisCap}}
		accounts, err := p.Explain(&view, correction.AtBatch)
		if err != nil {
			return nil, nil, err
		}
		weights = accounts[0].Trace
	}
	priced, _, err := loss.Explain(&f.clip, &view, chosen)
	return priced, weights, err
}
