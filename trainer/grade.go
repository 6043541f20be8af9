package trainer

import (
	"driftlab/trainer/batch"
	"driftlab/trainer/recipe"
	"driftlab/trainer/reward"
	"driftlab/trainer/task"
)

// grader verifies responses and turns verdicts into rewards.
type grader struct {
	task     task.Task
	parts    []reward.Shaper
	scorer   *reward.Scorer
	verdicts []task.Verdict // of the last batch
}

func newGrader(r recipe.Recipe) *grader {
	g := &grader{task: r.Task.New()}
	for _, part := range r.Reward {
		g.parts = append(g.parts, part.New())
	}
	g.scorer = reward.NewScorer(g.parts...)
	return g
}

// grade fills the rewards of a batch, one response per prompt.
func (g *grader) grade(b *batch.Batch, prompts []task.Prompt) error {
	g.verdicts = g.verdicts[:0]
	for i, p := range prompts {
		from, to := b.Span(i)
		g.verdicts = append(g.verdicts, g.task.Verify(p, b.Token[from:to]))
	}
	return g.scorer.Score(b, g.verdicts)
}

// Grader returns what verifies the responses of one batch after another and fills
// their rewards, as the steps of a run do.
func Grader(r recipe.Recipe) func(*batch.Batch, []task.Prompt) ([]task.Verdict, error) {
	g := newGrader(r)
	return func(b *batch.Batch, prompts []task.Prompt) ([]task.Verdict, error) {
		err := g.grade(b, prompts)
		return g.verdicts, err
	}
}

// reward verifies the responses and turns verdicts into rewards.
func (s *Session) reward() error {
	b := &s.batch
	if err := s.grade(b, s.prompts); err != nil {
		return err
	}
	if b.TokenReward == nil && s.columns.tokenReward {
		s.tokenReward = batch.Zeroed(s.tokenReward, b.Tokens())
		for i, r := range b.Reward {
			s.tokenReward[b.Offsets[i+1]-1] = r
		}
		b.TokenReward = s.tokenReward
	}
	return nil
}
