package trainer

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/experiments/run/dump"
	"driftlab/model"
	"driftlab/results/record"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
	"driftlab/trainer/trainertest"
)

// dumpStep writes the responses of a session's last step.
func dumpStep(w *record.DumpWriter, s *Session, step int) error {
	d := dump.Writer{To: w, Run: s.recipe.Name, Step: step, Sampling: s.recipe.Rollout}
	b, prompts, verdicts, trained := s.Sampled()
	return d.Write(b, prompts, verdicts, trained)
}

// TestTrainDump writes complete lines: every column, and log-probs of the three
// moments of a step.
func TestTrainDump(t *testing.T) {
	for _, sets := range [][]string{
		nil,
		{"routing.replay=r2", "learner.minibatches=2", "correction.mode=bypass"},
		{"routing.replay=r3", "rollout.top_p=0.9", "rollout.top_k=20", "rollout.temperature=0.8", "learner.epochs=2"},
		{"routing={replay: keep_routing, gates: recorded}"},
		{"routing={replay: r2, gates: recorded}", "learner.minibatches=2", "learner.epochs=2"},
		{"rollout.speculative={draft: 3, numerics: fp4-all, verify: lossy, tau: 0.5}", "learner.minibatches=16"},
	} {
		key := func(prompt int64, tokens []int32) string { return fmt.Sprint(prompt, tokens) }
		var batches []batch.Batch
		var trained []map[string][]float64 // by response, of the last forward pass it took part in
		var r recipe.Recipe
		lines := trainertest.Dumped(t, func(w *record.DumpWriter) error {
			s := sessionOf(t, Options{KeepTrained: true}, append(sets, "rollout.numerics=fp8-w8a8")...)
			r = s.recipe
			latest := map[string][]float64{}
			s.objective.loss = &spy{inner: s.objective.loss, see: func(b *batch.Batch) {
				for i := range b.Len() {
					from, to := b.Span(i)
					latest[key(b.PromptID[i], b.Token[from:to])] = slices.Clone(b.Now.Logp[from:to])
				}
			}}
			steps(t, s, 3, func(step int) {
				must(t, dumpStep(w, s, step+1))
				var b batch.Batch
				s.batch.Select(&b, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
				batches, trained = append(batches, b), append(trained, latest)
				latest = map[string][]float64{}
			})
			return nil
		})
		if len(lines) != 3*r.Rollout.Responses() {
			t.Fatalf("%d lines", len(lines))
		}
		moved := 0
		for i, d := range lines {
			b, k := &batches[i/16], i%16
			from, to := b.Span(k)
			per := b.Layers * b.TopK
			switch {
			case d.Run != "tiny" || d.Step != i/16+1 || d.Sample != k || d.Group != b.Group[k] || d.PromptID != b.PromptID[k] || d.Reward != b.Reward[k] ||
				d.Correct != b.Correct[k] || d.Finished != b.Finished[k] || d.Difficulty != r.Task.New().Reproduce(d.PromptID).Difficulty:
				t.Errorf("%v, line %d: labels of %+v", sets, i, d)
			case d.Temperature != r.Rollout.Temperature || d.TopP != r.Rollout.TopP || d.TopK != r.Rollout.TopK || (d.Support == nil) != (d.TopP == 1):
				t.Errorf("%v, line %d: sampling of %+v", sets, i, d)
			case !slices.Equal(d.PromptIDs, b.Prompt[k]) || !slices.Equal(d.TokenIDs, b.Token[from:to]) || !slices.Equal(d.Mask, b.Mask[from:to]) ||
				!slices.Equal(d.Version, b.Version[from:to]) || !slices.Equal(d.TurnID, make([]int32, to-from)):
				t.Errorf("%v, line %d: tokens of %+v", sets, i, d)
			case !slices.Equal(d.LogpRollout, b.LogpRoll[from:to]) || !slices.Equal(d.LogpOld, b.Old.Logp[from:to]) ||
				!slices.Equal(d.LogpNew, trained[i/16][key(d.PromptID, d.TokenIDs)]) || !slices.Equal(d.Advantage, b.Advantage[from:to]) || !slices.Equal(d.KeptMass, b.KeptMass[from:to]):
				t.Errorf("%v, line %d: numbers of %+v", sets, i, d)
			case !slices.Equal(d.RoutesRollout.Expert, b.RoutesRoll[from*per:to*per]) || !slices.Equal(d.RoutesLearner.Expert, b.Old.Routes[from*per:to*per]) ||
				!slices.Equal(d.PromptRoutesRollout.Expert, b.PromptRoutes[k]) || !slices.Equal(d.PromptRoutesLearner.Expert, b.Old.PromptRoutes[k]):
				t.Errorf("%v, line %d: routes of %+v", sets, i, d)
			case slices.Equal(d.LogpOld, d.LogpRollout):
				t.Errorf("%v, line %d: two engines have the same log-probs", sets, i)
			case r.Rollout.Speculative != nil && (!slices.Equal(d.Window, b.Window[from:to]) || !slices.Equal(d.DrafterVersion, b.DrafterVersion[from:to]) ||
				!slices.Equal(d.LogpVerifier, b.LogpVerifier[from:to]) || !slices.Equal(d.LogpLaw, b.LogpLaw[from:to]) || d.Draft[0] != int32(b.Draft[from])):
				t.Errorf("%v, line %d: drafts of %+v", sets, i, d)
			}
			updates := 0 // before the weights of logp_old, which lines of one update per step leave out
			if n := r.Learner.Updates(); n > 1 {
				updates = n * (i / 16)
			}
			if d.LearnerVersion != updates {
				t.Errorf("%v, line %d: learner version %d, want %d", sets, i, d.LearnerVersion, updates)
			}
			if !slices.Equal(d.LogpOld, d.LogpNew) {
				moved++
			}
		}
		// The first update trains on what was scored, each later one on other weights.
		if one := r.Learner.Updates() == 1; one && moved > 0 || !one && moved < len(lines)/3 {
			t.Errorf("%v: logp_new is not logp_old in %d of %d lines", sets, moved, len(lines))
		}
	}
}

// TestDumpRecomputes computes the log-probs of a dump from its lines and from a
// checkpoint, and nothing else: the same bits.
func TestDumpRecomputes(t *testing.T) {
	for _, sets := range [][]string{
		{"rollout.numerics=fp8-w8a8", "learner.numerics=bf16"},
		{"rollout.numerics=bf16-tp4", "routing.replay=r3"},
		{"rollout.numerics=bf16", "rollout.top_p=0.8", "rollout.top_k=20", "rollout.temperature=1.2", "support.replay=true"},
		{"rollout.numerics=bf16", "rollout.kv_retention={policy: heavy_hitter, keep: 0.5, sinks: 1, recent: 2}", "retention.replay=true"},
		{"rollout.numerics=bf16", "rollout.kv_retention={policy: window, keep: 0.5, sinks: 1, recent: 2}"},
		{"rollout.numerics=fp16", "rollout.speculative={draft: 3, numerics: fp4-all}"},
		{"model.context=128", "task={name: lookup, calls: [0, 2], max_calls: 3, output: 4}", "rollout.numerics=bf16", "rollout.max_tokens=40"},
	} {
		first := trainertest.Recipe(t, append(sets, "steps=2")...)
		dir := filepath.Join(t.TempDir(), "run")
		must(t, model.Save(filepath.Join(dir, record.CheckpointFolder), mustRun(t, first, Options{}).Params, model.Extras{}))
		saved, err := model.Load(filepath.Join(dir, record.CheckpointFolder))
		if err != nil {
			t.Fatal(err)
		}
		// The third step of a longer run begins at the weights that the shorter one left.
		r, _ := prepared(t, trainertest.Recipe(t, append(sets, "steps=3")...))
		lines := trainertest.Dumped(t, func(w *record.DumpWriter) error {
			s := sessionIn(t, r, Options{KeepTrained: true})
			return s.Run(context.Background(), 0, func(step int, _ []batch.Metric) error {
				if step == 0 {
					return nil
				}
				return dumpStep(w, s, step)
			})
		})
		lines = lines[2*len(lines)/3:]
		b := batchOf(lines)
		policy := engines.Policy(r)
		policy.Gates = learner.LiveGates
		recompute(b, saved.Params, r.Learner.Numerics, policy)
		for i, d := range lines {
			from, to := b.Span(i)
			if d.Step != 3 || !slices.Equal(b.Old.Logp[from:to], d.LogpOld) || !slices.Equal(b.Old.Logp[from:to], d.LogpNew) {
				t.Fatalf("%v, response %d: logp_old\n%v, recomputed\n%v", sets, i, d.LogpOld, b.Old.Logp[from:to])
			}
		}
		recompute(b, saved.Params, r.Rollout.Numerics, learner.Policy{
			Temperature: r.Rollout.Temperature, Support: lines[0].Support != nil, Retention: b.KVKept != nil})
		for i, d := range lines {
			from, to := b.Span(i)
			if !slices.Equal(b.Old.Logp[from:to], d.LogpRollout) {
				t.Fatalf("%v, response %d: logp_rollout\n%v, recomputed\n%v", sets, i, d.LogpRollout, b.Old.Logp[from:to])
			}
		}
	}
}

// recompute scores a batch in an engine of those numerics.
func recompute(b *batch.Batch, p *model.Params, n engine.Numerics, policy learner.Policy) {
	scorer := learner.NewScorer(p.Config, n, 1)
	defer scorer.Close()
	scorer.Publish(p, 0)
	earlier := b.Old
	scorer.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: policy, Earlier: &earlier})
}

// batchOf is the batch that lines of a dump were written from, as far as a
// scoring pass reads it.
func batchOf(lines []record.DumpLine) *batch.Batch {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	for _, d := range lines {
		b.Offsets = append(b.Offsets, b.Tokens()+len(d.TokenIDs))
		b.Prompt, b.Token, b.Mask = append(b.Prompt, d.PromptIDs), append(b.Token, d.TokenIDs...), append(b.Mask, d.Mask...)
		if d.Support == nil {
			d.Support = make([][]int32, len(d.TokenIDs))
		}
		b.Support = append(b.Support, d.Support...)
		b.Layers, b.TopK = d.RoutesRollout.Layers, d.RoutesRollout.TopK
		b.RoutesRoll, b.PromptRoutes = append(b.RoutesRoll, d.RoutesRollout.Expert...), append(b.PromptRoutes, d.PromptRoutesRollout.Expert)
		b.KVPlanes, b.KVWords, b.KVKept = d.KVKept.Planes, d.KVKept.Words, append(b.KVKept, d.KVKept.Kept...)
	}
	return b
}
