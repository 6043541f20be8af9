package trainer

import (
	"encoding"

	"driftlab/engine/rollout"
	"driftlab/trainer/batch"
	"driftlab/trainer/engines"
	"driftlab/trainer/recipe"
	"driftlab/trainer/task"
)

// greedy answers each prompt once more, with the most likely tokens: the
// baseline of ReMax.
type greedy struct {
	*grader
	batch    batch.Batch
	prompts  []task.Prompt
	requests []rollout.Request
}

func newGreedy(r recipe.Recipe) *greedy { return &greedy{grader: newGrader(r)} }

// greedyRewards fills GreedyReward. The greedy responses are rewarded like the
// sampled ones but leave no trace: parts that remember something work on a copy.
func (s *session) greedyRewards() error {
	g, b, r := s.greedy, &s.batch, &s.recipe.Rollout
	g.prompts, g.requests = g.prompts[:0], g.requests[:0]
	for i := range r.Prompts {
		p := s.prompts[i*r.Group]
		g.prompts = append(g.prompts, p)
		g.requests = append(g.requests, rollout.Request{Prompt: p.Tokens, Group: i, PromptID: p.ID, Tool: engines.Tool(s.task)})
	}
	s.fleet.Main().Generate(&g.batch.Sampled, g.requests, rollout.Sampling{TopP: 1, MaxTokens: r.MaxTokens, Stop: task.EOS})
	g.batch.LearnerVersion = b.LearnerVersion
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
	if err := g.grade(&g.batch, g.prompts); err != nil {
		return err
	}
	b.GreedyReward = b.GreedyReward[:0]
	for i := range b.Len() {
		b.GreedyReward = append(b.GreedyReward, g.batch.Reward[i/r.Group])
	}
	return nil
}
