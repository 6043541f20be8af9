package scaling

import (
	"math"

	"driftlab/engine"
	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

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
	measure.States(b, p, claim.Numerics("fp32"), false, func(pass *engine.Pass, rows []int) {
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
	measure.States(b, p, claim.Numerics("fp32"), false, func(pass *engine.Pass, rows []int) {
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
