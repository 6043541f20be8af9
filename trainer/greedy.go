package trainer

import (
	"encoding"

	"driftlab/engine/rollout"
	"driftlab/trainer/batch"
	"driftlab/trainer/recipe"
	"driftlab/trainer/reward"
	"driftlab/trainer/task"
)

// greedy answers each prompt once more, with the most likely tokens: the
// baseline of ReMax.
type greedy struct {
	batch    batch.Batch
	requests []rollout.Request
	verdicts []task.Verdict
	parts    []reward.Shaper
	scorer   *reward.Scorer
}

func newGreedy(r recipe.Recipe) *greedy {
	g := &greedy{}
	for _, part := range r.Reward {
		g.parts = append(g.parts, part.New())
	}
	g.scorer = reward.NewScorer(g.parts...)
	return g
}

// greedyRewards fills GreedyReward. The greedy responses are rewarded like the
// sampled ones but leave no trace: parts that remember something work on a copy.
func (s *session) greedyRewards() error {
	g, b, r := s.greedy, &s.batch, &s.recipe.Rollout
	g.requests, g.verdicts = g.requests[:0], g.verdicts[:0]
	g.batch.Group, g.batch.PromptID = g.batch.Group[:0], g.batch.PromptID[:0]
	for i := range r.Prompts {
		p := s.prompts[i*r.Group]
		g.requests = append(g.requests, rollout.Request{Prompt: p.Tokens, Tool: toolOf(s.task)})
		g.batch.Group = append(g.batch.Group, i)
		g.batch.PromptID = append(g.batch.PromptID, p.ID)
	}
	s.fleet.engines[0].Generate(&g.batch, g.requests, rollout.Sampling{TopP: 1, MaxTokens: r.MaxTokens, Stop: task.EOS})
	g.batch.LearnerVersion = b.LearnerVersion
	for i := range r.Prompts {
		from, to := g.batch.Span(i)
		g.verdicts = append(g.verdicts, s.task.Verify(s.prompts[i*r.Group], g.batch.Token[from:to]))
	}
	for i, part := range s.parts {
		if m, ok := part.(encoding.BinaryMarshaler); ok {
			state, err := m.MarshalBinary()
			if err == nil {
				err = g.parts[i].(encoding.BinaryUnmarshaler).UnmarshalBinary(state)
			}
			if err != nil {
				return err
			}
		}
	}
	if err := g.scorer.Score(&g.batch, g.verdicts); err != nil {
		return err
	}
	b.GreedyReward = b.GreedyReward[:0]
	for i := range b.Len() {
		b.GreedyReward = append(b.GreedyReward, g.batch.Reward[i/r.Group])
	}
	return nil
}
