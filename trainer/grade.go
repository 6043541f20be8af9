package trainer

import (
	"math"
	"slices"

	"driftlab/engine/rollout"
	"driftlab/trainer/engines"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/reward"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// grader verifies responses and turns verdicts into rewards.
type grader struct {
	task     task.Task
	parts    []reward.Shaper
	scorer   *reward.Scorer
	verdicts []task.Verdict // of the last batch

	names  []string // of the parts
	groups batch.Groups
	part   []float64
}

func newGrader(r recipe.Recipe) *grader {
	g := &grader{task: r.Task.New()}
	for _, part := range r.Reward {
		g.parts, g.names = append(g.parts, part.New()), append(g.names, part.Name)
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

// acted appends how much each of several parts of a reward did: its mean, on how many
// responses it is not 0, and how far it distinguishes the responses of a group, which
// is all that an advantage sees of it. Parts of one name count together.
func (g *grader) acted(metrics []batch.Metric, b *batch.Batch) []batch.Metric {
	if len(g.parts) < 2 {
		return metrics
	}
	g.groups.Find(b.Group)
	for k, name := range g.names {
		if slices.Index(g.names, name) < k {
			continue
		}
		g.part = g.part[:0]
		mean, share, spread := 0.0, 0.0, 0.0
		for i := range b.Len() {
			sum := 0.0
			for j, r := range b.RewardParts[i] {
				if g.names[j] == name {
					sum += r
				}
			}
			g.part = append(g.part, sum)
			mean += sum / float64(b.Len())
			if sum != 0 {
				share += 1 / float64(b.Len())
			}
		}
		for rows := range g.groups.All() {
			spread += deviation(g.part, rows) / float64(g.groups.Len())
		}
		metrics = append(metrics, batch.Metric{Name: "reward/" + name + "/mean", Value: mean},
			batch.Metric{Name: "reward/" + name + "/share", Value: share}, batch.Metric{Name: "reward/" + name + "/spread", Value: spread})
	}
	return metrics
}

// correct is how many of these responses are correct.
func correct(b *batch.Batch, rows []int) (n float64) {
	for _, i := range rows {
		if b.Correct[i] {
			n++
		}
	}
	return n
}

// deviation is the standard deviation, over n, of the entries of x.
func deviation(x []float64, entries []int) float64 {
	mean, squares := 0.0, 0.0
	for _, i := range entries {
		mean += x[i] / float64(len(entries))
	}
	for _, i := range entries {
		d := x[i] - mean
		squares += float64(d*d) / float64(len(entries))
	}
	return math.Sqrt(squares)
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
	s.metrics = s.acted(s.metrics, b)
	if b.TokenReward == nil && (s.recipe.KL.Name != "none" || s.recipe.Needs(batch.TokenReward)) {
		s.tokenReward = batch.Zeroed(s.tokenReward, b.Tokens())
		for i, r := range b.Reward {
			s.tokenReward[b.Offsets[i+1]-1] = r
		}
		b.TokenReward = s.tokenReward
	}
	return nil
}

// greedy answers each prompt once more, with the most likely tokens: the
// baseline of ReMax.
type greedy struct {
	*grader
	batch    batch.Batch
	groups   batch.Groups // of the step's batch
	prompts  []task.Prompt
	requests []rollout.Request
}

// run fills GreedyReward. The greedy responses are rewarded like the
// sampled ones but leave no trace: parts that remember something work on a copy.
func (g *greedy) run(s *Session) error {
	b := &s.batch
	g.prompts, g.requests = g.prompts[:0], g.requests[:0]
	g.groups.Find(b.Group)
	for rows := range g.groups.All() {
		first := rows[0]
		p := s.prompts[first]
		g.prompts = append(g.prompts, p)
		g.requests = append(g.requests, rollout.Request{Prompt: p.Tokens, Group: b.Group[first], PromptID: p.ID, Tool: engines.Tool(s.task)})
	}
	s.fleet.Main().Generate(&g.batch.Sampled, g.requests, rollout.Sampling{TopP: 1, MaxTokens: s.recipe.Rollout.MaxTokens, Stop: task.EOS})
	g.batch.LearnerVersion = b.LearnerVersion
	if err := g.gradeCopy(s, &g.batch, g.prompts); err != nil {
		return err
	}
	g.spread(b)
	return nil
}

// gradeCopy grades responses in addition to those of the step, with what the parts of the session's reward remember so far, which stays as it is.
func (g *grader) gradeCopy(s *Session, b *batch.Batch, prompts []task.Prompt) error {
	for i, part := range s.parts {
		if m, ok := part.(method.Memory); ok {
			if err := g.parts[i].(method.Memory).SetState(m.AppendState(nil)); err != nil {
				return err
			}
		}
	}
	return g.grade(b, prompts)
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
