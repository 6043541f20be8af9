package measurements

import (
	"fmt"
	"math"
	"slices"

	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer"
	"driftlab/trainer/episode"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// siblings is the number of responses per prompt.
const siblings = 8

// programs is the task: a working with an episode for each step.
const programs = "task={name: chain, difficulty: [3, 8]}"

// prefixes are a batch of responses at frozen weights, and what values their prefixes.
type prefixes struct {
	recipe  recipe.Recipe
	params  *model.Params
	batch   *batch.Batch
	prompts []task.Prompt // by response
	engine  *episode.Engine
}

// samplePrograms samples groups of responses to programs from this replication's model.
func samplePrograms(e *claim.Env, groups int) *prefixes {
	return samplePrefixes(e, e.Base(0), groups, programs, "prefix_values={}")
}

// sampleSearches samples groups of responses to searches. An episode is a candidate.
func sampleSearches(e *claim.Env, groups int) *prefixes {
	dir := "search-base"
	if e.Size == claim.Full {
		dir = e.Warm(dir, "pretrain.steps=1500")
	}
	return samplePrefixes(e, claim.Loaded(dir, 0), groups, "task={name: search, difficulty: [1, 10], operations: 2}", "rollout.max_tokens=96", "prefix_values={markers: '?'}")
}

func samplePrefixes(e *claim.Env, p *model.Params, groups int, set ...string) *prefixes {
	r := claim.Must(recipe.Load("default", append(set, "reward=[exact, marginal_utility]")...))
	m := &prefixes{recipe: r, params: p, engine: episode.NewEngine(r, p)}
	rng := e.Rand(promptStream)
	var tokens [][]int32
	for range groups {
		q := task.Draw(r.Task.New(), rng)
		for range siblings {
			m.prompts, tokens = append(m.prompts, q), append(tokens, q.Tokens)
		}
	}
	m.batch = sample(e, probe{Params: p, Rollout: r.Rollout.Numerics, Sequences: len(tokens), Tokens: r.Rollout.MaxTokens, Stops: true, Prompts: tokens})
	for i := range m.batch.Group {
		m.batch.Group[i] = i / siblings
	}
	measure.Score(m.batch, p, measure.Scoring{Numerics: r.Learner.Numerics})
	m.batch.Anchor = m.batch.Old.Logp
	return m
}

// value fills the batch's values as the options, a section of a recipe, say, and lists them by prefix.
func (m *prefixes) value(options string, seed uint64) (list []float64, cost episode.Cost) {
	own := claim.Must(recipe.Load("default", "reward=[exact, marginal_utility]", "prefix_values="+options))
	r := m.recipe
	own.PrefixValues.Markers = r.PrefixValues.Markers
	r.PrefixValues = own.PrefixValues
	cost = episode.NewValuer(r).Fill(m.batch, m.prompts, m.engine, seed)
	m.begins(func(_, n int) { list = append(list, m.batch.PrefixValue[n]) })
	return list, cost
}

// begins calls f with the first and another token of a response where a prefix ends: the prompt once for all siblings, then
// where further episodes begin.
func (m *prefixes) begins(f func(from, n int)) {
	b := m.batch
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			if n == from && i%siblings == 0 || n > from && b.Episode[n] != b.Episode[n-1] {
				f(from, n)
			}
		}
	}
}

// advantages are the advantages of an arm's reward and estimator, by episode.
func (m *prefixes) advantages(set ...string) (list []float64) {
	r := claim.Must(recipe.Load("default", append([]string{programs}, set...)...))
	claim.Must(trainer.Grader(r)(m.batch, m.prompts))
	claim.StopOn(r.Advantage.New().Estimate(m.batch))
	m.ends(func(n int) { list = append(list, m.batch.Advantage[n]) })
	return list
}

// ends calls f with the last token of every episode of the working.
func (m *prefixes) ends(f func(n int)) {
	for i := range m.batch.Len() {
		from, to := m.batch.Span(i)
		for n := from; n+1 < to; n++ {
			if m.batch.Episode[n+1] != m.batch.Episode[n] {
				f(n)
			}
		}
	}
}

func pearson(x, y []float64) float64 {
	return math.Copysign(math.Sqrt(stats.RSquared(x, y)), stats.Slope(x, y))
}

// prefixValues compares cheap values of prefixes with the share of many completions that are right.
type prefixValues struct {
	// Prompts and Completions are the numbers at the full, the quick and the tiny size.
	Prompts, Completions []int
	// Values are sections prefix_values of a recipe.
	Values []string
}

// Measure compares them on searches and on programs.
func (v *prefixValues) Measure(e *claim.Env, o *claim.Observation) {
	for _, t := range []struct {
		name   string
		sample func(*claim.Env, int) *prefixes
	}{{"search", sampleSearches}, {"programs", samplePrograms}} {
		m := t.sample(e, v.Prompts[e.Size])
		v.compare(m, o, e, t.name+", ")
		m.engine.Close()
	}
}

// compare records how well each value ranks prefixes, and what it costs.
func (v *prefixValues) compare(m *prefixes, o *claim.Observation, e *claim.Env, name string) {
	truth, _ := m.value(manyCompletions(v.Completions[e.Size]), e.Seed)
	var lengths []int
	var first episode.Cost
	m.begins(func(from, n int) { lengths = append(lengths, n-from) })
	for k, options := range v.Values {
		value, cost := m.value(options, e.Seed+1<<32)
		if k == 0 {
			first = cost
			o.Set(name+"bias of the probability", stats.Average(stats.Differences(stats.Each(value, elementary.Exp), truth)))
		}
		o.Append(name+"rank correlation", stats.Spearman(value, truth))
		o.Append(name+"rank correlation, equal lengths", withinLengths(value, truth, lengths))
		o.Append(name+"tokens at generation", float64(cost.New))
		o.Append(name+"tokens in training", float64(cost.New+cost.Read))
	}
	costs := method.New[schedule.Costs]()
	o.Set(name+"time, generation over training", float64(costs.Prefill(first.New, 1))/float64(costs.Logp(first.New+first.Read, 1)))
	m.value(v.Values[0], e.Seed)
	claim.Must(trainer.Grader(m.recipe)(m.batch, m.prompts))
	worst := 0.0
	for i, parts := range m.batch.RewardParts {
		from, to := m.batch.Span(i)
		worst = max(worst, math.Abs(parts[1]-(m.batch.PrefixValue[to-1]-m.batch.PrefixValue[from])))
	}
	o.Set(name+"utilities minus rise", worst)
}

func manyCompletions(n int) string { return fmt.Sprintf("{by: completions, completions: %d}", n) }

// withinLengths is the mean rank correlation of prefixes of one length, by how many
// there are: no value earns it by growing along the response.
func withinLengths(x, y []float64, length []int) float64 {
	sum, weight := 0.0, 0.0
	for n := range 1 + slices.Max(length) {
		var a, b []float64
		for k, l := range length {
			if l == n && n > 0 {
				a, b = append(a, x[k]), append(b, y[k])
			}
		}
		if c := stats.Spearman(a, b); len(a) >= siblings && !math.IsNaN(c) {
			sum, weight = sum+float64(c*float64(len(a))), weight+float64(len(a))
		}
	}
	return sum / weight
}

// stepCredit is how well advantages of each episode agree with what it did to the share of many completions that are right.
type stepCredit struct {
	// Prompts and Completions are the numbers at the full, the quick and the tiny size.
	Prompts, Completions []int
	// ByCompletions and ByLikelihood are changes of a recipe, whose prefixes have these values.
	ByCompletions [][]string `yaml:"by completions"`
	ByLikelihood  [][]string `yaml:"by likelihood"`
}

func (c *stepCredit) Measure(e *claim.Env, o *claim.Observation) {
	m := samplePrograms(e, c.Prompts[e.Size])
	defer m.engine.Close()
	m.value(manyCompletions(c.Completions[e.Size]), e.Seed)
	// What each episode of the working has done to the value.
	var truth []float64
	m.ends(func(n int) { truth = append(truth, m.batch.PrefixValue[n+1]-m.batch.PrefixValue[n]) })
	for _, part := range []struct {
		options string
		seed    uint64
		arms    [][]string
	}{{"{by: completions}", e.Seed + 1<<32, c.ByCompletions}, {"{}", e.Seed, c.ByLikelihood}} {
		m.value(part.options, part.seed)
		for _, set := range part.arms {
			o.Append("correlation", pearson(m.advantages(set...), truth))
		}
	}
}

// scoreShares is the part of the gradient that step scores of several sizes have under estimators, and what a step that is
// as good as all others still adds to an advantage.
type scoreShares struct {
	Prompts    []int // of the full, the quick and the tiny size
	Sizes      []float64
	Estimators []struct{ Name, Set string }
}

func (s *scoreShares) Measure(e *claim.Env, o *claim.Observation) {
	m := samplePrograms(e, s.Prompts[e.Size])
	defer m.engine.Close()
	l := measure.NewLearner(m.params, m.recipe.Learner.Numerics)
	defer l.Close()
	for _, n := range s.Estimators {
		for _, size := range s.Sizes {
			share, drift := m.scoreShare(l, n.Set, size)
			o.Append("share, "+n.Name, share)
			o.Append("drift, "+n.Name, drift)
		}
	}
}

func (m *prefixes) scoreShare(l *measure.Learner, estimator string, scale float64) (share, drift float64) {
	r := claim.Must(recipe.Load("default", programs, fmt.Sprintf("reward=[exact, {name: process, coef: %v}]", scale), estimator))
	b := m.batch
	claim.Must(trainer.Grader(r)(b, m.prompts))
	advantages := func(set string) []float64 {
		r := claim.Must(recipe.Load("default", programs, "reward=[exact, process]", estimator, set))
		claim.StopOn(r.Advantage.New().Estimate(b))
		return slices.Clone(b.Advantage)
	}
	all := advantages("advantage.process_weight=1")
	outcome := advantages("advantage.process_weight=0")
	scores := slices.Clone(b.StepReward)
	flatten(b)
	flat := advantages("advantage.process_weight=1")
	b.StepReward = scores
	size := func(a []float64) float64 {
		b.Advantage = a
		claim.StopOn(l.Gradient(b, method.New[loss.PPOClip]()))
		return norm(doubles(l.Grad()))
	}
	own, others := size(stats.Differences(all, flat)), size(outcome)
	from, _ := b.Span(0)
	return own / (own + others), flat[from] - outcome[from]
}

// flatten puts every score at the mean of its group.
func flatten(b *batch.Batch) {
	var groups batch.Groups
	groups.Find(b.Group)
	for k := range groups.Len() {
		var scored []int
		sum := 0.0
		for _, i := range groups.Rows(k) {
			from, to := b.Span(i)
			for n := from; n < to; n++ {
				if b.StepReward[n] != 0 {
					scored, sum = append(scored, n), sum+b.StepReward[n]
				}
			}
		}
		for _, n := range scored {
			b.StepReward[n] = sum / float64(len(scored))
		}
	}
}

// doubles are the values in double precision.
func doubles(x []float32) []float64 {
	return stats.Map(x, func(v float32) float64 { return float64(v) })
}
