package measurements

import (
	"fmt"
	"math"
	"math/rand/v2"

	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/stream"
)

// aggregation is one of the token ratios: the tokens of a block share the product of their ratios
// to some power as their weight.
type aggregation struct {
	Name string
	// Size is the number of tokens in a block; 0 means the response.
	Size int
	// Power is the exponent of the ratio: 1 if it is empty, 0, 1/t or 1/sqrt(t) by the length t.
	Power string
	// Limit cuts a weight; 0 means none.
	Limit float64
	// Prefix makes the weight of a token the product up to and with it.
	Prefix bool
	// Sampled marks what has no exact moments.
	Sampled bool
}

func (k *aggregation) power(length int) float64 {
	switch k.Power {
	case "0":
		return 0
	case "1/t":
		return 1 / float64(length)
	case "1/sqrt(t)":
		return 1 / math.Sqrt(float64(length))
	}
	return 1
}

// sgaBatch is the number of responses that an update averages over: 16 prompts
// of 8, as the default recipe has it.
const sgaBatch = 128

// The token process of sga-frontier: a policy with a table of logits writes T
// tokens of four; what it sees is one of four states.
const (
	sgaStates = 4
	sgaTokens = 4
	sgaParams = sgaStates * sgaTokens
)

// sgaProcess is a token process of a given length.
type sgaProcess struct {
	length int
	// early is the number of tokens after which late takes over from next.
	early int
	// next and late are the distributions of the following state.
	next, late [sgaStates][sgaTokens][sgaStates]float64
	// pay is the reward of a token, final that of the last state.
	pay   [sgaStates][sgaTokens]float64
	final [sgaStates]float64
}

func newSGAProcess(rng *rand.Rand, kind string, length int) *sgaProcess {
	if kind == "dense" {
		return denseProcess(length, rng)
	}
	return terminalProcess(length)
}

// terminalProcess rewards at the end what happens in the first eighth: token 0
// may lose the game there, once and for all, and one token is as good as another
// afterwards. The chance of losing keeps the survival near 1/e at every length.
func terminalProcess(length int) *sgaProcess {
	const alive, dead = 0, 2 // +1 in the late phase
	p := &sgaProcess{length: length, early: max(length/8, 1)}
	loss := min(1, 4/float64(p.early))
	for a := range sgaTokens {
		p.next[alive][a][alive] = 1
		if a == 0 {
			p.next[alive][a][alive], p.next[alive][a][dead] = 1-loss, loss
		}
		p.next[dead][a][dead] = 1
		p.late[alive][a][alive+1], p.late[alive+1][a][alive+1] = 1, 1
		p.late[dead][a][dead+1], p.late[dead+1][a][dead+1] = 1, 1
	}
	p.final = [sgaStates]float64{1, 1, 0, 0}
	return p
}

// denseProcess pays every token by a random table; the token moves the state.
func denseProcess(length int, rng *rand.Rand) *sgaProcess {
	p := &sgaProcess{length: length, early: length}
	for s := range sgaStates {
		for a := range sgaTokens {
			for n := range sgaStates {
				p.next[s][a][n] = 0.1 / sgaStates
			}
			p.next[s][a][(s+a)%sgaStates] += 0.9
			p.pay[s][a] = stream.Normal(rng) / float64(length)
		}
	}
	return p
}

func (p *sgaProcess) step(t int) *[sgaStates][sgaTokens][sgaStates]float64 {
	if t+1 >= p.early && p.early < p.length {
		return &p.late
	}
	return &p.next
}

// sgaPolicy is the table of logits.
type sgaPolicy [sgaStates][sgaTokens]float64

func (l *sgaPolicy) probabilities() (p sgaPolicy) {
	for s := range l {
		copy(p[s][:], law(l[s][:]))
	}
	return p
}

// step moves the logits so far along a gradient, unless that has no direction.
func (l *sgaPolicy) step(g *[sgaParams]float64, length float64) {
	size := norm(g[:])
	if !(size > 0) || math.IsInf(size, 1) {
		return
	}
	for i, v := range g {
		l[i/sgaTokens][i%sgaTokens] += float64(length * v / size)
	}
}

// logRatios are the log ratios of the tokens' probabilities under pi and mu.
func logRatios(mu, pi *sgaPolicy) (logs sgaPolicy) {
	for s := range logs {
		for a := range logs[s] {
			logs[s][a] = elementary.Log(pi[s][a] / mu[s][a])
		}
	}
	return logs
}

// gradient returns the expected reward and its exact gradient with respect to
// the logits, by dynamic programming.
func (p *sgaProcess) gradient(l *sgaPolicy) (reward float64, g [sgaParams]float64) {
	pi := l.probabilities()
	reach := make([][sgaStates]float64, p.length+1)
	reach[0][0] = 1
	for t := range p.length {
		law := p.step(t)
		for s := range sgaStates {
			for a := range sgaTokens {
				for n, q := range law[s][a] {
					reach[t+1][n] += float64(reach[t][s] * pi[s][a] * q)
				}
			}
		}
	}
	value := p.final
	for t := p.length - 1; t >= 0; t-- {
		law := p.step(t)
		var now [sgaStates]float64
		for s := range sgaStates {
			var q [sgaTokens]float64
			for a := range sgaTokens {
				q[a] = p.pay[s][a]
				for n, chance := range law[s][a] {
					q[a] += float64(chance * value[n])
				}
				now[s] += float64(pi[s][a] * q[a])
			}
			for a := range sgaTokens {
				g[s*sgaTokens+a] += float64(reach[t][s] * pi[s][a] * (q[a] - now[s]))
			}
		}
		value = now
	}
	return value[0], g
}

func draw(rng *rand.Rand, weights []float64) int {
	u := rng.Float64()
	for i, w := range weights {
		if u -= w; u < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// episode samples a response from mu: its states, tokens and reward.
func (p *sgaProcess) episode(rng *rand.Rand, mu *sgaPolicy, state, token []uint8) (reward float64) {
	s := 0
	for t := range p.length {
		a := draw(rng, mu[s][:])
		state[t], token[t] = uint8(s), uint8(a)
		reward += p.pay[s][a]
		s = draw(rng, p.step(t)[s][a][:])
	}
	return reward + p.final[s]
}

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
func (p *sgaProcess) moments(muLogits, piLogits *sgaPolicy, k aggregation) (mean [sgaParams]float64, square float64) {
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
					if k.Prefix {
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
func (k *aggregation) factors(mu, pi *sgaPolicy, length int) (f sgaPolicy) {
	power, logs := k.power(length), logRatios(mu, pi)
	for s := range f {
		for a := range f[s] {
			f[s][a] = elementary.Exp(power * logs[s][a])
			if k.Limit > 0 {
				f[s][a] = min(f[s][a], k.Limit)
			}
		}
	}
	return f
}

// block is how many tokens share a weight.
func (k *aggregation) block(length int) int {
	if k.Size == 0 {
		return length
	}
	return min(k.Size, length)
}

// efficiency is the norm of an estimator's bias, the trace of a batch's variance
// and the gradient efficiency <grad J, E g>²/(tr Var + |bias|²). A mean over
// sampled responses also differs from the truth by noise, which is subtracted
// from the squared bias; sampled is their number, and 0 means an exact mean.
func efficiency(mean [sgaParams]float64, square float64, truth [sgaParams]float64, sampled int) (bias, variance, power float64) {
	off := stats.Differences(mean[:], truth[:])
	away, trace := stats.Dot(off, off), square-stats.Dot(mean[:], mean[:])
	if sampled > 0 {
		away = max(away-trace/float64(sampled), 0)
	}
	variance = float64(trace / sgaBatch)
	along := stats.Dot(truth[:], mean[:])
	return math.Sqrt(away), variance, float64(along*along) / (variance + away)
}

// sampled are the moments of a response's gradient under the product of its
// ratios, cut at a limit. The cut needs the distribution of the product,
// which dynamic programming does not have; but a sample can average a bounded
// weight.
func (p *sgaProcess) sampled(rng *rand.Rand, muLogits, piLogits *sgaPolicy, limit float64, responses int) (mean [sgaParams]float64, square float64) {
	mu, pi := muLogits.probabilities(), piLogits.probabilities()
	baseline, _ := p.gradient(muLogits)
	logs := logRatios(&mu, &pi)
	state, token := make([]uint8, p.length), make([]uint8, p.length)
	for range responses {
		gain := p.episode(rng, &mu, state, token) - baseline
		total := 0.0
		var g [sgaParams]float64
		for t, s := range state {
			total += logs[s][token[t]]
			for a := range sgaTokens {
				g[int(s)*sgaTokens+a] -= pi[s][a]
			}
			g[int(s)*sgaTokens+int(token[t])]++
		}
		w := gain * min(elementary.Exp(total), limit)
		for i, v := range g {
			mean[i] += w * v / float64(responses)
		}
		square += w * w * stats.Dot(g[:], g[:]) / float64(responses)
	}
	return mean, square
}

// sgaFigures are what is measured at one length by aggregation: the norm of the bias, the trace of a batch's variance and the efficiency.
var sgaFigures = [3]string{"bias", "variance", "power"}

func measureSGA(rng *rand.Rand, list []aggregation, kind string, length, steps, responses int) (figures [][3]float64) {
	p := newSGAProcess(rng, kind, length)
	var behind sgaPolicy
	for s := range behind {
		for a := range behind[s] {
			behind[s][a] = 0.5 * stream.Normal(rng)
		}
	}
	pi := behind
	for range steps {
		_, g := p.gradient(&pi)
		pi.step(&g, 0.03)
	}
	for s := range behind {
		for a := range behind[s] {
			behind[s][a] += float64(0.03 * stream.Normal(rng))
		}
	}
	_, truth := p.gradient(&pi)
	for _, k := range list {
		var mean [sgaParams]float64
		var square float64
		drawn := 0
		if k.Sampled {
			drawn = responses
			mean, square = p.sampled(rng, &behind, &pi, k.Limit, drawn)
		} else {
			mean, square = p.moments(&behind, &pi, k)
		}
		bias, variance, power := efficiency(mean, square, truth, drawn)
		figures = append(figures, [3]float64{bias, variance, power})
	}
	return figures
}

// aggregations measures bias, variance and efficiency of aggregations of the token ratios on a
// policy of 16 logits that writes T tokens of four, exactly, by dynamic programming over all
// responses: P = <grad J, E g>²/(tr Var + |bias|²).
type aggregations struct {
	// Lengths are T, TinyLengths those of the tiny size.
	Lengths     []float64
	TinyLengths []float64 `yaml:"tiny lengths"`
	// Ahead is how many updates the learner is ahead, by the name of the level.
	Ahead        []ahead
	Responses    sizes // of what is sampled
	Aggregations []aggregation
}

// ahead is the number of updates by which a learner is ahead of its sampler.
type ahead struct {
	Level   string
	Updates int
}

// rewardKinds are the rewards of the token process.
var rewardKinds = []string{"terminal", "dense"}

// Measure records the lengths, and three figures over them by reward, level and aggregation.
func (m *aggregations) Measure(e *claim.Env, o *claim.Observation) {
	lengths := m.Lengths
	if e.Size == claim.Tiny {
		lengths = m.TinyLengths
	}
	o.Set("lengths", lengths...)
	for _, kind := range rewardKinds {
		for _, d := range m.Ahead {
			for _, length := range lengths {
				e.Continue()
				rng := e.Rand(uint64(length)<<8 + uint64(d.Updates)<<1 + uint64(len(kind)))
				for k, cell := range measureSGA(rng, m.Aggregations, kind, int(length), d.Updates, m.Responses.of(e)) {
					for i, figure := range sgaFigures {
						o.Append(fmt.Sprintf("%s %s %s %s", kind, d.Level, figure, m.Aggregations[k].Name), cell[i])
					}
				}
			}
		}
	}
}

// kendallAlong is Kendall's tau of entries along the lists, mean over the entries' places. Values
// below rounding are equal.
func kendallAlong(lists ...[]float64) []float64 {
	sum := 0.0
	for i := range lists[0] {
		y := make([]float64, len(lists))
		for k, x := range lists {
			if y[k] = x[i]; y[k] < 1e-12 {
				y[k] = 0
			}
		}
		sum += stats.Kendall(claim.Counting(len(lists)), y) / float64(len(lists[0]))
	}
	return []float64{sum}
}

// bestAggregations says how often each aggregation has the highest efficiency, by length: of the
// arm and the aggregations that the texts name.
func bestAggregations(j *claim.Judge, texts []string) string {
	arm, names := texts[0], texts[1:]
	text := "Best aggregation by number of draws, " + arm
	for i, t := range j.Runs[0].List("lengths") {
		count := map[string]int{}
		for _, o := range j.Runs {
			top, name := 0.0, ""
			for _, n := range names {
				if v := o.List(arm + " power " + n)[i]; v > top {
					top, name = v, n
				}
			}
			count[name]++
		}
		text += fmt.Sprintf("; T = %d:", int(t))
		for _, n := range names {
			if count[n] > 0 {
				text += fmt.Sprintf(" %s %d", n, count[n])
			}
		}
	}
	return text + "."
}
