package main

import (
	"math/rand/v2"
	"time"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
)

// time runs one step to warm up and then the steps that count.
func (c *benchCmd) time(config model.Config, sample, learn engine.Numerics, threads int, done func()) benched {
	p := model.New(config)
	p.Init(1)
	sampler := rollout.New(config, sample, int(min(c.Slots, c.Batch)), threads)
	defer sampler.Close()
	l := learner.New(p, learner.Settings{Numerics: learn, AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, ClipNorm: 1}, Recompute: c.Recompute}, threads)
	defer l.Close()
	requests := c.requests(config.Vocab)
	// No token stops a response: every one has the length asked for.
	s := rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: int(c.Gen), Stop: -1}
	most := newRoofline(threads)
	defer most.close()
	var b batch.Batch
	var gen, score, train []time.Duration
	policy := learner.Policy{Temperature: 1}
	objective := &loss.Objective{Loss: method.New[loss.PPOClip](), Batch: &b}
	for step := range int(c.Steps) + 1 {
		if step == 1 {
			gen, score, train = nil, nil, nil
		}
		most.measure()
		start := time.Now()
		sampler.Publish(p, step)
		sampler.Generate(&b.Sampled, requests, s)
		gen = append(gen, lap(&start))
		l.ScoreAhead(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: policy})
		b.Anchor = b.Old.Logp
		score = append(score, lap(&start))
		b.Advantage = b.Advantage[:0]
		for n := range b.Tokens() {
			b.Advantage = append(b.Advantage, float64(n%3-1))
		}
		start = time.Now()
		if _, err := l.Gradient(&b.Now, &b.Sampled, objective, learner.StepOptions{Policy: policy}); err != nil {
			panic(err) // random weights and bounded advantages are always finite
		}
		l.Update(1e-6)
		train = append(train, lap(&start))
		done()
	}
	d := benched{Params: config.Params(), Group: int(c.Group), Threads: threads, Rollout: sample.Name, Learner: learn.Name, PeakBytes: peakMemory(),
		RooflineGFlops: most.large.best(), GemmGFlops: most.large[0].best, Gemm64GFlops: most.small.best()}
	d.add("generate", gen, c.tokens(c.Gen), c.forward(config, sample))
	d.add("score", score, c.tokens(c.Prompt+c.Gen), c.forward(config, learn))
	// The gradients by inputs and by weights are as many products each. The forward
	// pass of training is the one that scored.
	back := c.forward(config, learn).times(2)
	back.unshared *= 1.5
	d.add("train", train, c.tokens(c.Prompt+c.Gen), back)
	return d
}

// requests are random prompts, a group of responses to each.
func (c *benchCmd) requests(vocab int) []rollout.Request {
	rng := rand.New(rand.NewPCG(1, 1))
	var list []rollout.Request
	var prompt []int32
	for i := range int(c.Batch) {
		if i%int(c.Group) == 0 {
			prompt = make([]int32, c.Prompt)
			for j := range prompt {
				prompt[j] = int32(rng.IntN(vocab))
			}
		}
		list = append(list, rollout.Request{Prompt: prompt, Group: i / int(c.Group), Seed: 1, Stream: uint64(i)})
	}
	return list
}

// lap returns the time since start and moves start to now.
func lap(start *time.Time) time.Duration {
	now := time.Now()
	d := now.Sub(*start)
	*start = now
	return d
}
