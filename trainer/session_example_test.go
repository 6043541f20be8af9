package trainer_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/method"
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/method/reward"
	"driftlab/trainer/method/task"
)

// The sizes of the loop: a step has 8 prompts with 8 responses each.
const (
	prompts, responses = 8, 8
	maxTokens          = 32
	learningRate       = 5e-4
)

// named is the method of that name with its defaults.
func named[T any](table method.Table[T], name string) T {
	entry, err := table.Lookup(name)
	if err != nil {
		log.Fatal(err)
	}
	return entry.New()
}

// A whole loop of reinforcement learning by the public API, without a Session: the rollout engine
// computes in fp8, the learner in bf16. What a Session does with recipes, schedules, guards and
// checkpoints is this loop with more stages.
func ExampleSession() {
	checkpoint, err := model.Open("chain-base")
	if err != nil {
		log.Fatal(err)
	}
	params := checkpoint.Params // trained in place
	chain := task.NewChain()

	fp8, _ := engine.Preset("fp8-w8a8")
	sampler := rollout.New(params.Config, fp8, prompts*responses, 1)
	defer sampler.Close()
	bf16, _ := engine.Preset("bf16")
	trained := learner.New(params, learner.Settings{Numerics: bf16,
		AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, ClipNorm: 1}}, 1)
	defer trained.Close()
	policy := learner.Policy{Temperature: 1}

	rewards := reward.NewScorer(named(reward.Registry, "exact"))
	estimator := named(advantage.Registry, "grpo")
	corrections := &correction.Pipeline{Mode: correction.Decoupled, Weights: &correction.TokenTIS{Cap: 2}}
	objective := named(loss.Registry, "ppo")

	for step := range 3 {
		// 1. The sampling policy mu writes a group of responses to each prompt.
		sampler.Publish(params, step)
		rng := rand.New(rand.NewPCG(uint64(step), 1))
		var b batch.Batch
		var asked []task.Prompt
		var requests []rollout.Request
		for group := range prompts {
			p := task.Draw(chain, rng)
			for range responses {
				asked = append(asked, p)
				requests = append(requests, rollout.Request{Prompt: p.Tokens, Group: group, Seed: uint64(step), Stream: uint64(len(requests))})
			}
		}
		sampler.Generate(&b.Sampled, requests, rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: maxTokens, Stop: task.EOS})

		// 2. A verifier judges them, and verdicts become rewards.
		var verdicts []task.Verdict
		for i, p := range asked {
			from, to := b.Span(i)
			verdicts = append(verdicts, chain.Verify(p, b.Token[from:to]))
		}
		if err := rewards.Score(&b, verdicts); err != nil {
			log.Fatal(err)
		}

		// 3. The learner scores the same tokens: pi_old, which differs from mu by the engines alone.
		trained.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: policy})
		b.Anchor = b.Old.Logp
		gap := metrics.Compare(&b)

		// 4. Importance weights correct the mismatch; rewards become advantages of each group.
		if err := corrections.Apply(&b, correction.AtBatch); err != nil {
			log.Fatal(err)
		}
		if err := estimator.Estimate(&b); err != nil {
			log.Fatal(err)
		}

		// 5. One gradient step, unless the loss scale skips it.
		report, err := trained.Gradient(&b.Now, &b.Sampled, &loss.Objective{Loss: objective, Batch: &b}, learner.StepOptions{Policy: policy})
		if err != nil {
			log.Fatal(err)
		}
		if !report.Skipped {
			trained.Update(learningRate)
		}
		correct := 0
		for _, c := range b.Correct {
			if c {
				correct++
			}
		}
		fmt.Printf("step %d: %d of %d responses correct, k3 %.1e\n", step, correct, b.Len(), gap.K3)
	}
	// Output:
	// step 0: 29 of 64 responses correct, k3 3.3e-04
	// step 1: 31 of 64 responses correct, k3 1.4e-03
	// step 2: 26 of 64 responses correct, k3 4.6e-04
}
