package rollout

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/kernel"
)

// LogProbs says which log-prob the engine returns with a token. The names are
// those of vLLM's logprobs_mode.
type LogProbs string

const (
	// Processed is the log-prob of the distribution the token was drawn from:
	// after temperature, top-k and top-p. Importance weights need this distribution.
	Processed LogProbs = "processed"
	// Raw is the log-prob before any of them, which some servers return; ratios
	// built from it are off by the temperature and the truncated mass.
	Raw LogProbs = "raw"
	// Tempered is the log-prob after the temperature and before top-k and top-p: not
	// renormalised. Ratios built from it are the ratios of the truncated distribution
	// times the mass that was kept, so that a learner over the whole vocabulary shows no gap
	// where there is one.
	Tempered LogProbs = "tempered"
)

// Sampling says how tokens are drawn.
type Sampling struct {
	// Temperature divides the logits; 0 takes the most likely token.
	Temperature float64
	// TopK keeps the K most likely tokens; 0 keeps all.
	TopK int
	// TopP keeps, of those, the smallest set with at least this share of their
	// mass; 1 keeps all.
	TopP float64
	// MaxTokens bounds the response, the stop token included.
	MaxTokens int
	// Stop ends a response.
	Stop int32
	// LogProbs says which log-prob is recorded; empty means Processed.
	LogProbs LogProbs
	// Distributions records the full next-token log-probs of every token, at
	// the sampling temperature and before truncation.
	Distributions bool
	// OnSupport records them after truncation instead: on the sampling support,
	// -Inf outside. It changes no other column.
	OnSupport bool
	// Gates records the gate values in addition to the experts that tokens visit, for
	// replay of both.
	Gates bool
	// ActualVersions records, in addition to the version that the weights claim, that of the
	// oldest of them.
	ActualVersions bool
}

// check panics on values a recipe's validation does not let through.
func (s Sampling) check() {
	if s.Temperature < 0 || s.TopP <= 0 || s.TopP > 1 || s.TopK < 0 || s.MaxTokens < 1 {
		panic(fmt.Sprintf("rollout: impossible sampling %+v", s))
	}
}

// drawn is one sampled token and what is recorded with it.
type drawn struct {
	token   int32
	logp    float64
	kept    float64 // probability mass of the sampling support
	support []int32 // sorted ids, nil for the whole vocabulary; valid until the next draw
}

// sampler draws tokens from logits; it owns its buffers.
type sampler struct {
	logp    []float32 // of the row at hand, in block
	probs   []float32 // that row's before truncation
	block   block
	order   []int32
	support []int32
	reply   []int32   // of a tool
	exact   []float64 // a distribution in double precision
	emitted []float64 // the distribution of a token that was drafted and tested
	mixed   []float32 // logits of two models
}

// block has the log-probs of a few rows of logits, and the probabilities.
type block struct {
	logp, probs []float32
	next, rows  int // the row that is the next to be taken, and how many there are
}

// blockRows is how many rows are prepared at a time.
const blockRows = 16

// prepare has the sampler go on with the first of several rows of logits. It computes the
// distributions of a few at a time, before truncation: fewer are left for the calls after it.
func (m *sampler) prepare(logits []float32, n int, temperature float64) {
	b := &m.block
	if b.next == b.rows {
		logits = logits[:min(len(logits), blockRows*n)]
		b.next, b.rows = 0, len(logits)/n
		b.logp, b.probs = column.Resized(b.logp, len(logits)), column.Resized(b.probs, len(logits))
		if temperature == 0 { // nothing reads the probabilities
			kernel.LogSoftmaxRows(b.logp, logits, b.rows, n, 1)
		} else {
			kernel.LogSoftmaxRows(b.logp, logits, b.rows, n, float32(1/temperature))
			kernel.Exp(b.probs, b.logp)
		}
	}
	m.logp, m.probs = b.logp[b.next*n:][:n:n], b.probs[b.next*n:][:n:n]
	b.next++
}

// draw samples from one row of logits with the response's random stream.
func (m *sampler) draw(logits []float32, s Sampling, rng *rand.PCG) drawn {
	m.prepare(logits, len(logits), s.Temperature)
	return m.drawPrepared(logits, s, rng)
}

func (m *sampler) drawPrepared(logits []float32, s Sampling, rng *rand.PCG) drawn {
	if s.Temperature == 0 {
		best := 0
		for i, x := range m.logp {
			if x > m.logp[best] {
				best = i
			}
		}
		return drawn{token: int32(best), logp: float64(m.logp[best]), kept: 1}
	}
	d := m.truncated(s)
	return m.settle(d, m.pick(d.support, d.kept, rng), logits, s)
}

// truncated finds the support of the row at hand.
func (m *sampler) truncated(s Sampling) drawn {
	d := drawn{kept: 1}
	if truncates := s.TopP < 1 || s.TopK > 0 && s.TopK < len(m.probs); truncates {
		d.kept = m.truncate(s)
		d.support = m.support
	}
	return d
}

// distribution prepares the distribution of a row of logits, at a temperature
// above 0, and draws nothing.
func (m *sampler) distribution(logits []float32, s Sampling) drawn {
	m.prepare(logits, len(logits), s.Temperature)
	return m.truncated(s)
}

// settle records which token of a prepared distribution it became.
func (m *sampler) settle(d drawn, token int32, logits []float32, s Sampling) drawn {
	n := len(logits)
	d.token = token
	d.logp = float64(m.logp[d.token])
	if d.support != nil && s.LogProbs != Tempered {
		d.logp -= engine.LogOfMass(d.kept)
	}
	if s.LogProbs == Raw {
		kernel.LogSoftmax(m.probs, logits, n, 1)
		d.logp = float64(m.probs[d.token])
	}
	if s.OnSupport && d.support != nil {
		engine.Restrict(m.logp, d.support, engine.LogOfMass(d.kept))
	}
	return d
}

// truncate fills support with the ids kept by top-k, then top-p, in increasing
// order, and returns their probability.
func (m *sampler) truncate(s Sampling) (kept float64) {
	m.order = m.order[:0]
	for i := range m.probs {
		m.order = append(m.order, int32(i))
	}
	slices.SortFunc(m.order, func(a, b int32) int {
		if c := cmp.Compare(m.probs[b], m.probs[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	if s.TopK > 0 && s.TopK < len(m.order) {
		m.order = m.order[:s.TopK]
	}
	var total float64
	for _, id := range m.order {
		total += float64(m.probs[id])
	}
	n := 0
	for n < len(m.order) && (n == 0 || kept < s.TopP*total) {
		kept += float64(m.probs[m.order[n]])
		n++
	}
	m.support = append(m.support[:0], m.order[:n]...)
	slices.Sort(m.support)
	return kept
}

// pick inverts the cumulative distribution over the support, in the order of
// the ids. A draw beyond the rounded total takes the last possible token, and the first where every
// probability is NaN, so that a response stays well-formed: the trainer then stops the run and names
// the tensor.
func (m *sampler) pick(support []int32, kept float64, rng *rand.PCG) int32 {
	u := uniform(rng) * kept
	if support == nil {
		return drawFrom(m.probs, u)
	}
	sum, last := 0.0, int32(0)
	for _, id := range support {
		if m.probs[id] > 0 {
			last = id
		}
		if sum += float64(m.probs[id]); u < sum {
			return id
		}
	}
	return last
}

// uniform draws from [0, 1).
func uniform(rng *rand.PCG) float64 { return float64(rng.Uint64()>>11) / (1 << 53) }
