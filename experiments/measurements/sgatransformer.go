package measurements

import (
	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
)

// The measurement on the transformer. A response goes on past its stop to the
// length at which the conjecture speaks; its reward was decided before.
const (
	transformerPrompts = 8
	transformerLength  = 208
	transformerUpdates = 8
	// transformerParts is how many parts without a common response the gradients
	// are taken over: the variance is theirs, products are between halves of them.
	transformerParts = 4
)

// gradients are the gradients of the mean over each part's responses of gain · Σ_t
// w_t · log π, the gain against the mean of the prompt's other responses in the
// part. No estimator leaves the weights at 1.
func gradients(l *measure.Learner, parts []*batch.Batch, k *aggregation) [][]float64 {
	var out [][]float64
	for _, m := range parts {
		var sum, count [transformerPrompts]float64
		for i, r := range m.Reward {
			sum[m.Group[i]] += r
			count[m.Group[i]]++
		}
		for i, r := range m.Reward {
			from, to := m.Span(i)
			g := m.Group[i]
			gain := r - (sum[g]-r)/(count[g]-1)
			w := m.Advantage[from:to]
			if k == nil {
				for t := range w {
					w[t] = gain
				}
				continue
			}
			k.weights(w, stats.Differences(m.Old.Logp[from:to], m.LogpRoll[from:to]))
			for t := range w {
				w[t] *= gain
			}
		}
		claim.StopOn(l.Gradient(m, method.New[loss.Reinforce]()))
		out = append(out, doubles(l.Grad()))
	}
	return out
}

// weights fills the weight of every token of a response.
func (k *aggregation) weights(w, logs []float64) {
	power, block := k.power(len(logs)), k.block(len(logs))
	sum := 0.0
	for t := range logs {
		if k.Prefix {
			sum += logs[t]
		} else if t%block == 0 {
			sum = 0
			for _, v := range logs[t:min(t+block, len(logs))] {
				sum += v
			}
		}
		if w[t] = elementary.Exp(float64(power * sum)); k.Limit > 0 {
			w[t] = min(w[t], k.Limit)
		}
	}
}

// spread is the trace of the variance of a batch, the squared bias and the efficiency,
// from gradients over parts of the given number of responses each. Squares of expectations are
// products between halves, which noise does not raise.
func spread(parts, truth [][]float64, responses float64) (variance, bias, power float64) {
	a, b := meanVector(parts[:transformerParts/2]), meanVector(parts[transformerParts/2:])
	for _, g := range parts {
		for i, v := range g {
			d := v - float64((a[i]+b[i])/2)
			variance += float64(d*d) / (transformerParts - 1)
		}
	}
	variance = float64(variance * (responses / sgaBatch))
	along := 0.0
	for _, h := range [][2][]float64{{a, b}, {b, a}} {
		along += float64(stats.Dot(truth[0], h[0]) * stats.Dot(truth[1], h[1]) / 2)
		bias += float64(stats.Dot(stats.Differences(h[0], truth[0]), stats.Differences(h[1], truth[1])) / 2)
	}
	return variance, bias, along / (variance + max(bias, 0))
}

// ownGradients are those of two halves of a learner's own responses. On-policy no token past the stop matters to the mean, so they
// leave them out.
func ownGradients(e *claim.Env, l *measure.Learner, n engine.Numerics, responses int) [][]float64 {
	own := answered(e, transformerPrompts, probe{Params: l.Params(), Rollout: n, Sequences: responses, Tokens: 48, Stops: true, Block: 1})
	return gradients(l, minibatches(own, 2), nil)
}

// transformerAggregations measures efficiency and variance of aggregations on chain-base, over the
// gradient of all parameters: responses of its own weights in bf16 that go on past their stop, for
// a learner some updates ahead, compared with the gradient of the learner's own responses.
type transformerAggregations struct {
	Groups, Truth, Responses sizes
	Rate                     float64
	Aggregations             []aggregation
}

// Measure records variance and efficiency, a value for each aggregation.
func (m *transformerAggregations) Measure(e *claim.Env, o *claim.Observation) {
	p := e.Base(256)
	bf16, fp32 := numerics("bf16"), numerics("fp32")
	l := measure.NewLearner(p, fp32)
	defer l.Close()
	claim.StopOn(l.Update(minibatches(graded(e, p, bf16, fp32, m.Groups.of(e)), 1), method.New[loss.Reinforce](), m.Rate, transformerUpdates))
	truth := ownGradients(e, l, fp32, m.Truth.of(e))
	b := answered(e, transformerPrompts, probe{Params: p, Rollout: bf16, Sequences: m.Responses.of(e), Tokens: transformerLength, Block: 2})
	measure.Score(b, l.Params(), measure.Scoring{Numerics: fp32})
	parts := minibatches(b, transformerParts)
	for k := range m.Aggregations {
		e.Continue()
		g := gradients(l, parts, &m.Aggregations[k])
		v, _, q := spread(g, truth, float64(parts[0].Len()))
		o.Append("transformer variance", v)
		o.Append("transformer power", q)
	}
}
