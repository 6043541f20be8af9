package trainer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"driftlab/engine/learner"
	"driftlab/trainer/correction"
	"driftlab/trainer/recipe"
)

// extremes are values at the ends of what fields take.
var extremes = []string{
	"rollout.group=1", "rollout.prompts=1", "learner.minibatches=4", "learner.minibatches=16", "learner.epochs=2", "learner.minibatches=3",
	"rollout.max_tokens=1", "rollout.top_p=0.01", "rollout.top_k=1", "rollout.temperature=100", "rollout.slots=1", "rollout.prefill_chunk=1", "rollout.prefix_cache=true",
	"model.top_k=1", "model.experts=1", "model.layers=2", "model.positions=learned", "invariant_scale=4",
	"rollout.log_probs=raw", "rollout.log_probs=tempered", "support.replay=true", "learner.temperature=2",
	"routing.replay=r3", "routing.replay=r2", "routing.replay=keep_routing", "routing.released=true", "routing.gates=recorded", "routing.router=frozen",
	"rollout.kv_retention={}", "rollout.kv_retention={policy: heavy_hitter, keep: 0, budget: 0, recent: 1}", "retention.replay=true",
	"rollout.speculative={drafter: self}", "rollout.speculative={drafter: self, numerics: fp8-all, verify: lossy, tau: 0.5, log_probs: law, refresh: 2}",
	"rollout.speculative={drafter: self, draft: 64, verify: greedy, distill: {every: 1}}",
	"rollout.kv_scales={prompts: 4}", "rollout.numerics=fp8-kv8", "rollout.numerics=bf16-ep4", "rollout.numerics=bf16-tp8", "learner.numerics=fp16", "learner.numerics=fp8-all",
	"rollout.numerics=fp4-all", "learner.numerics=bf16-batch-variant", "rollout.noise={start: 0.1}",
	"teacher=chain-base", "reward=[{name: pass_at_k, k: 8}]", "reward=[exact, {name: process}]", "reward=[exact, format, length_group]",
	"reward=[{name: overlong, max_length: 100, buffer: 50}]", "reward=[{name: length_anchor, by: prompt_tokens}]",
	"advantage={name: gdpo, weights: [1, 2, 3]}", "correction.mode=bypass", "correction.order=sequential", "correction.denominator=pre", "correction.batch_normalize=true",
	"correction.weights_after=1", "correction.masks=[geometric, opsm]", "correction.clamp=0.1",
	"task=lookup", "task=addition", "task=search", "task=filler", "task.difficulty=[1, 8]", "eval={every: 1, prompts: 1}", "eval.every=0",
	"pretrain={}", "learner.loss_scale={mode: dynamic}", "learner.optimizer.clip_norm=0", "learner.optimizer.decay=cosine", "steps=2",
	"loss.aggregation=token-mean", "loss.aggregation=prompt-mean", "loss.aggregation=seq-mean-token-mean@pre", "loss.aggregation=token-sum-norm",
}

// TestWhatLoadsRuns draws combinations of fields. What the recipe accepts makes
// its steps: nothing that the values say is found out only under way.
func TestWhatLoadsRuns(t *testing.T) {
	sets := append([]string(nil), extremes...)
	for _, m := range recipe.Methods() {
		sets = append(sets, set(m)[0])
	}
	for _, p := range correction.Presets {
		sets = append(sets, "correction="+p.Name)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	draws := 1500
	if testing.Short() {
		draws = 200
	}
	ran := 0
	for range draws {
		changes := []string{"steps=1", "eval.every=0"}
		for range 1 + rng.IntN(3) {
			changes = append(changes, sets[rng.IntN(len(sets))])
		}
		r, err := recipe.Parse("tiny.yaml", []byte(tiny))
		if err != nil {
			t.Fatal(err)
		}
		if r.Set(changes...) != nil {
			continue
		}
		ran++
		if err := runs(r); err != nil {
			t.Errorf("%q loads, and then: %v", changes[2:], err)
		}
	}
	if ran < draws/4 {
		t.Errorf("only %d of %d draws load", ran, draws)
	}
}

// runs makes a run and returns how it failed, if not by its numbers.
func runs(r recipe.Recipe) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	_, err = Run(context.Background(), r, Options{})
	var value *learner.NonFinite
	if errors.As(err, &value) {
		return nil
	}
	return err
}
