package measurements

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

// productRatios measures what long responses say about the product of ratios, length by length.
type productRatios struct {
	Arms []struct {
		Name string
		pair `yaml:",inline"`
	}
	// Record is a quantity by what follows the arm's name in the figure's: mean, sd and spread of
	// the log product ratio, chi2 and ESS of the product ratio as a weight, token chi2, responses,
	// tokens outside (the share with a ratio outside [0.5, 2]), and "kept by product 2", "masked
	// by geometric 1.01" and the like.
	Record ordered
}

// Measure records the lengths of the first arm and the figures.
func (m *productRatios) Measure(e *claim.Env, o *claim.Observation) {
	for i := range m.Arms {
		a := &m.Arms[i]
		p := claim.Cached(e.Cache, fmt.Sprintf("panel %+v %d", a.pair, e.Seed), func() *panel { return newPanel(a.pair.sample(e), a.Tokens.of(e)) })
		if i == 0 {
			o.Set("lengths", p.Lengths...)
		}
		for _, r := range m.Record {
			o.Set(a.Name+" "+r.name, p.quantity(r.value)...)
		}
	}
}

// panel is what long responses say, position by position. A prefix of a response is itself a
// response of that length, so one sample serves every length.
type panel struct {
	Growth
	// spread[k] is the standard deviation over responses of the same sum with
	// every position divided by its own standard deviation.
	spread []float64
	// tokensOut[k] is the share of the first lengths[k] tokens with a ratio
	// outside [0.5, 2].
	tokensOut []float64
	// chi2 is the mean of the token ratio's square, less one.
	chi2 float64
}

func (p *pair) sample(e *claim.Env) *batch.Batch {
	q := p.probe(e)
	b := sample(e, q)
	p.score(e, b, q)
	return b
}

// Growth is the log of the product ratio of responses, by length.
type Growth struct {
	// Level says which pair of engines and which model.
	Level string
	// Sum has, for every one of Lengths, the sum over each response's first tokens.
	Lengths []float64
	Sum     [][]float64
}

// Kept is, per length, the share of responses whose log product ratio, or its mean per token, lies within ±bound.
func (g *Growth) Kept(bound float64, perToken bool) []float64 {
	out := make([]float64, len(g.Lengths))
	for k, sums := range g.Sum {
		kept := 0
		for _, s := range sums {
			if perToken {
				s /= g.Lengths[k]
			}
			if math.Abs(s) <= bound {
				kept++
			}
		}
		out[k] = float64(kept) / float64(len(sums))
	}
	return out
}

// Grow measures how the product ratio of long responses grows over lengths, on the pairs of length-trap and
// the mixture of experts of geo-length-invariant.
func Grow(e *claim.Env) (out []Growth) {
	preset := func(name string) format { return format{numerics(name)} }
	length := sizes{1024, 1024, 64}
	lengths := prefixLengths(length.of(e))
	for _, a := range []struct {
		level string
		pair  pair
	}{
		{"natural", pair{Model: frozen{Warm: "dense", Context: sizes{1088, 1088, 128}}, Rollout: preset("bf16"), Learner: preset("fp32"), Sequences: sizes{1024, 96, 16}, Tokens: length}},
		{"amplified", pair{Model: frozen{Warm: "dense", Context: sizes{1088, 1088, 128}}, Rollout: preset("bf16-accumulate"), Learner: preset("bf16"), Sequences: sizes{96, 24, 16}, Tokens: length}},
		{"moe", pair{Model: frozen{Warm: "chain-base", Context: sizes{1088, 1088, 128}}, Rollout: preset("bf16"), Learner: preset("fp32"), Sequences: sizes{128, 64, 16}, Tokens: length}},
	} {
		out = append(out, Growth{a.level, lengths, logProducts(a.pair.sample(e), lengths)})
	}
	return out
}

func newPanel(b *batch.Batch, length int) *panel {
	n := b.Len()
	e := logRatiosOf(b)
	p := &panel{Growth: Growth{Lengths: prefixLengths(length)}}
	p.Sum = logProducts(b, p.Lengths)
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
		if at < len(p.Lengths) && float64(t+1) == p.Lengths[at] {
			p.spread = append(p.spread, stats.Deviation(scaled))
			p.tokensOut = append(p.tokensOut, float64(outside)/float64(n*(t+1)))
			at++
		}
	}
	return p
}

// quantities are statistics of the log product ratios of responses of one length.
var quantities = map[string]func(sums []float64) float64{
	"mean": stats.Average, "sd": stats.Deviation,
	// chi2 and ESS are of the product ratio as a weight: the latter is the effective share of the responses, (Σw)²/(n·Σw²).
	"chi2": func(sums []float64) float64 {
		_, second := weightMoments(sums)
		return second/float64(len(sums)) - 1
	},
	"ESS": func(sums []float64) float64 {
		first, second := weightMoments(sums)
		return first * first / (float64(len(sums)) * second)
	},
}

func weightMoments(sums []float64) (first, second float64) {
	for _, s := range sums {
		first += elementary.Exp(s)
		second += elementary.Exp(2 * s)
	}
	return first, second
}

func (p *panel) quantity(name string) []float64 {
	if of, ok := quantities[name]; ok {
		return stats.Map(p.Sum, of)
	}
	known := map[string][]float64{"spread": p.spread, "token chi2": {p.chi2}, "responses": {float64(len(p.Sum[0]))}, "tokens outside": p.tokensOut}
	if x, ok := known[name]; ok {
		return x
	}
	words := strings.Fields(name)
	if len(words) == 4 {
		if bound, err := strconv.ParseFloat(words[3], 64); err == nil {
			kept := p.Kept(elementary.Log(bound), words[2] == "geometric")
			if words[0] == "masked" {
				kept = stats.Complement(kept)
			}
			return kept
		}
	}
	return claim.Must[[]float64](nil, fmt.Errorf("product ratios: there is no quantity %q", name))
}

// fall is the total fall of a curve that never rises, and minus the largest
// rise of one that does.
func fall(y []float64) float64 {
	rise := 0.0
	for i := 1; i < len(y); i++ {
		rise = max(rise, y[i]-y[i-1])
	}
	if rise > 0 {
		return -rise
	}
	return y[0] - y[len(y)-1]
}

// trend is the rank correlation, 0 where one of the lists is constant.
func trend(x, y []float64) float64 {
	if r := stats.Spearman(x, y); !math.IsNaN(r) {
		return r
	}
	return 0
}

// powers records the largest relative deviation of powers from quoted values.
type powers struct {
	Figure string
	// Quoted are base, exponent and value.
	Quoted [][3]float64
}

func (m *powers) Measure(_ *claim.Env, o *claim.Observation) {
	worst := 0.0
	for _, q := range m.Quoted {
		worst = max(worst, math.Abs(elementary.Pow(q[0], q[1])/q[2]-1))
	}
	o.Set(m.Figure, worst)
}
