package bench

import (
	"math/rand/v2"
	"time"

	"driftlab/engine/kernel"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
)

// A package below the command has neither clock nor memory.
type (
	// Clock tells the time since some moment.
	Clock func() time.Duration
	// Memory is the most that the process has held, in bytes.
	Memory func() uint64
)

// Clocks are those by which a phase is timed: the wall's, and the processor time that
// the process has used.
type Clocks struct{ Wall, Processor Clock }

// moment is what both clocks show.
type moment struct{ wall, processor time.Duration }

func (c Clocks) now() moment { return moment{c.Wall(), c.Processor()} }

// lap returns the time since start and moves start to now.
func (c Clocks) lap(start *moment) moment {
	now := c.now()
	d := moment{now.wall - start.wall, now.processor - start.processor}
	*start = now
	return d
}

// Measure runs one step to warm up and then the steps that count, on as many threads;
// done is called after each.
func (c Step) Measure(threads int, clocks Clocks, peak Memory, done func()) Result {
	config := c.Model
	p := c.Params()
	sampler := rollout.New(config, c.Rollout, min(c.Slots, c.Batch), threads)
	defer sampler.Close()
	l := learner.New(p, learner.Settings{Numerics: c.Learner, AdamW: adam, Recompute: c.Recompute}, threads)
	defer l.Close()
	requests := c.requests()
	// No token stops a response: every one has the length asked for.
	s := rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: c.Gen, Stop: -1}
	most := roofline{team: kernel.NewTeam(threads), large: newProducts(threads, 1024, 64, 256, clocks.Wall), small: newProducts(1, 64, 64, 64, clocks.Wall), clock: clocks.Wall}
	defer most.team.Close()
	var b batch.Batch
	var gen, score, train []moment
	policy := learner.Policy{Temperature: 1}
	objective := &loss.Objective{Loss: method.New[loss.PPOClip](), Batch: &b}
	for step := range c.Steps + 1 {
		if step == 1 {
			gen, score, train = nil, nil, nil
		}
		most.measure()
		start := clocks.now()
		sampler.Publish(p, step)
		sampler.Generate(&b.Sampled, requests, s)
		gen = append(gen, clocks.lap(&start))
		l.ScoreAhead(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: policy})
		b.Anchor = b.Old.Logp
		score = append(score, clocks.lap(&start))
		b.Advantage = b.Advantage[:0]
		for n := range b.Tokens() {
			b.Advantage = append(b.Advantage, float64(n%3-1))
		}
		start = clocks.now()
		if _, err := l.Gradient(&b.Now, &b.Sampled, objective, learner.StepOptions{Policy: policy}); err != nil {
			panic(err) // random weights and bounded advantages are always finite
		}
		l.Update(learningRate)
		train = append(train, clocks.lap(&start))
		done()
	}
	d := Result{Params: config.Params(), Group: c.Group, Threads: threads, Rollout: c.Rollout.Name, Learner: c.Learner.Name, PeakBytes: peak(),
		RooflineGFlops: most.large.best(), GemmGFlops: most.large[0].best, Gemm64GFlops: most.small.best(), PeakGFlops: most.peak}
	d.add("generate", gen, float64(c.Batch*c.Gen), c.forward(c.Rollout))
	d.add("score", score, float64(c.Batch*(c.Prompt+c.Gen)), c.forward(c.Learner))
	// The gradients by inputs and by weights are as many products each. The forward
	// pass of training is the one that scored.
	back := c.forward(c.Learner)
	back.computed, back.unshared = 2*back.computed, 2*back.unshared
	back.unshared *= 1.5
	d.add("train", train, float64(c.Batch*(c.Prompt+c.Gen)), back)
	return d
}

// weightSeed and promptSeed are the seeds of the random weights and prompts.
const weightSeed, promptSeed = 1, 1

// learningRate and adam say how the weights are updated.
const learningRate = 1e-6

var adam = learner.AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, ClipNorm: 1}

// Params are the weights to begin with.
func (c Step) Params() *model.Params {
	p := model.New(c.Model)
	p.Init(weightSeed)
	return p
}

// requests are random prompts, a group of responses to each.
func (c Step) requests() []rollout.Request {
	rng := rand.New(rand.NewPCG(promptSeed, promptSeed))
	var list []rollout.Request
	var prompt []int32
	for i := range c.Batch {
		if i%c.Group == 0 {
			prompt = make([]int32, c.Prompt)
			for j := range prompt {
				prompt[j] = int32(rng.IntN(c.Model.Vocab))
			}
		}
		list = append(list, rollout.Request{Prompt: prompt, Group: i / c.Group, Seed: 1, Stream: uint64(i)})
	}
	return list
}
