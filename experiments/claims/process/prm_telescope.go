package process

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer"
	"driftlab/trainer/method"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/recipe"
)

// trueCompletions are enough to call their share the value of a prefix.
const trueCompletions = 64

// telescopeValues are the cheap values that prm-telescope holds against it.
var telescopeValues = []struct {
	name string
	of   recipe.PrefixValues
}{
	{"likelihood of the answer", with(func(*recipe.PrefixValues) {})},
	{"the same, not asked for", with(func(v *recipe.PrefixValues) { v.Force = "" })},
	{"4 completions", with(func(v *recipe.PrefixValues) { v.By, v.Completions = recipe.ByCompletions, 4 })},
	{"1 completion", with(func(v *recipe.PrefixValues) { v.By, v.Completions = recipe.ByCompletions, 1 })},
}

// with is the section's defaults with a change.
func with(change func(*recipe.PrefixValues)) recipe.PrefixValues {
	v := *method.New[recipe.PrefixValues]()
	change(&v)
	return v
}

// telescopeTasks are where values are compared: with a policy that now and then answers
// before it is done, and with one that never does.
var telescopeTasks = []struct {
	name  string
	enter func(context.Context, *claim.Env, int) (*room, error)
}{{"search", enterSearch}, {"programs", enter}}

func prmTelescope() claim.Claim {
	return claim.Claim{
		ID:        "prm-telescope",
		Title:     "On the search task, the likelihood of the true answer has a rank correlation above 0.5 with the success of prefixes of all lengths",
		Statement: "Over prefixes of sampled searches, the log-prob of the true answer behind the mark has a rank correlation above 0.5 with the share of completions that are right.",
		Source:    "A practitioner's account of process rewards in verl; VinePPO, 2410.01679; 2410.08146.",
		Figure:    "computed while generating 60 to 70 % faster than in training; completions cost N x K responses; forced values are biased",
		Threshold: "Spearman's correlation with the share of 64 completions, by model, on the search task: t-interval above 0.5. Exactly: the utilities of a response add up to its last value minus its first, to 1e-6. " +
			"Reported: the same on programs; the correlation within prefixes of equal length, that of values without asking for the answer and by 4 completions or 1; the mean error of the probability; " +
			"the tokens of each, and the time at generation over that in training by the costs of the virtual clock, below 1.",
		Setup: "Models of a warm start each answer 24 prompts 8 times each; an episode is a candidate of the search, or an operation of the program. No amplifier, no training. " +
			"Pilot runs on another seed: on programs, whose demonstrations never answer before the last operation, an answer that is forced sooner says little, which is why searches, which may be given up at any candidate, are judged.",
		LeftOut: "That values are computed while other responses are still being written: the clock's costs count the tokens that an engine with the prefix in its cache is spared, and nothing overlaps. " +
			"Answers that leak into the working: it ends before the mark.",
		Commands: []string{"simulate train headline --set 'reward=[exact, marginal_utility]' --set 'prefix_values={at: training}' --set advantage=process"},
		Declared: claim.BeforeResults,
		Unit:     claim.Model,
		Version:  1,
		Measure:  measureTelescope,
		Judge:    judgeTelescope,
	}
}

func measureTelescope(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	for _, t := range telescopeTasks {
		m, err := t.enter(ctx, e, e.Pick(24, 8, 2))
		if err != nil {
			return nil, err
		}
		err = m.telescope(o, e, t.name+", ")
		m.engine.Close()
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

// telescope compares the cheap values with the true ones.
func (m *room) telescope(o *claim.Observation, e *claim.Env, name string) error {
	truth, _ := m.value(with(func(v *recipe.PrefixValues) {
		v.By, v.Completions = recipe.ByCompletions, e.Pick(trueCompletions, 16, 4)
	}), e.Seed)
	lengths := m.lengths()
	var rank, within, cheap, read []float64
	for k, value := range telescopeValues {
		v, cost := m.value(value.of, e.Seed+1<<32)
		rank, within = append(rank, stats.Spearman(v, truth)), append(within, withinLengths(v, truth, lengths))
		cheap, read = append(cheap, float64(cost.New)), append(read, float64(cost.New+cost.Read))
		if k == 0 {
			o.Set(name+"bias of the probability", stats.Average(stats.Differences(stats.Each(v, elementary.Exp), truth)))
		}
	}
	o.Set(name+"rank correlation", rank...)
	o.Set(name+"rank correlation, equal lengths", within...)
	o.Set(name+"tokens at generation", cheap...)
	o.Set(name+"tokens in training", read...)
	costs := method.New[schedule.Costs]()
	o.Set(name+"time, generation over training", float64(costs.Prefill(int(cheap[0]), 1))/float64(costs.Logp(int(read[0]), 1)))
	m.value(telescopeValues[0].of, e.Seed)
	if _, err := trainer.Grader(m.recipe)(m.batch, m.prompts); err != nil {
		return err
	}
	worst := 0.0
	for i, parts := range m.batch.RewardParts {
		from, to := m.batch.Span(i)
		worst = max(worst, math.Abs(parts[1]-(m.batch.PrefixValue[to-1]-m.batch.PrefixValue[from])))
	}
	o.Set(name+"utilities minus rise", worst)
	return nil
}

// lengths are the tokens of the prefixes that value lists.
func (m *room) lengths() (list []int) {
	b := m.batch
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			if n == from && i%siblings == 0 || n > from && b.Episode[n] != b.Episode[n-1] {
				list = append(list, n-from)
			}
		}
	}
	return list
}

// withinLengths is the mean rank correlation of prefixes of one length, by how many
// there are: no value earns it by growing along the response.
func withinLengths(x, y []float64, length []int) float64 {
	sum, weight := 0.0, 0.0
	for n := range 1 + maxOf(length) {
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

func maxOf(x []int) (m int) {
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

func judgeTelescope(j *claim.Judge) {
	search, programs := telescopeTasks[0].name+", ", telescopeTasks[1].name+", "
	j.Primary(claim.Above(claim.Natural, "rank correlation of the likelihood with 64 completions", j.Entry(search+"rank correlation", 0), 0.5))
	j.Secondary(claim.Above(claim.Natural, "the same on programs", j.Entry(programs+"rank correlation", 0), 0.5))
	j.Secondary(claim.Above(claim.Natural, "among prefixes of equal length", j.Entry(search+"rank correlation, equal lengths", 0), 0))
	for k, v := range telescopeValues[1:] {
		j.Secondary(claim.Report(claim.Natural, "rank correlation, "+v.name, j.Entry(search+"rank correlation", k+1)))
	}
	all, equal := stats.T(j.Entry(search+"rank correlation", 0)), stats.T(j.Entry(search+"rank correlation, equal lengths", 0))
	j.Note("Among prefixes of equal length the rank correlation is %.2f [%.2f, %.2f], below the %.2f of prefixes of all lengths: likelihood and success both grow along a response.",
		equal.Estimate, equal.Low, equal.High, all.Estimate)
	var groups []claim.Group
	for _, t := range telescopeTasks {
		name := t.name + ", "
		j.Secondary(claim.AtMost(claim.Exact, name+"|sum of utilities minus rise of the value|", j.Column(name+"utilities minus rise"), 1e-6))
		j.Secondary(claim.Report(claim.Natural, name+"bias of the probability", j.Column(name+"bias of the probability")))
		j.Secondary(claim.Below(claim.Natural, name+"time, generation over training", j.Column(name+"time, generation over training"), 1))
		groups = append(groups, j.Listed(t.name, name+"rank correlation"))
	}
	var names []string
	for _, v := range telescopeValues {
		names = append(names, v.name)
	}
	j.Evidence.Picture = j.Bars("How well cheap values rank beginnings of a response", "rank correlation with 64 completions", false, names, groups...)
	j.Evidence.Table = j.NamedTable("Values of prefixes", "value", names, search+"rank correlation", search+"rank correlation, equal lengths", search+"tokens at generation", search+"tokens in training",
		programs+"rank correlation", programs+"rank correlation, equal lengths")
}
