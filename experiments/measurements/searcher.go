package measurements

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/reward"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// A searcher answers prompts as the search task has them, with a table in the place of a model: it tries candidates
// one after the other, gives up and guesses with a probability that depends on how many it has tried, and checks what
// looks right until it stops, with a probability that depends on how often it has checked. All of its lengths are these
// decisions, so that a training run takes milliseconds.
// The table has logits of giving up, by candidates tried, and then those of stopping, by checks done.
type searcher [searcherCandidates + searcherChecks]float64

// What the searches of a searcher are made of.
const (
	searcherCandidates = 16
	searcherChecks     = 4
	candidateTokens    = 6
	answerTokens       = 3
	falsePositive      = 0.15 // of a wrong candidate: it looks right
	checkFinds         = 0.8  // of a check: it finds the false positive
	luckyGuess         = 0.1
)

// A decision is one of a response's: a place in a table, and what was chosen.
type decision struct {
	at     *float64 // the gradient's entry
	p      float64  // of what it decides for
	chosen bool
}

// answer is one response of a searcher.
type answer struct {
	tokens, candidates, checks int
	correct                    bool
	decisions                  []decision
	kl                         float64 // to the first policy, summed over decisions
}

// searcherRun is a training run of a searcher.
type searcherRun struct {
	first             searcher
	easiest, hardest  int     // candidates up to the root
	limit             int     // tokens, 0 for none: what is longer is cut and wrong
	risk              float64 // of every candidate: it spoils the answer
	updates           int
	rate              float64
	scorer            *reward.Scorer
	filter            searcherFilter
	groups, responses int
}

// A searcherFilter drops responses from the gradient: none; those whose product of token ratios leaves [0.5, 2]; or as
// many drawn at random.
type searcherFilter string

const (
	productFilter searcherFilter = "product band"
	randomFilter  searcherFilter = "as many at random"
)

// filterSigma is the standard deviation of a token's log-ratio.
const filterSigma = 0.1

// kept says which responses of a batch stay.
func (f searcherFilter) kept(rng *rand.Rand, answers []answer) []bool {
	keep := slices.Repeat([]bool{true}, len(answers))
	if f == "" {
		return keep
	}
	dropped := 0
	for i := range answers {
		sum := float64(filterSigma*math.Sqrt(float64(answers[i].tokens))) * stream.Normal(rng)
		if math.Abs(sum) > math.Ln2 {
			keep[i] = false
			dropped++
		}
	}
	if f == randomFilter {
		for i, at := range rng.Perm(len(answers)) {
			keep[at] = i >= dropped
		}
	}
	return keep
}

func logistic(x float64) float64 { return 1 / (1 + elementary.Exp(-x)) }

// respond answers a prompt whose root is the candidate with that number.
func (r *searcherRun) respond(rng *rand.Rand, s, grad *searcher, root int) (a answer) {
	decide := func(at int) bool {
		p, q := logistic(s[at]), logistic(r.first[at])
		chosen := rng.Float64() < p
		a.kl += float64(p*elementary.Log(p/q)) + float64((1-p)*elementary.Log((1-p)/(1-q)))
		a.decisions = append(a.decisions, decision{&grad[at], p, chosen})
		return chosen
	}
	spoilt := false
	end := func(correct bool) answer {
		a.tokens = candidateTokens*(a.candidates+a.checks) + answerTokens
		a.correct = correct && !spoilt && (r.limit == 0 || a.tokens <= r.limit)
		if r.limit > 0 {
			a.tokens = min(a.tokens, r.limit)
		}
		return a
	}
	for a.candidates < 2*searcherCandidates {
		if decide(min(a.candidates, searcherCandidates-1)) {
			return end(rng.Float64() < luckyGuess)
		}
		a.candidates++
		spoilt = spoilt || rng.Float64() < r.risk
		right := a.candidates == root
		looks := right || rng.Float64() < falsePositive
		for checks := 0; looks; checks++ {
			if decide(searcherCandidates + min(checks, searcherChecks-1)) {
				return end(right)
			}
			a.checks++
			looks = right || rng.Float64() >= checkFinds
			if checks > 3*searcherChecks {
				return end(right)
			}
		}
	}
	return end(false)
}

// searcherStep are the means over the responses of an update.
type searcherStep struct{ length, pass, candidates, checks, kl float64 }

// train makes the run: GRPO on the reward's parts, and one step along the gradient per update.
func (r *searcherRun) train(rng *rand.Rand) (last searcher, steps []searcherStep) {
	s := r.first
	for u := range r.updates {
		var grad searcher
		b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
		b.Step = u
		var verdicts []task.Verdict
		var answers []answer
		var now searcherStep
		for g := range r.groups {
			root := r.easiest + rng.IntN(r.hardest-r.easiest+1)
			for range r.responses {
				a := r.respond(rng, &s, &grad, root)
				answers, verdicts = append(answers, a), append(verdicts, task.Verdict{Correct: a.correct})
				b.Offsets = append(b.Offsets, b.Offsets[len(b.Offsets)-1]+a.tokens)
				b.Group, b.PromptID, b.Prompt = append(b.Group, g), append(b.PromptID, int64(root)), append(b.Prompt, nil)
				now.add(&a, float64(r.groups*r.responses))
			}
		}
		steps = append(steps, now)
		b.Mask = slices.Repeat([]bool{true}, b.Offsets[len(b.Offsets)-1])
		claim.StopOn(r.scorer.Score(b, verdicts))
		keep := r.filter.kept(rng, answers)
		for g := range r.groups {
			rewards := b.Reward[g*r.responses : (g+1)*r.responses]
			mean, sd := stats.Average(rewards), stats.Deviation(rewards)
			for i, x := range rewards {
				if !keep[g*r.responses+i] {
					continue
				}
				for _, d := range answers[g*r.responses+i].decisions {
					up := -d.p
					if d.chosen {
						up = 1 - d.p
					}
					*d.at += float64(up*(x-mean)) / (sd + 1e-6)
				}
			}
		}
		n := float64(r.groups * r.responses)
		for i := range s {
			s[i] += float64(r.rate*grad[i]) / n
		}
	}
	return s, steps
}

func (m *searcherStep) add(a *answer, n float64) {
	m.length += float64(a.tokens) / n
	m.candidates += float64(a.candidates) / n
	m.checks += float64(a.checks) / n
	m.kl += a.kl / n
	if a.correct {
		m.pass += 1 / n
	}
}

// byLength answers fresh prompts, and is the pass rate of the shortest, the middle and the longest third of the
// responses.
func (r *searcherRun) byLength(rng *rand.Rand, s searcher, n int) (thirds [3]float64) {
	var grad searcher
	lengths, correct := make([]float64, n), make([]float64, n)
	for i := range n {
		a := r.respond(rng, &s, &grad, r.easiest+rng.IntN(r.hardest-r.easiest+1))
		lengths[i] = float64(a.tokens)
		if a.correct {
			correct[i] = 1
		}
	}
	sorted := stats.Order(lengths)
	for i, at := range sorted {
		thirds[i*3/n] += correct[at] / float64((n+2-i*3/n)/3)
	}
	return thirds
}

// searcherStart is a first policy: how long it tries, and how long it checks, both as logits.
type searcherStart struct {
	Name   string
	GiveUp float64 `yaml:"give up"`
	Stop   float64 `yaml:"stop checking"`
}

// run is the run of a start on prompts whose root is at candidate 1 to 10, by the exact reward.
func (s searcherStart) run(e *claim.Env) searcherRun {
	r := searcherRun{easiest: 1, hardest: 10, updates: e.Pick(240, 120, 12), rate: 1, groups: 16, responses: 8, scorer: reward.NewScorer()}
	for i := range r.first {
		r.first[i] = s.GiveUp
		if i >= searcherCandidates {
			r.first[i] = s.Stop
		}
	}
	return r
}

// searchers are runs from starts under rewards and filters: length and pass rate over their last twelfth, and the rank
// correlation of length and KL per token over the updates.
type searchers struct {
	Arms []struct {
		Start  searcherStart `yaml:",inline"`
		Limit  int
		Reward string // as a recipe has it; empty for the exact reward
		Filter searcherFilter
	}
	// Correlation is recorded if it is true.
	Correlation bool
}

// Measure makes the runs, each with random numbers of its own.
func (m *searchers) Measure(e *claim.Env, o *claim.Observation) {
	for k, a := range m.Arms {
		e.Continue()
		run := a.Start.run(e)
		r := claim.Must(recipe.Load("default", "rollout.pool={prompts: 128}", "reward="+cmp.Or(a.Reward, "exact")))
		run.limit, run.scorer, run.filter = a.Limit, r.Reward.New(), a.Filter
		_, steps := run.train(e.Rand(uint64(10 + k)))
		length, pass := stats.Map(steps, func(s searcherStep) float64 { return s.length }), stats.Map(steps, func(s searcherStep) float64 { return s.pass })
		last := len(steps) - max(len(steps)/12, 1)
		values := []float64{stats.Average(length[last:]), stats.Average(pass[last:])}
		if m.Correlation {
			values = append(values, stats.Spearman(length, stats.Map(steps, func(s searcherStep) float64 { return s.kl / max(s.length, 1) })))
		}
		o.Set(a.Start.Name, values...)
	}
}

// searchLengths is the course of the lengths from several starts; of the one Examined it is also what grew, pass rates by
// length before and after training, and the length at the end where each candidate spoils the answer with
// probability Risk.
type searchLengths struct {
	Starts   []searcherStart
	Examined string
	Risk     float64
}

func (m *searchLengths) Measure(e *claim.Env, o *claim.Observation) {
	var firsts, lasts []float64
	for k, start := range m.Starts {
		e.Continue()
		run, rng := start.run(e), e.Rand(uint64(10+k))
		last, steps := run.train(rng)
		length := func(s searcherStep) float64 { return s.length }
		a, b := ends(steps, length)
		firsts, lasts = append(firsts, a), append(lasts, b)
		course := stats.Map(steps, length)
		o.Set(start.Name+", length", claim.Blocks(course, max(len(course)/12, 1))...)
		if start.Name != m.Examined {
			continue
		}
		c0, c1 := ends(steps, func(s searcherStep) float64 { return candidateTokens * s.checks })
		o.Set("growth", b-a, c1-c0)
		n := e.Pick(6000, 2000, 300)
		for _, of := range []struct {
			name             string
			easiest, hardest int
		}{{"all", 1, 10}, {"hard", 7, 10}, {"easy", 1, 3}} {
			fresh := run
			fresh.easiest, fresh.hardest = of.easiest, of.hardest
			before, after := fresh.byLength(rng, run.first, n), fresh.byLength(rng, last, n)
			o.Set(of.name+", pass rate by length before", before[:]...)
			o.Set(of.name+", pass rate by length after", after[:]...)
		}
		risky := start.run(e)
		risky.risk = m.Risk
		_, steps = risky.train(e.Rand(20))
		_, r := ends(steps, length)
		o.Set("length at the end, without and with risk", b, r)
	}
	o.Set("first lengths", firsts...)
	o.Set("last lengths", lasts...)
}

// ends are means over the first and the last twelfth of the updates.
func ends(x []searcherStep, of func(searcherStep) float64) (first, last float64) {
	part := max(len(x)/12, 1)
	for i := range part {
		first += of(x[i]) / float64(part)
		last += of(x[len(x)-1-i]) / float64(part)
	}
	return first, last
}
