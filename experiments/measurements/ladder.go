package measurements

import (
	"fmt"
	"math"
	"math/rand/v2"

	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/method/task"
)

// serving is the rollout engine of a format, as a serving stack sums: every sum
// in four parts, and a decoding step splits the keys. The learner computes in the
// same format, each sum in one chain: nothing but order differs.
func serving(format string) engine.Numerics {
	decoding := numerics("bf16-flash-decoding")
	return renamed(reordered(numerics(format), format+"-splitk4", "split_k:4"), format+"-serving", func(n *engine.Numerics) {
		n.Attention, n.Tile, n.Splits = decoding.Attention, decoding.Tile, decoding.Splits
	})
}

// What a rung's observation lists, in this order.
const (
	entropyOf   = iota // nats per token
	lengthMean         // tokens per answer
	tokenCount         // how many there were
	exactKL            // nats per token
	k3PerToken         // nats per token
	beyondTwo          // how many tokens have a ratio above 2 or below 1/2
	sequenceKL         // nats per answer
	flipShare          // share of router decisions; MoE only, as the rest
	hitShare           // share of tokens with a flip in any layer
	replayedKL         // exactKL with the rollout's routes replayed
	replayedK3         // k3 likewise
	replayedTwo        // beyondTwo likewise
)

// And what a dense rung's lists of fp16 on both sides.
const (
	fp16KL = iota
	fp16SequenceKL
)

// gapLadder has a model of each rung of the ladder of scale.
type gapLadder struct{}

func (*gapLadder) Measure(e *claim.Env, o *claim.Observation) {
	rungs := measured(e, allRungs(), 64, func(r rung) int { return min(r.Steps, 70) })
	for i, r := range rungs {
		e.Report(fmt.Sprintf("rung %d/%d, %s: %s", i+1, len(rungs), r.Family, r.short()))
		r.measure(e, o)
	}
}

// probe asks the rung's model of this replication for its answers, in the rollout engine.
func (r rung) probe(e *claim.Env) probe {
	t, rng := r.prose(), e.Rand(promptStream)
	q := probe{Params: claim.Must(model.Load(e.WarmFrom(r.Start, "chain-base", r.changes()...))).Params, Rollout: serving("bf16"), Sequences: r.Answers, Tokens: t.MaxResponse(), Stops: true, Distributions: true}
	for range r.Answers {
		q.Prompts = append(q.Prompts, task.Draw(t, rng).Tokens)
	}
	return q
}

// measure samples answers of the rung's model in the rollout engine, and scores
// them in the learner's.
func (r rung) measure(e *claim.Env, o *claim.Observation) {
	q := r.probe(e)
	bf16 := numerics("bf16")
	b, g := measuredGap(e, q, bf16)
	values := []float64{stats.Average(b.Old.Entropy), perAnswer(g), float64(g.Tokens), g.ExactKL, g.K3, beyond(b, math.Ln2), g.ExactKL * perAnswer(g)}
	if r.Family == moeFamily {
		again := replayed(b, q.Params, bf16)
		values = append(values, g.FlipRoute, g.FlipToken, again.ExactKL, again.K3, beyond(b, math.Ln2))
	}
	o.Set(r.Name(), values...)
	e.Continue()
	if r.Family == denseFamily {
		q.Rollout = serving("fp16")
		_, g = measuredGap(e, q, numerics("fp16"))
		o.Set(fp16Of(r), g.ExactKL, g.ExactKL*perAnswer(g))
	}
}

// fp16Of names the observation of fp16 on both sides.
func fp16Of(r rung) string { return r.Name() + ", fp16" }

// perAnswer is the mean length of the answers.
func perAnswer(g metrics.Gap) float64 { return float64(g.Tokens) / float64(g.Sequences) }

// modelFactors are the exact KLs of dense models that differ in one thing, under several learners.
type modelFactors struct {
	Learners []string
	Answers  sizes
	Models   []struct {
		Name   string
		Layers int
		Steps  sizes
		// Start names a change of the weights that training begins with.
		Start string
		// Raised names a further figure, with logits raised.
		Raised string
	}
}

// Measure samples in the rollout engine of the ladder.
func (m *modelFactors) Measure(e *claim.Env, o *claim.Observation) {
	for _, own := range m.Models {
		e.Report(own.Name)
		r := rung{Family: denseFamily, Size: baseSize, Steps: own.Steps.of(e), Answers: m.Answers.of(e), Start: changedStarts[own.Start]}
		r.Size.Layers, r.Size.Experts, r.Size.TopK = own.Layers, 0, 0
		q := r.probe(e)
		b := sample(e, q)
		gaps := func(name string) {
			for _, learner := range m.Learners {
				o.Append(name, gapTo(b, q.Params, numerics(learner)).ExactKL)
			}
		}
		gaps(own.Name)
		if own.Raised != "" {
			q.Params = r.withPublishedLogits(q.Params, b)
			b = sample(e, q)
			gaps(own.Raised)
		}
		e.Continue()
	}
}

// What an observation of dense-kl-law lists for a rung.
const (
	lawEntropy        = iota // nats per token
	lawLength                // tokens per answer
	lawLoss                  // of demonstrations that were not trained on, nats per token
	asTrained                // exact KL in nats per token, order of sums alone
	otherAsTrained           // likewise, where the learner rounds in other places too
	higher                   // as asTrained, logits raised
	otherHigher              // as otherAsTrained, logits raised
	higherFP16               // as higher, with fp16 on both sides
	logitAsTrained           // mean logit of a token
	roundingAsTrained        // logitFigures.Rounding
	logitHigher              // as logitAsTrained, logits raised
	roundingHigher           // as roundingAsTrained, logits raised
)

// heldOut is the loss of the rung's model on demonstrations that were not trained on.
func (r rung) heldOut(p *model.Params, rng *rand.Rand) float64 {
	t := r.prose()
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	for range max(heldOutTokens/r.Size.Length, 1) {
		prompt := task.Draw(t, rng)
		b.Token = t.Demonstration(b.Token, prompt, rng)
		b.Prompt, b.Offsets = append(b.Prompt, prompt.Tokens), append(b.Offsets, len(b.Token))
	}
	measure.Score(b, p, measure.Scoring{Numerics: numerics("fp32")})
	return -stats.Average(b.Old.Logp)
}

// heldOutTokens is how many tokens of demonstrations measure a loss, heldOutStream their random stream, and
// logitTokens of how many tokens the logits are read.
const (
	heldOutTokens = 16000
	heldOutStream = 102
	logitTokens   = 4000
)

// measureLaw measures a model as it is trained, and again with its logits raised.
func (r rung) measureLaw(e *claim.Env) []float64 {
	q := r.probe(e)
	values := make([]float64, roundingHigher+1)
	values[lawLoss] = r.heldOut(q.Params, e.Rand(heldOutStream))
	bf16, other := numerics("bf16"), numerics("torch-bf16")
	b := sample(e, q)
	g := gapTo(b, q.Params, bf16)
	values[lawEntropy], values[lawLength], values[asTrained] = stats.Average(b.Old.Entropy), perAnswer(g), g.ExactKL
	values[otherAsTrained] = gapTo(b, q.Params, other).ExactKL
	some := r.some(b)
	logits := readLogits(q.Params, some)
	values[logitAsTrained], values[roundingAsTrained] = logits.Mean, logits.Rounding
	q.Params = raised(q.Params, some, publishedLogit-logits.Mean)
	logits = readLogits(q.Params, some)
	values[logitHigher], values[roundingHigher] = logits.Mean, logits.Rounding
	b = sample(e, q)
	values[higher], values[otherHigher] = gapTo(b, q.Params, bf16).ExactKL, gapTo(b, q.Params, other).ExactKL
	q.Rollout = serving("fp16")
	values[higherFP16] = gapTo(sample(e, q), q.Params, numerics("fp16")).ExactKL
	return values
}

// gapTo is the gap of full distributions to a learner.
func gapTo(b *batch.Batch, p *model.Params, learner engine.Numerics) metrics.Gap {
	return scored(b, p, measure.Scoring{Numerics: learner, Distributions: true})
}

// some are the first answers of a batch, on which logits are read.
func (r rung) some(b *batch.Batch) *batch.Batch {
	var rows []int
	for i := range min(b.Len(), max(logitTokens/r.Size.Length, 4)) {
		rows = append(rows, i)
	}
	first := new(batch.Batch)
	b.Select(first, rows)
	return first
}

// withPublishedLogits is a model with its logits raised to publishedLogit, by answers that it sampled.
func (r rung) withPublishedLogits(p *model.Params, b *batch.Batch) *model.Params {
	first := r.some(b)
	return raised(p, first, publishedLogit-readLogits(p, first).Mean)
}

// evenName names the observation of a rung of evenSteps, and routedName that of a routed model.
func evenName(r rung) string { return r.Name() + ", steps of the base" }

const routedName = "MoE, base"

// equalLossLadder has a dense model of each rung that is trained to the loss of the base, as trained and with raised logits.
type equalLossLadder struct{}

func (*equalLossLadder) Measure(e *claim.Env, o *claim.Observation) {
	for _, part := range []struct {
		rungs []rung
		name  func(rung) string
	}{{lawRungs(), rung.Name}, {evenSteps(), evenName}} {
		for _, r := range measured(e, part.rungs, 128, func(r rung) int { return r.Steps / 3 }) {
			e.Report(part.name(r))
			o.Set(part.name(r), r.measureLaw(e)...)
		}
	}
	e.Report(routedName)
	o.Set(routedName, measureRouted(e)...)
}

// measureRouted measures the routed base as it is trained, and with its logits raised.
func measureRouted(e *claim.Env) []float64 {
	r := rung{Family: moeFamily, Size: baseSize, Steps: e.Pick(200, 66, 2), Answers: e.Pick(256, 64, 2)}
	q := r.probe(e)
	learner := numerics("bf16")
	b, free := measuredGap(e, q, learner)
	values := []float64{free.ExactKL, replayed(b, q.Params, learner).ExactKL}
	q.Params = r.withPublishedLogits(q.Params, b)
	b, free = measuredGap(e, q, learner)
	return append(values, free.ExactKL, replayed(b, q.Params, learner).ExactKL)
}

// publishedLogit is the mean logit of sampled tokens that a model is raised to: the middle of 16 to 32, where
// a step of bf16 is 1/8. That is where the logits of Qwen2.5 lie, by two public measurements. In the
// cross-engine comparison of ServiceNow/Fast-LLM, pull request 525, a head in bf16 in place of fp32 adds 0.0226
// nats (root mean square) to a log-prob of Qwen2.5-7B, for each of the two engines; in genlm/genlm-backend, pull request 66,
// a log-prob of Qwen2.5-1.5B-Instruct differs by up to half a step of 1/8.
const publishedLogit = 22.6

// logitFigures describe the logits of a model on the tokens that it sampled.
type logitFigures struct {
	// Mean is the logit of a token, weighted by the token's probability.
	Mean float64
	// Rounding is the exact KL per token that two engines have if each rounds the logits to bf16
	// and nothing else: rounding errors are uniform and independent, with variance step²/12, so
	// that the KL is half the variance of their difference, Σ p(1-p)·step²/12.
	Rounding float64
}

// readLogits computes them in fp32.
func readLogits(p *model.Params, b *batch.Batch) (f logitFigures) {
	measure.States(b, p, numerics("fp32"), false, func(pass *engine.Pass, rows []int) {
		vocabulary := p.Config.Vocab
		for _, row := range rows {
			z := pass.Logits()[row*vocabulary:][:vocabulary]
			log := pass.LogProbs()[row*vocabulary:][:vocabulary]
			for k, v := range z {
				share, step := elementary.Exp(float64(log[k])), bf16Step(v)
				f.Mean += float64(share * float64(v))
				f.Rounding += float64(float64(share*(1-share)) * float64(step*step) / 12)
			}
		}
		f.Mean /= float64(len(rows))
		f.Rounding /= float64(len(rows))
	})
	return f
}

// bf16Step is the distance of the bf16 numbers around x.
func bf16Step(x float32) float64 {
	_, exponent := math.Frexp(float64(x))
	return math.Ldexp(1, exponent-1-precision.BF16.MantissaBits)
}

// raised returns the model with about by added to all its logits, which changes no probability: each row of
// the head has one vector u more, the least-squares solution of u·h = by over the states h that the head
// reads. In a softmax it cancels; in bf16 it sets how coarsely the logits are rounded.
func raised(p *model.Params, b *batch.Batch, by float64) *model.Params {
	width := p.Config.DModel
	columns := make([][]float64, width)
	var wanted []float64
	measure.States(b, p, numerics("fp32"), false, func(pass *engine.Pass, rows []int) {
		square := 0.0
		for _, row := range rows {
			for i, v := range pass.Hidden()[row*width:][:width] {
				columns[i] = append(columns[i], float64(v))
				square += float64(v * v)
			}
			wanted = append(wanted, by)
		}
		// A row for each channel keeps u short along directions that no state has.
		short := math.Sqrt(float64(shortness * square / float64(width)))
		for i := range width {
			for k := range columns {
				columns[k] = append(columns[k], 0)
			}
			columns[i][len(wanted)] = short
			wanted = append(wanted, 0)
		}
	})
	u, ok := stats.Solve(columns, wanted)
	if !ok {
		panic("scaling: the states of a model determine no vector")
	}
	p = p.Clone()
	for i := range p.Head {
		p.Head[i] += float32(u[i%width])
	}
	return p
}

// shortness is the penalty on the square of u, as a share of the mean square of a channel.
const shortness = 1e-3
