package process

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/results/stats"
	"driftlab/trainer"
	"driftlab/trainer/episode"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// siblings is the number of responses per prompt.
const siblings = 8

// programs is the task: a working with an episode for each step.
const programs = "task={name: chain, difficulty: [3, 8]}"

// room is a batch of responses at frozen weights, and what values them.
type room struct {
	recipe  recipe.Recipe
	params  *model.Params
	batch   *batch.Batch
	prompts []task.Prompt // by response
	engine  *episode.Engine
}

// enter samples groups of responses to programs from this replication's model.
func enter(ctx context.Context, e *claim.Env, groups int) (*room, error) {
	p, err := e.Base(ctx, 0)
	if err != nil {
		return nil, err
	}
	return sampled(e, p, groups, programs, "prefix_values={}")
}

// enterSearch samples groups of responses to searches. An episode is a candidate.
func enterSearch(ctx context.Context, e *claim.Env, groups int) (*room, error) {
	dir := "search-base"
	if e.Size == claim.Full {
		var err error
		if dir, err = e.Warm(ctx, dir, "pretrain.steps=1500"); err != nil {
			return nil, err
		}
	}
	p, err := claim.Loaded(dir, 0)
	if err != nil {
		return nil, err
	}
	return sampled(e, p, groups, "task={name: search, difficulty: [1, 10], operations: 2}", "rollout.max_tokens=96", "prefix_values={markers: '?'}")
}

func sampled(e *claim.Env, p *model.Params, groups int, set ...string) (*room, error) {
	r, err := recipe.Load("default", append(set, "reward=[exact, marginal_utility]")...)
	if err != nil {
		return nil, err
	}
	m := &room{recipe: r, params: p, engine: episode.NewEngine(r, p)}
	rng := e.Rand(claim.PromptStream)
	var tokens [][]int32
	for range groups {
		q := task.Draw(r.Task.New(), rng)
		for range siblings {
			m.prompts, tokens = append(m.prompts, q), append(tokens, q.Tokens)
		}
	}
	m.batch = e.Sample(claim.Probe{Params: p, Rollout: r.Rollout.Numerics, Sequences: len(tokens), Tokens: r.Rollout.MaxTokens, Stops: true, Prompts: tokens})
	for i := range m.batch.Group {
		m.batch.Group[i] = i / siblings
	}
	measure.Score(m.batch, p, measure.Scoring{Numerics: r.Learner.Numerics})
	m.batch.Anchor = m.batch.Old.Logp
	return m, nil
}

// value fills the batch's values as the options say, and lists them by prefix: the
// prompt once for all siblings, then where further episodes begin.
func (m *room) value(v recipe.PrefixValues, seed uint64) ([]float64, episode.Cost) {
	r := m.recipe
	v.Markers = r.PrefixValues.Markers
	r.PrefixValues = &v
	b := m.batch
	cost := episode.NewValuer(r).Fill(b, m.prompts, m.engine, seed)
	var list []float64
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			if n == from && i%siblings == 0 || n > from && b.Episode[n] != b.Episode[n-1] {
				list = append(list, b.PrefixValue[n])
			}
		}
	}
	return list, cost
}

// utilities are what each episode of the working has done to the values at hand.
func (m *room) utilities() (list []float64) {
	m.ends(func(n int) { list = append(list, m.batch.PrefixValue[n+1]-m.batch.PrefixValue[n]) })
	return list
}

// advantages are those of an arm, by episode: its reward and its estimator.
func (m *room) advantages(set ...string) (list []float64, err error) {
	r, err := recipe.Load("default", append([]string{programs}, set...)...)
	if err != nil {
		return nil, err
	}
	if _, err := trainer.Grader(r)(m.batch, m.prompts); err != nil {
		return nil, err
	}
	if err := r.Advantage.New().Estimate(m.batch); err != nil {
		return nil, err
	}
	m.ends(func(n int) { list = append(list, m.batch.Advantage[n]) })
	return list, nil
}

// ends calls f with the last token of every episode of the working.
func (m *room) ends(f func(n int)) {
	for i := range m.batch.Len() {
		from, to := m.batch.Span(i)
		for n := from; n+1 < to; n++ {
			if m.batch.Episode[n+1] != m.batch.Episode[n] {
				f(n)
			}
		}
	}
}

// correlation is Pearson's.
func correlation(x, y []float64) float64 {
	return math.Copysign(math.Sqrt(stats.RSquared(x, y)), stats.Slope(x, y))
}
