package estimator

import (
	"math"
	"math/rand/v2"

	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/stream"
)

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
	// next and late are the laws of the following state.
	next, late [sgaStates][sgaTokens][sgaStates]float64
	// pay is the reward of a token, final that of the last state.
	pay   [sgaStates][sgaTokens]float64
	final [sgaStates]float64
}

// newSGAProcess is that of a kind of reward.
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

// step returns the law of the state after token t.
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
		sum := 0.0
		for a, v := range l[s] {
			p[s][a] = elementary.Exp(v)
			sum += p[s][a]
		}
		for a := range p[s] {
			p[s][a] /= sum
		}
	}
	return p
}

// step moves the logits so far along a gradient, unless that has no direction.
func (l *sgaPolicy) step(g *[sgaParams]float64, length float64) {
	size := math.Sqrt(stats.Dot(g[:], g[:]))
	if !(size > 0) || math.IsInf(size, 1) {
		return
	}
	for i, v := range g {
		l[i/sgaTokens][i%sgaTokens] += float64(length * v / size)
	}
}

// logRatios are those of the tokens' probabilities under pi and mu.
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

// draw picks an index by weights that sum to one.
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
