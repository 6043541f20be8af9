package trainer

import (
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe"
)

// stages are the stages of a training step, in order: each is named after the field of
// the recipe that asks for it, says which columns of the session's batch it may write, and
// is made by make, which returns nil where the recipe does not ask. A further stage is a
// file and a line here. (reads) stands where it decides the order.
//
// The batch belongs to the session: only a stage writes it, while it runs, and only the
// columns named here, which a test checks. Session.Sampled lends it to a caller between
// two steps, to read.
var stages = []struct {
	name   string
	writes string
	make   func(*Session) (stage, error)
}{
	// sample.go, asynchronous.go: a rollout engine samples the responses.
	{"rollout", "Sampled", newRolloutStage},
	// prefix_values.go: the policy values their prefixes (reads Sampled).
	{"prefix_values", "Episode PrefixValue", newPrefixValues},
	// grade.go: a verifier judges them and a reward is made of it (reads Sampled).
	{"reward", "Reward RewardParts OutcomeParts StepReward Correct TokenReward", always((*Session).reward)},
	// prompt_sampler.go: pass rates of the prompts are remembered (reads Correct).
	{"rollout.pool.focus", "", newPromptSampler},
	// grade.go: the baseline of ReMax, one greedy response per prompt (reads Group).
	{"advantage.greedy", "GreedyReward", where(reads(batch.GreedyReward),
		func(s *Session) stage { return &greedy{grader: newGrader(s.recipe)} })},
	// score.go, critic.go, teacher.go, anchor.go: policies that are fixed for the step
	// score the tokens (all read Sampled; behaviour and teacher read Old too).
	{"learner", "Old", always((*Session).score)},
	{"advantage.critic", "Value", newCritic},
	{"kl.reference", "Ref", where(func(s *Session) bool { return s.recipe.KL.Name != "none" || s.recipe.Needs(batch.LogpRef) },
		func(s *Session) stage { return &reference{s.scorerOf(s.initial)} })},
	{"teacher", "Teacher Guided", newTeacher},
	{"behaviour", "Behaviour", newBehaviour},
	{"advantage.score_norm", "ScoreNorm", where(reads(batch.ScoreNorm), runs((*Session).scoreNorms))},
	// score.go: one of them becomes the old policy of the loss (reads Old, Behaviour or LogpRoll).
	{"anchor", "Anchor", newAnchor},
	// advantage.go: a KL penalty is taken from the reward (reads Old and Ref).
	{"kl.reward", "TokenReward", where(func(s *Session) bool { return s.recipe.PenalisesReward() }, runs((*Session).penalise))},
	// session.go: the mismatch of anchor and rollout engine is corrected (reads Anchor and LogpRoll).
	{"correction", "LossMask Weight Gate BatchMask BatchWeight BatchGate", always((*Session).correctBatch)},
	// advantage.go: rewards become advantages (reads Reward, TokenReward, Value and others).
	{"advantage", "Advantage Return", always((*Session).estimate)},
	// teacher.go: the teacher signal replaces the advantages of some tokens (reads Teacher, Guided, Old).
	{"distillation", "Advantage", where(func(s *Session) bool {
		return s.recipe.Distillation != nil && s.recipe.Distillation.Advantage != recipe.DistilNone
	}, runs((*Session).distill))},
	// asynchronous.go: replayed groups are weighted.
	{"replay", "Advantage", where(func(s *Session) bool { return s.recipe.Replay != nil && s.recipe.Replay.On() }, runs((*Session).weighReplays))},
	// critic.go: the critic is fitted (reads Return).
	{"advantage.critic", "", where(func(s *Session) bool { return stageOf[valuer](s) != nil }, func(s *Session) stage { return stageFunc(stageOf[valuer](s).fit) })},
	// session.go, anchor.go, score.go, speculation.go: what is known so far is measured.
	{"diagnose", "", always((*Session).diagnose)},
	{"behaviour.parts", "", where(func(s *Session) bool { return stageOf[*behaviour](s) != nil }, runs((*Session).engineAndLag))},
	{"routing.released", "", where(func(s *Session) bool { return s.recipe.Routing.Released }, func(*Session) stage { return new(release) })},
	{"rollout.speculative", "", where(func(s *Session) bool { return s.speculation != nil }, func(s *Session) stage { return s.speculation })},
	// acceptance.go: what the updates change is kept, where they may be taken back.
	{"loss.tolerance", "", newAcceptance},
	// learn.go, objective.go: per minibatch a gradient of the loss and an update (reads all above).
	{"learn", "Now Shadow Anchor LossMask Weight Gate BatchMask BatchWeight BatchGate", always((*Session).learn)},
	{"loss.tolerance", "", where(func(s *Session) bool { return stageOf[*acceptance](s) != nil }, func(s *Session) stage { return stageFunc(stageOf[*acceptance](s).decide) })},
	// anchor.go, token_limit.go: what the next step needs is kept.
	{"anchor.follow", "", where(func(s *Session) bool { return stageOf[*average](s) != nil }, runs((*Session).followAverage))},
	{"max_generated_tokens", "", where(func(s *Session) bool { return s.recipe.MaxGeneratedTokens > 0 },
		func(s *Session) stage { return &tokenLimit{most: float64(s.recipe.MaxGeneratedTokens)} })},
}

// stage is one part of a training step. It may also be a memory, whose state is part of
// the session's snapshot; calibrated, with the scales of a static KV cache to be found at
// every step; a closer, with something to release.
type stage interface {
	// run does the stage's work on the session's batch.
	run(s *Session) error
}

// namedStage is a stage of a session with its name and the columns that it may write.
type namedStage struct {
	name, writes string
	stage        stage
}

type calibrated interface {
	Calibrate(prompts [][]int32, margin float64)
}

type closer interface{ Close() }

// stageFunc is a stage without state.
type stageFunc func(*Session) error

func (f stageFunc) run(s *Session) error { return f(s) }

func always(run stageFunc) func(*Session) (stage, error) {
	return func(*Session) (stage, error) { return run, nil }
}

// where makes a stage in the sessions that ask for it.
func where(asked func(*Session) bool, of func(*Session) stage) func(*Session) (stage, error) {
	return func(s *Session) (stage, error) {
		if !asked(s) {
			return nil, nil
		}
		return of(s), nil
	}
}

// reads says whether a method of the recipe reads the column.
func reads(column batch.Column) func(*Session) bool {
	return func(s *Session) bool { return s.recipe.Needs(column) }
}

func runs(run stageFunc) func(*Session) stage { return func(*Session) stage { return run } }

func (s *Session) assemble() error {
	for _, w := range stages {
		p, err := w.make(s)
		if err != nil {
			return err
		}
		if p != nil {
			s.stages = append(s.stages, namedStage{w.name, w.writes, p})
		}
	}
	return nil
}

// Step makes one training step. Its figures are those that Run hands to the caller.
func (s *Session) Step(step int) error {
	s.batch.Step, s.batch.LearnerVersion = step, s.learner.Updates()
	s.metrics = s.metrics[:0]
	for _, m := range s.stages {
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

func (s *Session) log(name string, value float64) {
	s.metrics = append(s.metrics, batch.Metric{Name: name, Value: value})
}

// stageOf is the session's stage of that type, nil if the recipe asks for none.
func stageOf[P stage](s *Session) (found P) {
	for _, m := range s.stages {
		if p, ok := m.stage.(P); ok {
			return p
		}
	}
	return found
}
