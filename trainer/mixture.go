package trainer

import (
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// mixture is the policy of the balance heuristic: the denominator of multiple importance
// sampling (Veach and Guibas 1995) for a batch that several versions of the weights sampled.
// Each of the n responses of the batch is a component c, of weight 1/n, which samples token t
// by the version that sampled token t of that response, or its last token:
//
//	q(y_1..t) = 1/n · Σ_c Π_{s≤t} π_{v_c(s)}(y_s | y_<s)
//
// The anchor of token t is log q(y_t | y_<t). It sums to log q of the response, so that
// ratios to it are at most n/n_v where the policy is version v and sampled n_v responses
// whole. With one version it is that version's log-prob, bit for bit.
type mixture struct {
	of         *behaviour
	components []component
	logps      [][]float64 // of all tokens, a list for each of the batch's versions
	anchor     []float64
}

// component is one way in which the batch was sampled, and how many responses were.
type component struct {
	versions []int32 // of its tokens, up to the first of the last version
	count    float64
	// logWeight is the log of its posterior probability, given the tokens so far.
	logWeight float64
}

func (m *mixture) run(s *Session) error {
	b := &s.batch
	m.of.present(b)
	for len(m.logps) < len(m.of.versions) {
		m.logps = append(m.logps, nil)
	}
	for k, version := range m.of.versions {
		scored := &b.Old
		if version != s.learner.Updates() {
			scored = &m.of.parts
			if err := m.of.at(s, version, scored, &b.Sampled); err != nil {
				return err
			}
		}
		m.logps[k] = append(m.logps[k][:0], scored.Logp...)
	}
	m.fill(b)
	b.Anchor = m.anchor
	return nil
}

// fill makes the anchor of the log-probs under each version.
func (m *mixture) fill(b *batch.Batch) {
	m.components = m.components[:0]
	responses := 0.0
	for i := range b.Len() {
		from, to := b.Span(i)
		if from == to {
			continue
		}
		responses++
		own := b.Version[from:to]
		for len(own) > 1 && own[len(own)-1] == own[len(own)-2] {
			own = own[:len(own)-1]
		}
		at := slices.IndexFunc(m.components, func(c component) bool { return slices.Equal(c.versions, own) })
		if at < 0 {
			at, m.components = len(m.components), append(m.components, component{versions: own})
		}
		m.components[at].count++
	}
	m.anchor = batch.Zeroed(m.anchor, b.Tokens())
	for i := range b.Len() {
		from, to := b.Span(i)
		for k := range m.components {
			m.components[k].logWeight = elementary.Log(m.components[k].count / responses)
		}
		for n := from; n < to; n++ {
			if b.Mask[n] {
				m.anchor[n] = m.next(n, n-from)
			}
		}
	}
}

// next is the log-prob of token n, the t-th of its response, under the mixture, and takes
// the token into the posterior of the components.
func (m *mixture) next(n, t int) float64 {
	most := math.Inf(-1)
	for k := range m.components {
		c := &m.components[k]
		version, _ := slices.BinarySearch(m.of.versions, int(c.versions[min(t, len(c.versions)-1)]))
		c.logWeight += m.logps[version][n]
		most = max(most, c.logWeight)
	}
	sum := 0.0
	for k := range m.components {
		sum += elementary.Exp(m.components[k].logWeight - most)
	}
	logp := most + elementary.Log(sum)
	for k := range m.components {
		m.components[k].logWeight -= logp
	}
	return logp
}
