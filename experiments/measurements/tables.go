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
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/reward"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// A table is a policy without a model: logits of tokenChoices tokens for every place of every prompt. One token is right
// at each place, and a response is right if all of its tokens are. A training run takes milliseconds, with the
// program's losses, corrections and rewards.
const (
	tablePrompts = 32
	tablePlaces  = 4
	tokenChoices = 8
	tableSize    = tablePrompts * tablePlaces * tokenChoices
	// tableRight is the first logit of the right tokens: seven in ten are drawn, one response in four is right.
	tableRight = 2.8
)

// tableRun is what the arms of a draw have in common.
type tableRun struct {
	first, engine [tableSize]float64
}

func newTableRun(rng *rand.Rand) *tableRun {
	r := new(tableRun)
	for i := range r.first {
		r.first[i] = float64(0.5 * stream.Normal(rng))
		if i%tokenChoices == 0 {
			r.first[i] += tableRight
		}
		r.engine[i] = 0.1 * stream.Normal(rng)
		if rng.IntN(20) == 0 {
			r.engine[i] = 3 * stream.Normal(rng)
		}
	}
	return r
}

// logLaw are the log-probs of a place.
func logLaw(dst []float64, logits []float64) {
	most, sum := stats.Max(logits), 0.0
	for _, l := range logits {
		sum += elementary.Exp(l - most)
	}
	for a, l := range logits {
		dst[a] = l - most - elementary.Log(sum)
	}
}

func passRate(logits []float64) (rate float64) {
	var p [tokenChoices]float64
	for i := range tablePrompts {
		all := 0.0
		for t := range tablePlaces {
			at := (i*tablePlaces + t) * tokenChoices
			logLaw(p[:], logits[at:at+tokenChoices])
			all += p[0]
		}
		rate += float64(elementary.Exp(all) / tablePrompts)
	}
	return rate
}

// score fills the log-probs of a batch under a policy.
func score(b *batch.Batch, logits []float64) []float64 {
	out := make([]float64, b.Tokens())
	var p [tokenChoices]float64
	for n := range out {
		at := placeOf(b, n)
		logLaw(p[:], logits[at:at+tokenChoices])
		out[n] = p[b.Token[n]]
	}
	return out
}

// train makes a run and returns the mean pass rate over its last third.
func (r *tableRun) train(rng *rand.Rand, a tableArm, rate float64) float64 {
	rec := claim.Must(recipe.Load("headline", a.Set...))
	objective, pipeline, estimator, scorer := rec.Loss.New(), rec.Correction.Pipeline(), rec.Advantage.New(), rec.Reward.New()
	groups, cuts, updates := max(a.Prompts, 8), max(a.Minibatches, 1), cmp.Or(a.Updates, 48)
	theta := r.first
	history := [][tableSize]float64{theta}
	var m, v [tableSize]float64
	late, counted, done := 0.0, 0, 0
	for step := 0; done < updates; step++ {
		mu := history[max(len(history)-1-a.Lag, 0)]
		behaviour := mu
		if a.Noise && done >= a.From {
			for i := range mu {
				mu[i] += r.engine[i]
			}
		}
		b := r.sample(rng, &mu, groups, a.Refuse, scorer, step)
		b.Old.Logp, b.Behaviour.Logp, b.Ref.Logp = score(b, theta[:]), score(b, behaviour[:]), score(b, r.first[:])
		claim.StopOn(estimator.Estimate(b))
		b.Anchor = b.Old.Logp
		if a.Sampler {
			b.Anchor = b.Behaviour.Logp
		}
		for _, part := range minibatches(b, cuts) {
			claim.StopOn(pipeline.Apply(part, correction.AtBatch))
			part.Now.Logp = score(part, theta[:])
			claim.StopOn(pipeline.Apply(part, correction.AtStep))
			var out loss.Grad
			claim.StopOn(objective.Eval(&out, part))
			done++
			adam(&theta, &m, &v, part, out.DLogp, rate, done)
			history = append(history, theta)
			if done > updates-updates/3 {
				late, counted = late+passRate(theta[:]), counted+1
			}
		}
	}
	return late / float64(max(counted, 1))
}

// placeOf is where the table has the logits of a token: the prompt's number is its id.
func placeOf(b *batch.Batch, n int) int {
	return (int(b.PromptID[n/tablePlaces])*tablePlaces + n%tablePlaces) * tokenChoices
}

// sample draws groups of eight responses, and their rewards.
func (r *tableRun) sample(rng *rand.Rand, mu *[tableSize]float64, groups int, refuse bool, scorer *reward.Scorer, step int) *batch.Batch {
	const group = 8
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	b.Step = step
	var verdicts []task.Verdict
	var p [tokenChoices]float64
	for g := range groups {
		for try := 0; ; try++ {
			prompt, right := rng.IntN(tablePrompts), 0
			tokens, logps := []int32{}, []float64{}
			var correct [group]bool
			for i := range group {
				correct[i] = true
				for t := range tablePlaces {
					at := (prompt*tablePlaces + t) * tokenChoices
					logLaw(p[:], mu[at:at+tokenChoices])
					token := draw(rng, stats.Each(p[:], elementary.Exp))
					tokens, logps = append(tokens, int32(token)), append(logps, p[token])
					correct[i] = correct[i] && token == 0
				}
				if correct[i] {
					right++
				}
			}
			if refuse && try < 3 && (right == 0 || right == group) {
				continue
			}
			b.Token, b.LogpRoll = append(b.Token, tokens...), append(b.LogpRoll, logps...)
			for i := range group {
				b.Offsets = append(b.Offsets, b.Offsets[len(b.Offsets)-1]+tablePlaces)
				b.Group, b.PromptID, b.Prompt = append(b.Group, g), append(b.PromptID, int64(prompt)), append(b.Prompt, nil)
				verdicts = append(verdicts, task.Verdict{Correct: correct[i]})
			}
			break
		}
	}
	b.Mask = slices.Repeat([]bool{true}, len(b.Token))
	claim.StopOn(scorer.Score(b, verdicts))
	return b
}

// adam makes an update along the derivative of the loss with respect to the tokens' log-probs.
func adam(theta, m, v *[tableSize]float64, b *batch.Batch, dlogp []float64, rate float64, step int) {
	var g [tableSize]float64
	var p [tokenChoices]float64
	for n, d := range dlogp {
		at := placeOf(b, n)
		logLaw(p[:], theta[at:at+tokenChoices])
		for a := range tokenChoices {
			g[at+a] -= float64(d * elementary.Exp(p[a]))
		}
		g[at+int(b.Token[n])] += d
	}
	c1, c2 := 1-elementary.Pow(0.9, float64(step)), 1-elementary.Pow(0.999, float64(step))
	for i := range g {
		m[i] = float64(0.9*m[i]) + float64(0.1*g[i])
		v[i] = float64(0.999*v[i]) + float64(0.001*float64(g[i]*g[i]))
		theta[i] -= float64(rate*(m[i]/c1)) / (math.Sqrt(v[i]/c2) + 1e-8)
	}
}

// tableArm is a run: what it changes in the headline's recipe, of which loss, correction, advantage
// and reward are read, and where its batches come from.
type tableArm struct {
	Name                 string
	Set                  []string
	Lag                  int
	Prompts, Minibatches int // 0: 8 and 1
	Updates              int // 0: 48
	// Sampler makes the sampler's policy the anchor of the loss.
	Sampler bool
	Noise   bool // the rollout engine's logits differ, most on a few tokens
	From    int  // the first update with noise
	Refuse  bool // groups of equal rewards are drawn again, three times at most
}

// tables trains arms on tables of logits, each at every rate.
type tables struct {
	Rates []float64
	Arms  []tableArm
}

// Measure records the first policy's exact pass rate, and that of each arm, mean over its last third
// and over the rates.
func (m *tables) Measure(e *claim.Env, o *claim.Observation) {
	run := newTableRun(e.Rand(1))
	o.Set("at first", passRate(run.first[:]))
	for k, a := range m.Arms {
		mean := 0.0
		for i, rate := range m.Rates {
			e.Continue()
			if e.Size == claim.Tiny {
				a.Updates = 6
			}
			x := run.train(e.Rand(uint64(10*k+i+2)), a, rate)
			mean += x / float64(len(m.Rates))
		}
		o.Set(a.Name, mean)
	}
}
