// Package planted makes dumps whose gap has a cause that is known, from declared
// perturbations of made-up distributions: what the attribution of a gap is fitted on
// and judged by, together with short runs of this program itself.
//
//	rows, truth := planted.Draw(planted.Routing, rng).Rows()
//	truth["routing"]             // the share of Σk3 that the jumps alone have
//
// The rollout engine draws from softmax(z); the learner sees z and a sum of deltas:
// numerics (every logit independently, positions of unequal size, and with coarse
// formats a fixed error of every token id), routing (large errors while a two-state
// chain is on), and old weights (a direction of every token id, a part of low rank,
// sharpening, a part along the advantage), which grow as lag^0.7. Weights that are never
// synced have a direction that stays.
//
// What it is not: a language model. Contexts do not matter and nothing is learned.
package diagnose

import (
	"math"
	"math/rand/v2"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/stream"
)

// SyntheticDump is a planted gap. Sizes are deviations of a logit.
type SyntheticDump struct {
	Seed uint64
	// Responses in groups of Group, of about Length tokens, trained at Steps steps.
	Responses, Group, Steps int
	Length                  float64
	// Sure and Rivals are the shares of positions that are nearly certain, and that have a
	// few rivals; the rest is open.
	Sure, Rivals float64
	// IDs is the vocabulary; the k-th most frequent id is drawn as k^-Zipf.
	IDs  int
	Zipf float64
	// Sigma is the numerics' size, Uneven the deviation of its logarithm over positions,
	// Bias the fixed error of a token id.
	Sigma, Uneven, Bias float64
	// Flips are the share of positions with another route, their mean run, and the size.
	FlipShare, FlipRun, FlipSize float64
	// Lags are the groups' in turn, in updates; Eta the drift of one, ByID the share of its
	// variance that is a direction of the id, Stays the share of that which is the same at every step.
	Lags              []int
	Eta, ByID, Stays  float64
	Sharp, Push       float64
	Unsynced          float64
	Temperature, TopP float64
	// Presence is what the rollout engine takes off the logit of an id that the response already has,
	// Frequency that for every time that it has it, Repetition what it divides it by, if positive, or multiplies it with.
	Presence, Frequency, Repetition float64
}

// The parts of a gap, as a truth names them.
const (
	precision = "precision"
	routing   = "routing"
	staleness = "staleness"
)

var parts = [...]string{precision, routing, staleness}

const (
	open, few   = 64, 24 // candidates of a position
	expertRanks = 4      // of the part of low rank
)

// Rows are the responses, and each part's share of Σk3.
func (w SyntheticDump) Rows() (rows []*reader.Row, shares map[string]float64) {
	m := &maker{SyntheticDump: w, seen: map[int]int{}, r: rand.New(rand.NewPCG(w.Seed, 0x9a7))}
	m.bias, m.stale, m.never = m.normals(w.IDs), m.normals(w.IDs), m.normals(w.IDs)
	m.low = m.normals(w.IDs * expertRanks)
	total := 0.0
	for k := range w.IDs {
		total += elementary.Pow(float64(k+1), -w.Zipf)
		m.mass = append(m.mass, total)
	}
	for step := range max(w.Steps, 1) {
		m.turned = m.turn()
		for n := range w.Responses {
			group := n / w.Group
			rows = append(rows, m.row(40+step, step*w.Responses+group, n))
		}
	}
	m.rewards(rows)
	sum := m.k3[0] + m.k3[1] + m.k3[2]
	shares = map[string]float64{}
	for i, name := range parts {
		if sum > 0 {
			shares[name] = m.k3[i] / sum
		}
	}
	return rows, shares
}

// maker draws a world.
type maker struct {
	SyntheticDump
	r                                     *rand.Rand
	bias, stale, never, low, turned, mass []float64
	k3                                    [3]float64

	id       []int
	seen     map[int]int // how often a response already has an id
	z, p     []float64
	delta    [3][]float64
	position []float64
}

func (m *maker) normal() float64 { return stream.Normal(m.r) }

func (m *maker) normals(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = m.normal()
	}
	return x
}

// turn is the direction of old weights at the next step.
func (m *maker) turn() []float64 {
	x := m.normals(m.IDs)
	for i := range x {
		x[i] = float64(math.Sqrt(m.Stays)*m.stale[i]) + float64(math.Sqrt(1-m.Stays)*x[i])
	}
	return x
}

// token draws an id.
func (m *maker) token() int {
	at := m.r.Float64() * m.mass[len(m.mass)-1]
	lo, hi := 0, len(m.mass)-1
	for lo < hi {
		if mid := (lo + hi) / 2; m.mass[mid] < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// name spreads ids over a larger vocabulary.
func name(id int) int32 { return int32(id*7919%31999) + 1 }

// row is a response. Its reward is drawn first, since old weights may know the advantage.
func (m *maker) row(step, group, number int) *reader.Row {
	nan := math.NaN()
	row := &reader.Row{Step: step, Index: number, Group: group, Head: reader.Unknown, Tail: reader.Unknown,
		Temperature: nan, TopP: nan, Reward: float64(m.r.IntN(2))}
	prompts := rand.New(rand.NewPCG(m.Seed, uint64(group)))
	for range 12 {
		row.Prompt = append(row.Prompt, name(prompts.IntN(m.IDs)))
	}
	length := int(m.Length * elementary.Exp(0.6*m.normal()))
	lag := 0.0
	if len(m.Lags) > 0 {
		lag = float64(m.Lags[group%len(m.Lags)])
	}
	clear(m.seen)
	on := m.r.Float64() < m.FlipShare
	for range min(max(length, 5), 400) {
		if m.FlipShare > 0 {
			leave, enter := 1/m.FlipRun, m.FlipShare/(1-m.FlipShare)/m.FlipRun
			if on {
				on = m.r.Float64() >= leave
			} else {
				on = m.r.Float64() < enter
			}
		}
		m.place(on, lag)
		at := m.draw()
		roll := elementary.Log(m.p[at])
		old := 0.0
		for i := range m.delta {
			d := m.shift(at, i)
			m.k3[i] += elementary.Expm1(d) - d
		}
		for i := range m.delta[0] {
			m.delta[0][i] += m.delta[1][i] + m.delta[2][i]
		}
		if push := m.Push * m.Eta * elementary.Pow(lag, 0.7); push > 0 {
			m.delta[0][at] += float64(push * (float64(2*row.Reward) - 1))
		}
		old = roll + m.shift(at, 0)
		m.seen[m.id[at]]++
		row.Token, row.Mask = append(row.Token, name(m.id[at])), append(row.Mask, true)
		row.Roll = append(row.Roll, float64(float32(min(0, roll))))
		row.Old = append(row.Old, float64(float32(min(0, old))))
	}
	return row
}

// place draws the candidates of a position, their distribution and what is off.
func (m *maker) place(on bool, lag float64) {
	kind := m.r.Float64()
	n := few
	if kind > m.Sure+m.Rivals {
		n = open
	}
	m.id, m.z, m.p = m.id[:0], m.z[:0], m.p[:0]
	for range n {
		m.id = append(m.id, m.token())
		m.z = append(m.z, 1.5*m.normal())
	}
	switch {
	case kind < m.Sure: // one id has all but q
		rest := 0.0
		for _, z := range m.z[1:] {
			rest += elementary.Exp(z)
		}
		q := elementary.Exp(-2.3 * (1 + float64(3.5*m.r.Float64())))
		m.z[0] = elementary.Log(rest * (1 - q) / q)
	case kind < m.Sure+m.Rivals:
		for i := range 2 + m.r.IntN(4) {
			m.z[i] = 6 + m.normal()
		}
	}
	penalties := m.penalise()
	m.law()
	uneven := m.Sigma * elementary.Exp(m.Uneven*m.normal())
	drift := m.Eta * elementary.Pow(lag, 0.7)
	m.position = m.position[:0]
	for range expertRanks {
		m.position = append(m.position, m.normal()*math.Sqrt((1-m.ByID)/expertRanks))
	}
	for i := range m.delta {
		m.delta[i] = m.delta[i][:0]
	}
	for i, id := range m.id {
		numerics := float64(uneven*m.normal()) + float64(m.Bias*m.bias[id])
		route, rest := 0.0, 0.0
		if on {
			route = m.FlipSize * m.normal()
		}
		for k, x := range m.position {
			rest += float64(x * m.low[id*expertRanks+k])
		}
		by := math.Sqrt(m.ByID)
		old := float64(m.Unsynced*(float64(by*m.never[id])+rest)) + float64(drift*(float64(by*m.turned[id])+rest)) + float64(m.Sharp*lag*m.z[i])
		m.delta[0], m.delta[1], m.delta[2] = append(m.delta[0], numerics+penalties[i]), append(m.delta[1], route), append(m.delta[2], old)
	}
}

// penalise takes off the rollout engine's logits what its penalties do, and returns it: the learner has none.
func (m *maker) penalise() []float64 {
	off := make([]float64, len(m.z))
	for i, id := range m.id {
		n := m.seen[id]
		if n == 0 {
			continue
		}
		off[i] = m.Presence + float64(m.Frequency*float64(n))
		switch z := m.z[i]; {
		case m.Repetition == 0:
		case z > 0:
			off[i] += z - z/m.Repetition
		default:
			off[i] += z - float64(z*m.Repetition)
		}
		m.z[i] -= off[i]
	}
	return off
}

// law is softmax(z/T), cut to top-p: what is cut has no probability in either engine.
func (m *maker) law() {
	top := m.z[0]
	for i := range m.z {
		m.z[i] /= m.Temperature
		top = max(top, m.z[i])
	}
	sum := 0.0
	for _, z := range m.z {
		m.p = append(m.p, elementary.Exp(z-top))
		sum += m.p[len(m.p)-1]
	}
	for i := range m.p {
		m.p[i] /= sum
	}
	if m.TopP == 1 {
		return
	}
	kept, mass := make([]bool, len(m.p)), 0.0
	for mass < m.TopP {
		best := -1
		for i, p := range m.p {
			if !kept[i] && (best < 0 || p > m.p[best]) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		kept[best] = true
		mass += m.p[best]
	}
	for i := range m.p {
		m.p[i] /= mass
		if !kept[i] {
			m.p[i] = 0
		}
	}
}

// draw is a candidate sampled from the distribution.
func (m *maker) draw() int {
	at, last := m.r.Float64(), 0
	for i, p := range m.p {
		if p > 0 {
			last = i
		}
		if at -= p; at < 0 && p > 0 {
			return i
		}
	}
	return last
}

// shift is what a delta does to the log-prob of a candidate.
func (m *maker) shift(at, part int) float64 {
	sum := 0.0
	for i, p := range m.p {
		if p > 0 {
			sum += float64(p * elementary.Expm1(m.delta[part][i]/m.Temperature))
		}
	}
	return m.delta[part][at]/m.Temperature - elementary.Log1p(sum)
}

// rewards are normalised within groups.
func (m *maker) rewards(rows []*reader.Row) {
	for from := 0; from < len(rows); {
		to, sum := from, 0.0
		for to < len(rows) && rows[to].Group == rows[from].Group {
			sum += rows[to].Reward
			to++
		}
		mean := sum / float64(to-from)
		spread := math.Sqrt(mean * (1 - mean))
		for _, row := range rows[from:to] {
			for range row.Token {
				a := 0.0
				if spread > 0 {
					a = (row.Reward - mean) / spread
				}
				row.Advantage = append(row.Advantage, a)
			}
		}
		from = to
	}
}
