package trainer

import (
	"driftlab/engine/rollout"
	"driftlab/trainer/engines"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// greedy answers each prompt once more, with the most likely tokens: the
// baseline of ReMax.
type greedy struct {
	*grader
	batch    batch.Batch
	groups   batch.Groups // of the step's batch
	prompts  []task.Prompt
	requests []rollout.Request
}

func newGreedy(s *Session) (stage, error) {
	if !s.columns.greedy {
		return nil, nil
	}
	return &greedy{grader: newGrader(s.recipe)}, nil
}

// run fills GreedyReward. The greedy responses are rewarded like the
// sampled ones but leave no trace: parts that remember something work on a copy.
func (g *greedy) run(s *Session) error {
	b := &s.batch
	g.prompts, g.requests = g.prompts[:0], g.requests[:0]
	g.groups.Find(b.Group)
	for k := range g.groups.Len() {
		first := g.groups.Rows(k)[0]
		p := s.prompts[first]
		g.prompts = append(g.prompts, p)
		g.requests = append(g.requests, rollout.Request{Prompt: p.Tokens, Group: b.Group[first], PromptID: p.ID, Tool: engines.Tool(s.task)})
	}
	s.fleet.Main().Generate(&g.batch.Sampled, g.requests, rollout.Sampling{TopP: 1, MaxTokens: s.recipe.Rollout.MaxTokens, Stop: task.EOS})
	g.batch.LearnerVersion = b.LearnerVersion
	for i, part := range s.parts {
		if m, ok := part.(method.Memory); ok {
			if err := g.parts[i].(method.Memory).SetState(m.AppendState(nil)); err != nil {
				return err
			}
		}
	}
	if err := g.grade(&g.batch, g.prompts); err != nil {
		return err
	}
	g.spread(b)
	return nil
}

// spread gives every response the greedy reward of its group.
func (g *greedy) spread(b *batch.Batch) {
	b.GreedyReward = batch.Zeroed(b.GreedyReward, b.Len())
	for k, reward := range g.batch.Reward {
		for _, i := range g.groups.Rows(k) {
			b.GreedyReward[i] = reward
		}
	}
}
