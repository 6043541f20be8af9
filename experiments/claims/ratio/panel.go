package ratio

import (
	"context"
	"fmt"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

// panel is what long responses say about the product of ratios, position by
// position. A prefix of a response is itself a response of that length, so one
// sample serves every length.
type panel struct {
	lengths []float64
	// sum[k][i] is the log of the product ratio of response i over its first
	// lengths[k] tokens.
	sum [][]float64
	// spread[k] is the standard deviation over responses of the same sum with
	// every position divided by its own standard deviation.
	spread []float64
	// tokensOut[k] is the share of the first lengths[k] tokens with a ratio
	// outside [0.5, 2].
	tokensOut []float64
	// chi2 is the mean of the token ratio's square, less one.
	chi2 float64
}

// panelArm is a pair of engines for a panel.
type panelArm string

// The arms that the claims about length share.
const (
	// denseBF16 samples from the warm-started dense model in bf16 and scores in
	// fp32: a rounding gap without routing, natural level.
	denseBF16 panelArm = "dense, bf16 vs fp32"
	// denseRounded rounds the running sums of the rollout engine to bf16 too: the
	// same gap, three times as wide.
	denseRounded panelArm = "dense, bf16 sums vs bf16"
	// moeBF16 is denseBF16 on the shipped mixture of experts.
	moeBF16 panelArm = "MoE, bf16 vs fp32"
	// denseTopP samples with top-p 0.95 and scores over the whole vocabulary:
	// every log-ratio is the log of the kept mass, a bias and no noise.
	denseTopP panelArm = "dense, top-p 0.95 vs all"
	// identical is the control.
	identical panelArm = "dense, equal engines"
)

// panelOf makes the panel of an arm, once per seed however many claims read it.
func panelOf(ctx context.Context, e *claim.Env, arm panelArm) (*panel, error) {
	return claim.Cached(e.Cache, fmt.Sprintf("panel %s %d", arm, e.Seed), func() (*panel, error) {
		b, err := sampleArm(ctx, e, arm)
		if err != nil {
			return nil, err
		}
		return newPanel(b, panelLength(e)), nil
	})
}

// panelLength is how many tokens the responses of a panel have.
func panelLength(e *claim.Env) int { return e.Pick(1024, 1024, 64) }

// sampleArm draws the responses of a panel and scores them.
func sampleArm(ctx context.Context, e *claim.Env, arm panelArm) (*batch.Batch, error) {
	length := panelLength(e)
	room := length + 64
	fp32, bf16 := claim.Numerics("fp32"), claim.Numerics("bf16")
	q := claim.Probe{Rollout: bf16, Tokens: length}
	scorer := fp32
	switch arm {
	case denseBF16:
		q.Sequences = e.Pick(1024, 96, 16)
	case denseRounded:
		q.Sequences, q.Rollout, scorer = e.Pick(96, 24, 16), claim.Numerics("bf16-accumulate"), bf16
	case moeBF16:
		q.Sequences = e.Pick(128, 64, 16)
	case denseTopP:
		q.Sequences, q.Rollout, q.TopP = e.Pick(64, 32, 16), fp32, 0.95
	case identical:
		q.Sequences, q.Rollout = e.Pick(8, 8, 4), fp32
	}
	var err error
	if arm == moeBF16 {
		q.Params, err = e.Base(ctx, room)
	} else {
		q.Params, err = e.Dense(ctx, room)
	}
	if err != nil {
		return nil, err
	}
	b := e.Sample(q)
	measure.Score(b, q.Params, measure.Scoring{Numerics: scorer})
	return b, nil
}

// Growth is the log of the product ratio of responses, by length.
type Growth struct {
	// Level says which pair of engines and which model.
	Level string
	// Sum has, for every length asked for, the sum over each response's first tokens.
	Sum [][]float64
}

// Grow measures how the product ratio of long responses grows, on the panels of
// length-trap and geo-length-invariant.
func Grow(ctx context.Context, e *claim.Env, lengths []float64) ([]Growth, error) {
	var out []Growth
	for _, a := range []namedArm{{"natural", denseBF16}, {"amplified", denseRounded}, {"moe", moeBF16}} {
		b, err := sampleArm(ctx, e, a.arm)
		if err != nil {
			return nil, err
		}
		out = append(out, Growth{a.name, claim.ProductRatios(b, lengths)})
	}
	return out, nil
}

// namedArm is an arm under the name that a claim gives it.
type namedArm struct {
	name string
	arm  panelArm
}

func newPanel(b *batch.Batch, length int) *panel {
	n := b.Len()
	e := claim.LogRatios(b)
	p := &panel{lengths: claim.PrefixLengths(length)}
	p.sum = claim.ProductRatios(b, p.lengths)
	sd := make([]float64, length)
	for t := range length {
		var sum, square float64
		for i := range n {
			v := e[b.Offsets[i]+t]
			sum += v
			square += float64(v * v)
			p.chi2 += elementary.Expm1(2*v) / float64(n*length)
		}
		mean := sum / float64(n)
		sd[t] = math.Sqrt(max(square/float64(n)-float64(mean*mean), 0))
	}
	scaled, outside := make([]float64, n), 0
	at := 0
	for t := range length {
		for i := range n {
			v := e[b.Offsets[i]+t]
			if sd[t] > 0 {
				scaled[i] += v / sd[t]
			}
			if math.Abs(v) > math.Ln2 {
				outside++
			}
		}
		if at < len(p.lengths) && float64(t+1) == p.lengths[at] {
			p.spread = append(p.spread, stats.Deviation(scaled))
			p.tokensOut = append(p.tokensOut, float64(outside)/float64(n*(t+1)))
			at++
		}
	}
	return p
}

// accepted is, per length, the share of responses whose log product ratio, or
// its mean per token, lies within ±bound.
func (p *panel) accepted(bound float64, perToken bool) []float64 {
	out := make([]float64, len(p.lengths))
	for k, sums := range p.sum {
		kept := 0
		for _, s := range sums {
			if perToken {
				s /= p.lengths[k]
			}
			if math.Abs(s) <= bound {
				kept++
			}
		}
		out[k] = float64(kept) / float64(len(sums))
	}
	return out
}

// moments are mean and standard deviation of the log product ratio per length.
func (p *panel) moments() (mean, sd []float64) {
	for _, sums := range p.sum {
		mean, sd = append(mean, stats.Average(sums)), append(sd, stats.Deviation(sums))
	}
	return mean, sd
}

// weights are chi2 of the product ratio and the effective share of the
// responses, (Σw)²/(n·Σw²), per length.
func (p *panel) weights() (chi2, ess []float64) {
	for _, sums := range p.sum {
		var first, second float64
		for _, s := range sums {
			first += elementary.Exp(s)
			second += elementary.Exp(2 * s)
		}
		n := float64(len(sums))
		chi2, ess = append(chi2, second/n-1), append(ess, first*first/(n*second))
	}
	return chi2, ess
}
