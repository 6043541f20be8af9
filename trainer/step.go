package trainer

import (
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
)

// stages is the way of a batch through a training step. Each line names a stage
// after the field of the recipe that asks for it, and makes it; nil where the
// recipe does not ask. A further one is a file and a line here.
var stages = []struct {
	name string
	make func(*Session) (stage, error)
}{
	// A rollout engine samples the responses: Sampled.
	{"rollout", newSampling},
	// The policy values their prefixes: Episode, PrefixValue.
	{"prefix_values", newPrefixValues},
	// They are verified and rewarded: Reward, Correct, TokenReward.
	{"reward", always((*Session).reward)},
	{"rollout.pool.focus", newFocus},
	{"advantage.greedy", newGreedy},
	// Policies that are fixed for the step score them: Old, Ref, Teacher, Behaviour.
	{"learner", always((*Session).score)},
	{"advantage.critic", newCritic},
	{"kl.reference", newReference},
	{"teacher", newTeacher},
	{"behaviour", newBehaviour},
	{"advantage.score_norm", newScoreNorms},
	// One of them is the loss's old policy: Anchor.
	{"anchor", newAnchor},
	// A penalty that belongs into the reward is taken from it: TokenReward.
	{"kl.reward", newPenalty},
	// The gap between anchor and rollout engine is corrected: LossMask, Weight, Gate.
	{"correction", always((*Session).correctBatch)},
	// Rewards become advantages: Advantage, Return.
	{"advantage", always((*Session).estimate)},
	// The teacher's word takes the place of some.
	{"distillation", newGuidance},
	// What is trained again is weighed.
	{"replay", newReplay},
	{"advantage.critic", newCriticFit},
	// What is known so far is measured.
	{"diagnose", always((*Session).diagnose)},
	{"behaviour.parts", newParts},
	{"routing.released", newRelease},
	{"rollout.speculative", newDistillation},
	// The weights move: per minibatch, Now, the loss and an update.
	{"learn", always((*Session).learn)},
	{"anchor.follow", newAnchorFollow},
	{"max_generated_tokens", newTokenLimit},
}

// stage is a station of a batch in a step. It may also be a memory, which survives
// an interruption; calibrated, with the scales of a static KV cache to be found at
// every step; a closer, with something to release.
type stage interface {
	// run does the stage's work on the session's batch.
	run(s *Session) error
}

// member is a stage with its name.
type member struct {
	name  string
	stage stage
}

type calibrated interface {
	Calibrate(prompts [][]int32, margin float64)
}

type closer interface{ Close() }

// doing is a stage that is nothing but its work.
type doing func(*Session) error

func (d doing) run(s *Session) error { return d(s) }

// always makes a stage that every session has.
func always(run doing) func(*Session) (stage, error) {
	return func(*Session) (stage, error) { return run, nil }
}

// assemble makes the stages that the recipe asks for.
func (s *Session) assemble() error {
	for _, w := range stages {
		p, err := w.make(s)
		if err != nil {
			return err
		}
		if p != nil {
			s.members = append(s.members, member{w.name, p})
		}
	}
	return nil
}

// Step makes one training step and leaves its figures in Metrics.
func (s *Session) Step(step int) error {
	s.batch.Step, s.batch.LearnerVersion = step, s.learner.Updates()
	s.metrics = s.metrics[:0]
	for _, m := range s.members {
		if err := m.stage.run(s); err != nil {
			return err
		}
	}
	// With the weights that held for the batch as a whole.
	whole := s.batch
	whole.Weight = whole.BatchWeight
	s.metrics = metrics.VarianceProxy(s.metrics, &whole, s.sums.gradNorm())
	s.metrics = append(s.metrics, s.correct.Metrics()...)
	return nil
}

// log appends a figure of the step.
func (s *Session) log(name string, value float64) {
	s.metrics = append(s.metrics, batch.Metric{Name: name, Value: value})
}

// stageOf is the session's stage of that type, nil if the recipe asks for none.
func stageOf[P stage](s *Session) (found P) {
	for _, m := range s.members {
		if p, ok := m.stage.(P); ok {
			return p
		}
	}
	return found
}
