package trainer

import (
	"cmp"
	"math"

	"driftlab/engine/rollout"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// rolloutStage is the rollout side of a session: the fleet, and its drafter.
type rolloutStage struct{ *engines.Fleet }

func newRolloutStage(s *Session) (stage, error) {
	drafter, err := openDrafter(s.recipe)
	if err != nil {
		return nil, err
	}
	partner, err := openPartner(s.recipe)
	if err != nil {
		return nil, err
	}
	beside := s.recipe
	if s.recipe.OnClock() { // the workers sample, the fleet what a step asks for in addition
		beside.Rollout.WeightSync = nil
	}
	s.fleet = engines.NewFleet(beside, s.recipe.Rollout.Numerics, s.options.Workers)
	if s.recipe.OnClock() {
		return newAsynchronous(s)
	}
	if s.recipe.Rollout.Speculative != nil {
		s.draftWith(cmp.Or(drafter, s.initial.Clone()))
	}
	if f := s.recipe.Rollout.Fusion; f != nil {
		s.fleet.FuseWith(f, cmp.Or(partner, s.initial))
	}
	return rolloutStage{s.fleet}, nil
}

func (f rolloutStage) run(s *Session) error {
	s.generate(s.batch.Step)
	if s.recipe.Rollout.LearnReplies {
		s.learnReplies()
	}
	if err := f.Check(&s.batch); err != nil || s.options.Scorer == nil {
		return err
	}
	return s.options.Scorer(s.batch.Step, s.Params(), &s.batch.Sampled)
}

// learnReplies counts what a tool wrote as the policy's, and logs its share. The tool's
// distribution has that token alone, as its log-prob of 0 says.
func (s *Session) learnReplies() {
	b, replies := &s.batch, 0
	for n, own := range b.Mask {
		if !own {
			b.Mask[n] = true
			replies++
			if b.DistRoll != nil {
				row := b.DistRoll[n*b.Vocab:][:b.Vocab]
				for a := range row {
					row[a] = float32(math.Inf(-1))
				}
				row[b.Token[n]] = 0
			}
		}
	}
	s.log("turns/learned_replies", float64(replies)/float64(b.Tokens()))
}

func (f rolloutStage) Close() { f.Fleet.Close() }

// generate samples the step's responses with weights as old as the schedule says.
func (s *Session) generate(step int) {
	r, b := &s.recipe, &s.batch
	version, weights := s.versions.at(s.learner.Updates() - s.recipe.Lag())
	sigma := r.Rollout.Noise.Sigma(step, r.Steps)
	s.fleet.Publish(step, weights, version, sigma, stream.New(r.Seed, stream.Noise, step))
	s.prepareDrafter(step, version, weights)
	if f := r.Rollout.Fusion; f != nil && f.With == recipe.FusedWithSelf {
		s.fleet.Main().PublishPartner(weights)
	}
	s.prompts, s.requests = s.prompts[:0], s.requests[:0]
	s.asked = s.source.Step(s.asked[:0], step, r.Rollout.Prompts)
	sampler := stageOf[*promptSampler](s)
	if sampler != nil {
		s.asked = sampler.ask(s.asked, step)
	}
	for g, p := range s.asked {
		for range sampler.size(g, r.Rollout.Group) {
			s.prompts = append(s.prompts, p)
			s.requests = append(s.requests, rollout.Request{
				Prompt: p.Tokens, Group: g, PromptID: p.ID, Seed: r.Seed + uint64(step)<<32, Stream: stream.ID(stream.Sampling, len(s.requests)),
				Tool: engines.Tool(s.task), Fuse: s.share(step, p),
			})
		}
	}
	s.calibrate(step)
	if sampler != nil && sampler.adaptive != nil {
		sampler.generate(s)
	} else {
		s.fleet.Generate(&b.Sampled, s.requests, engines.Sampling(*r))
	}
	if s.speculation != nil {
		s.speculation.observe(b)
	}
	s.observeFusion()
	s.observePool(step, r.Rollout.Prompts)
	if r.Rollout.Noise.Start > 0 {
		s.log("rollout/noise_sigma", sigma)
	}
}

// calibrate finds the scales of static KV caches: the rollout engines' where they
// are due, and those of the policies that score, at every step.
func (s *Session) calibrate(step int) {
	k := s.recipe.Rollout.KVScales
	if k.Prompts == 0 {
		return
	}
	s.fleet.Calibrate(step, s.requests)
	prompts := engines.CalibrationPrompts(s.recipe.Rollout, s.requests)
	s.learner.Calibrate(prompts, k.Margin)
	for _, m := range s.stages {
		if c, ok := m.stage.(calibrated); ok {
			c.Calibrate(prompts, k.Margin)
		}
	}
}

// share is the part that another model's logits have in the responses to a prompt.
func (s *Session) share(step int, p task.Prompt) float64 {
	if f := s.recipe.Rollout.Fusion; f != nil {
		return f.Share(step, p.Difficulty)
	}
	return 0
}

// observeFusion appends how much of the other model there was in the step's responses,
// and how far it moved the distributions that their tokens were sampled from.
func (s *Session) observeFusion() {
	if s.recipe.Rollout.Fusion == nil {
		return
	}
	b, alpha, shift, tokens := &s.batch, 0.0, 0.0, 0
	for i, q := range s.requests {
		alpha += q.Fuse
		for n := range b.Where(i, b.Mask) {
			shift += b.LawTV[n]
			tokens++
		}
	}
	s.log("rollout/fusion_alpha", alpha/float64(len(s.requests)))
	s.log("rollout/fusion_tv", shift/float64(max(tokens, 1)))
}
