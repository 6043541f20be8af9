package estimator

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

// sgaMoments are expectations over the responses that stand in one state, each
// times the gain to the power 0, 1 or 2. g is the gradient so far without the
// gain, c the weight of the block that is being written (or of the prefix) and
// h the scores in it:
//
//	place  1  c  c²  |g|²  c·g·h  c²|h|²  then by parameter  g  c·h  c·g  c²·h
type sgaMoments [3][sgaMomentCount]float64

const (
	atOne = iota
	atC
	atC2
	atGG
	atCGH
	atC2HH
	atG
	atCH           = atG + sgaParams
	atCG           = atCH + sgaParams
	atC2H          = atCG + sgaParams
	sgaMomentCount = atC2H + sgaParams
)

// moments are the exact mean of an estimator's gradient of one response and the
// mean of its squared norm, under mu: sums over all responses by dynamic
// programming, which a sample cannot replace (the square of a long product comes
// from responses that are never seen).
func (p *sgaProcess) moments(muLogits, piLogits *sgaPolicy, k sgaEstimator) (mean [sgaParams]float64, square float64) {
	mu, pi := muLogits.probabilities(), piLogits.probabilities()
	baseline, _ := p.gradient(muLogits)
	factor := k.factors(&mu, &pi, p.length)
	block := k.block(p.length)
	var at [sgaStates]sgaMoments
	for j, v := range []float64{1, -baseline, float64(baseline * baseline)} {
		at[0][j][atOne], at[0][j][atC], at[0][j][atC2] = v, v, v
	}
	for t := range p.length {
		law := p.step(t)
		var next [sgaStates]sgaMoments
		for s := range sgaStates {
			if at[s][0][atOne] == 0 {
				continue
			}
			for a := range sgaTokens {
				m := at[s]
				var score [sgaTokens]float64
				for b := range score {
					score[b] = -pi[s][b]
				}
				score[a]++
				for j := range m {
					if k.prefix {
						prefixToken(&m[j], factor[s][a], s*sgaTokens, &score)
					} else if blockToken(&m[j], factor[s][a], s*sgaTokens, &score); (t+1)%block == 0 || t+1 == p.length {
						endBlock(&m[j])
					}
				}
				m.pay(p.pay[s][a])
				for n, q := range law[s][a] {
					next[n].add(&m, mu[s][a]*q)
				}
			}
		}
		at = next
	}
	var all sgaMoments
	for s := range at {
		at[s].pay(p.final[s])
		all.add(&at[s], 1)
	}
	copy(mean[:], all[1][atG:atCH])
	return mean, all[2][atGG]
}

// add adds m by a probability.
func (to *sgaMoments) add(m *sgaMoments, chance float64) {
	if chance == 0 {
		return
	}
	for j := range m {
		for i, v := range m[j] {
			to[j][i] += float64(chance * v)
		}
	}
}

// pay raises the gain of every response.
func (m *sgaMoments) pay(v float64) {
	if v == 0 {
		return
	}
	for i := range m[0] {
		m[2][i] += float64(2*v*m[1][i]) + float64(v*v*m[0][i])
		m[1][i] += float64(v * m[0][i])
	}
}

// blockToken writes a token of that factor and score, whose parameters begin at
// row, into the block.
func blockToken(m *[sgaMomentCount]float64, c float64, row int, score *[sgaTokens]float64) {
	for a, v := range score {
		m[atCGH] += float64(v * m[atCG+row+a])
		m[atC2HH] += float64(2*v*m[atC2H+row+a]) + float64(v*v*m[atC2])
		m[atCH+row+a] += float64(v * m[atC])
		m[atC2H+row+a] += float64(v * m[atC2])
	}
	m[atC], m[atC2] = m[atC]*c, m[atC2]*c*c
	m[atCGH], m[atC2HH] = m[atCGH]*c, m[atC2HH]*c*c
	for i := range sgaParams {
		m[atCH+i] *= c
		m[atCG+i] *= c
		m[atC2H+i] *= c * c
	}
}

// endBlock adds the block to the gradient and begins another.
func endBlock(m *[sgaMomentCount]float64) {
	m[atGG] += float64(2*m[atCGH]) + m[atC2HH]
	m[atC], m[atC2], m[atCGH], m[atC2HH] = m[atOne], m[atOne], 0, 0
	for i := range sgaParams {
		m[atG+i] += m[atCH+i]
		m[atCG+i], m[atCH+i], m[atC2H+i] = m[atG+i], 0, 0
	}
}

// prefixToken writes a token whose weight is the product up to and with it.
func prefixToken(m *[sgaMomentCount]float64, c float64, row int, score *[sgaTokens]float64) {
	m[atC], m[atC2] = m[atC]*c, m[atC2]*c*c
	for i := range sgaParams {
		m[atCG+i] *= c
	}
	for a, v := range score {
		m[atGG] += float64(2*v*m[atCG+row+a]) + float64(v*v*m[atC2])
		m[atG+row+a] += float64(v * m[atC])
	}
	// After the loop: |g|² grows by the old g alone.
	for a, v := range score {
		m[atCG+row+a] += float64(v * m[atC2])
	}
}

// factors are what a token of a state brings into its weight.
func (k *sgaEstimator) factors(mu, pi *sgaPolicy, length int) (f sgaPolicy) {
	power := 1.0
	if k.power != nil {
		power = k.power(float64(length))
	}
	for s := range f {
		for a := range f[s] {
			f[s][a] = elementary.Exp(power * elementary.Log(pi[s][a]/mu[s][a]))
			if k.limit > 0 {
				f[s][a] = min(f[s][a], k.limit)
			}
		}
	}
	return f
}

// block is how many tokens share a weight.
func (k *sgaEstimator) block(length int) int {
	if k.size == 0 {
		return length
	}
	return min(k.size, length)
}

// efficiency is the norm of an estimator's bias, the trace of a batch's variance
// and the gradient efficiency <grad J, E g>²/(tr Var + |bias|²). A mean over so
// many sampled responses is as far from the truth as its noise makes it, which
// is taken from the squared bias; 0 means an exact mean.
func efficiency(mean [sgaParams]float64, square float64, truth [sgaParams]float64, sampled int) (bias, variance, power float64) {
	var off [sgaParams]float64
	for i := range off {
		off[i] = mean[i] - truth[i]
	}
	away, trace := stats.Dot(off[:], off[:]), square-stats.Dot(mean[:], mean[:])
	if sampled > 0 {
		away = max(away-trace/float64(sampled), 0)
	}
	variance = float64(trace / sgaBatch)
	along := stats.Dot(truth[:], mean[:])
	return math.Sqrt(away), variance, float64(along*along) / (variance + away)
}
