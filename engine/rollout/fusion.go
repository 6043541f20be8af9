package rollout

import (
	"fmt"
	"slices"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/kernel"
	"driftlab/model"
)

// Mixture says what of two models is mixed with shares 1 - α and α.
type Mixture uint8

const (
	// MixLogits draws from softmax((own + α·(partner - own))/T): the normalised geometric
	// mixture of the two distributions (Logit Fusion). It is the default of a new partner.
	MixLogits Mixture = iota
	// MixProbabilities draws from (1 - α)·own + α·partner's distribution, both at temperature T
	// (1 for greedy decoding).
	MixProbabilities
)

// SetPartner gives the engine a second model, of that shape and in those numerics, which is
// mixed into its own at every decode step of the requests that say so (Request.Fuse). The
// mixture is truncated as ever, and all that is recorded is recorded of it. What is read, the
// routes and the KV cache are the engine's. The partner needs weights (PublishPartner) before.
// It panics for an engine with a drafter or a compressed cache, or with something in progress.
func (e *Engine) SetPartner(c model.Config, n engine.Numerics) {
	e.idle("SetPartner")
	if c.Vocab < e.config.Vocab || e.retainer != nil || e.drafter != nil {
		panic(fmt.Sprintf("rollout: partner with a vocabulary of %d for one of %d, compressed cache %t, drafter %t",
			c.Vocab, e.config.Vocab, e.retainer != nil, e.drafter != nil))
	}
	e.partner.close()
	e.partner = &partner{secondModel: e.newSecondModel(c, n), slots: make([]partnered, len(e.slots))}
}

// SetMixture chooses how the partner is mixed in. Nothing may be in progress, and it panics
// without a partner.
func (e *Engine) SetMixture(m Mixture) {
	e.idle("SetMixture")
	if e.partner == nil {
		panic("rollout: SetMixture without a partner")
	}
	e.partner.mixture = m
}

// PublishPartner takes the parameters as the partner's weights. Nothing may be in
// progress.
func (e *Engine) PublishPartner(p *model.Params) {
	e.idle("PublishPartner")
	e.partner.weights.Publish(p, 0)
}

// partner reads along with a lane.
type partner struct {
	secondModel
	mixture Mixture
	slots   []partnered
}

// close releases the workers of a partner, if there is one.
func (p *partner) close() {
	if p != nil {
		p.pass.Close()
	}
}

// partnered is what the partner knows of one slot.
type partnered struct {
	length int // tokens whose keys are in its cache
	row    int // of its last pass, which has the logits
}

// read brings the partner to where the lane's pass is about to bring the engine, for
// the responses that it has a part in.
func (p *partner) read(l *lane) {
	p.reset()
	for n, slot := range l.ids {
		r, w := l.engine.slots[slot].response, &p.slots[slot]
		if r.request.Fuse == 0 {
			continue
		}
		end := r.length + l.pack.Offsets[n+1] - l.pack.Offsets[n]
		p.add(r, w.length, end)
		w.length = end
		p.ids = append(p.ids, slot)
		if end == r.known() {
			w.row = len(p.targets)
			p.targets = append(p.targets, int32(p.pack.Rows()-1))
		}
	}
	if len(p.ids) > 0 {
		p.forward(nil)
	}
}

// fused is the row of logits that a slot's next token is drawn by, and the total
// variation of its distribution and the engine's own, both before truncation.
func (e *Engine) fused(m *sampler, slot int, own []float32) (row []float32, shift float64) {
	alpha := e.slots[slot].request.Fuse
	if alpha == 0 {
		return own, 0
	}
	p := e.partner
	row = p.pass.Logits()[p.slots[slot].row*p.config.Vocab:][:len(own)]
	switch {
	case alpha == 1:
	case p.mixture == MixProbabilities:
		row = m.blended(own, row, alpha, e.sampling)
	default:
		m.mixed = column.Resized(m.mixed, len(own))
		for a, z := range own { // equal logits stay what they are
			m.mixed[a] = z + float32(float32(alpha)*(row[a]-z))
		}
		row = m.mixed
	}
	m.laws(row, own, e.sampling)
	return row, distance(m.logp, m.probs)
}

// blended is a row of logits whose distribution is the mixture of the distributions of two rows.
func (m *sampler) blended(own, other []float32, alpha float64, s Sampling) []float32 {
	if slices.Equal(own, other) {
		return own // equal logits stay what they are
	}
	m.laws(own, other, s)
	m.mixed = column.Resized(m.mixed, len(own))
	for a, p := range m.logp {
		m.mixed[a] = kernel.Log32(p + float32(float32(alpha)*(m.probs[a]-p)))
		if s.Temperature > 0 {
			m.mixed[a] *= float32(s.Temperature)
		}
	}
	return m.mixed
}

// laws fills logp and probs with the probabilities of two rows of logits.
func (m *sampler) laws(x, y []float32, s Sampling) {
	n, scale := len(x), float32(1)
	if s.Temperature > 0 {
		scale = float32(1 / s.Temperature)
	}
	m.logp, m.probs = column.Resized(m.logp, n), column.Resized(m.probs, n)
	for _, of := range [...]struct{ law, logits []float32 }{{m.logp, x}, {m.probs, y}} {
		kernel.LogSoftmax(of.law, of.logits, n, scale)
		kernel.Exp(of.law, of.law)
	}
}

func (e *Engine) fuses(requests []Request) bool {
	for i := range requests {
		f := requests[i].Fuse
		if f < 0 || f > 1 || f > 0 && e.partner == nil {
			panic(fmt.Sprintf("rollout: request %d with %v of a partner's logits, partner %t", i, f, e.partner != nil))
		}
		if f > 0 {
			return true
		}
	}
	return false
}
