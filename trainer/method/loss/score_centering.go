package loss

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// Score centering (arXiv:2609.20807) subtracts from the policy gradient its expectation under the sampler for equal
// advantages:
//
//	L = -A·(sg[w_y]·logp_y - C),  C = Σ_v sg[q_v·w_v]·logp_v,  q the sampler, w_v the weight that token v would have had
//
// The expected score is zero under the policy itself; under another sampler it is not, and A·E_q[score] is a drift
// that accumulates. The sum runs over the whole vocabulary or over a head H, the likeliest tokens of the sampler. The tail is
// then modelled as q = ρ·p with one factor ρ, and comes back to the head since Σ_v p_v·score_v = 0.

// policies are three laws of the next token as log-probs: current, old and the sampler's.
type policies[T float32 | float64] struct{ now, old, roll []T }

// policiesOf are those of token n. The old law is nil where the batch has none.
func policiesOf(in *batch.Batch, n int) policies[float32] {
	at, end := n*in.Vocab, (n+1)*in.Vocab
	p := policies[float32]{now: in.Now.Dist[at:end], roll: in.DistRoll[at:end]}
	if in.Old.Dist != nil {
		p.old = in.Old.Dist[at:end]
	}
	return p
}

// centering is a weight as the correction sees it: of a token of the vocabulary with the probabilities p, o
// and q, or of the tail, whose probabilities are masses; a is the advantage.
type centering interface {
	// coefficient is q_v·w_v.
	coefficient(a, p, o, q float64) float64
	// tail is q·w over p in the tail.
	tail(a, p, o, q float64) float64
}

// head is the part of the vocabulary whose tokens are kept apart: the likeliest of the sampler.
type head struct {
	size  int     // 0 is all
	floor float64 // the least mass of a tail
	kept  []bool
	prob  [][3]float64 // of every token, under now, old and roll
}

// centre returns C = Σ_H c_v·logp_v and adds scale times its derivative to dlogits: c - p·Σ_H c.
func centre[T float32 | float64](h *head, by centering, laws policies[T], a float64, dlogits []float64, scale float64) (value float64) {
	h.kept, h.prob = markTop(h.kept, laws.roll, h.size), h.prob[:0]
	var mass [3]float64 // of the head
	whole := true
	for v, kept := range h.kept {
		x := laws.at(v)
		h.prob = append(h.prob, x)
		if !kept {
			whole = whole && x[2] == 0
			continue
		}
		for law := range mass {
			mass[law] += x[law]
		}
	}
	tail := by.tail(a, 1, 1, 1)
	if !whole {
		tail = by.tail(a, max(1-mass[0], h.floor), max(1-mass[1], h.floor), max(1-mass[2], h.floor))
	}
	sum := 0.0
	for v, kept := range h.kept {
		p, o, q := h.prob[v][0], h.prob[v][1], h.prob[v][2]
		if !kept || p == 0 && q == 0 {
			continue
		}
		c := by.coefficient(a, p, o, q) - float64(tail*p)
		sum += c
		value += float64(c * float64(laws.now[v]))
		dlogits[v] += float64(scale * c)
	}
	for v := range dlogits {
		dlogits[v] -= float64(scale * sum * h.prob[v][0])
	}
	return value
}

// at are the probabilities of token v under now, old and roll; without an old law it is the current one.
func (l policies[T]) at(v int) [3]float64 {
	p, q := elementary.Exp(float64(l.now[v])), elementary.Exp(float64(l.roll[v]))
	if l.old == nil {
		return [3]float64{p, p, q}
	}
	return [3]float64{p, elementary.Exp(float64(l.old[v])), q}
}

// centred adds the term of a token and its correction, which the advantage multiplies.
func (f *frame) centred(h *head, by centering, base func(n int) (value, dlogp float64)) {
	in, out := f.in, f.out
	out.NeedLogits(in.Tokens(), in.Vocab)
	total := 0.0
	for i := range in.Len() {
		f.rowTokens(i, func(n int) (value, dlogp float64) {
			value, dlogp = base(n)
			a := in.Advantage[n]
			c := centre(h, by, policiesOf(in, n), a, out.DLogits[n*in.Vocab:(n+1)*in.Vocab], float64(a*f.weight(i, n)))
			total += math.Abs(c)
			f.note("C", c)
			return value + float64(a*c), dlogp
		})
	}
	out.Add("sc_correction", f.mean(total))
	f.addKL(in.LogpRoll, 0)
}

// ScoreCentering is the policy gradient with centred scores, and with truncated or masked importance weights.
type ScoreCentering struct {
	// Weights of a token: none; tis, min(p/q, cap); or mis, p/q between low and high and 0 outside.
	Weights string `yaml:"weights" default:"none" oneof:"none tis mis"`
	// Cap is the truncation of tis.
	Cap float64 `yaml:"cap" default:"2" range:"(0,inf]"`
	// Low and High are the bounds of mis.
	Low  float64 `yaml:"low" default:"0.5" range:"[0,high]"`
	High float64 `yaml:"high" default:"5" range:"(0,inf]"`
	// Head is the number of tokens kept apart.
	Head int `yaml:"head" range:"0=the whole vocabulary|[1,inf]"`
	// Floor is the least mass of a tail, before the ratio of two.
	Floor float64 `yaml:"floor" default:"1e-6" range:"(0,1)"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`

	memory head
}

// weight is f, of a ratio p/q that may be infinite.
func (p *ScoreCentering) weight(r float64) float64 {
	switch p.Weights {
	case "tis":
		return min(r, p.Cap)
	case "mis":
		if r < p.Low || r > p.High {
			return 0
		}
		return r
	}
	return 1
}

func (p *ScoreCentering) coefficient(_, prob, _, q float64) float64 {
	switch {
	case p.Weights == "tis": // q·min(p/q, c) without the quotient
		return min(prob, float64(p.Cap*q))
	case q == 0:
		return 0
	}
	return q * p.weight(prob/q)
}

func (p *ScoreCentering) tail(_, prob, _, q float64) float64 { return q / prob * p.weight(prob/q) }

// Eval computes the loss over the active tokens.
func (p *ScoreCentering) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.LogpRoll, batch.Advantage, batch.DistRoll, batch.Dist)
	if err != nil {
		return err
	}
	p.memory.size, p.memory.floor = p.Head, p.Floor
	f.centred(&p.memory, p, func(n int) (value, dlogp float64) {
		return f.detached(p.weight(elementary.Exp(f.sg[n]-in.LogpRoll[n])), in.Advantage[n], in.Now.Logp[n])
	})
	return nil
}

// CenteredPPO is PPO's clip with a truncated importance weight old/mu and the correction of score centering for it.
type CenteredPPO struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.28" range:"[0,inf]"`
	// Cap is the truncation of the weight old/mu.
	Cap float64 `yaml:"cap" default:"2" range:"(0,inf]"`
	// Head is the number of tokens kept apart.
	Head int `yaml:"head" range:"0=the whole vocabulary|[1,inf]"`
	// Floor is the least mass of a tail.
	Floor float64 `yaml:"floor" default:"1e-6" range:"(0,1)"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`

	memory head
}

// farthest is the log-ratio beyond which a token has no gradient.
const farthest = 20

// slope is the derivative of the clipped ratio with respect to log p.
func (p *CenteredPPO) slope(a, prob, o float64) float64 {
	r := prob / o
	if a >= 0 && r > 1+p.EpsHigh || a < 0 && r < 1-p.EpsLow || math.Abs(elementary.Log(r)) > farthest {
		return 0
	}
	return r
}

func (p *CenteredPPO) coefficient(a, prob, o, q float64) float64 {
	if o == 0 {
		return 0
	}
	return min(o, float64(p.Cap*q)) * p.slope(a, prob, o)
}

func (p *CenteredPPO) tail(a, prob, o, q float64) float64 {
	return q / prob * min(o/q, p.Cap) * p.slope(a, prob, o)
}

// term is that of token n without the correction.
func (p *CenteredPPO) term(f *frame, n int) (value, dlogp float64) {
	in := f.in
	w := min(elementary.Exp(in.Anchor[n]-in.LogpRoll[n]), p.Cap)
	r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], farthest)
	s := f.clipped(in.Advantage[n], r, dr, 1-p.EpsLow, 1+p.EpsHigh, 0, 0)
	return w * s.value, w * s.dlogp
}

// Eval computes the loss over the active tokens.
func (p *CenteredPPO) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.LogpRoll, batch.Anchor, batch.Advantage, batch.DistRoll, batch.DistOld, batch.Dist)
	if err != nil {
		return err
	}
	p.memory.size, p.memory.floor = p.Head, p.Floor
	f.centred(&p.memory, p, func(n int) (value, dlogp float64) { return p.term(&f, n) })
	return nil
}

// CenteredIPO is IPO without its penalty, and with the correction of score centering for it: over the tokens that the
// sampler could draw, on which the policy is renormalised. The correction acts on masked tokens too.
type CenteredIPO struct {
	// Delta is the largest change of probability.
	Delta float64 `yaml:"delta" default:"0.3" range:"[0,inf]"`
	// Cap bounds the ratio and keeps its gradient.
	Cap float64 `yaml:"cap" default:"1e4" range:"[1,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`

	memory head
}

func (p *CenteredIPO) coefficient(_, prob, _, q float64) float64 {
	if math.Abs(prob-q) > p.Delta {
		return 0
	}
	return min(prob, float64(p.Cap*q))
}

func (p *CenteredIPO) tail(_, _, _, _ float64) float64 { return 0 }

// Eval computes the loss over the active tokens.
func (p *CenteredIPO) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.LogpRoll, batch.Advantage, batch.DistRoll, batch.Dist)
	if err != nil {
		return err
	}
	f.centred(&p.memory, p, func(n int) (value, dlogp float64) {
		if f.moved(n, p.Delta) {
			return f.reject(n)
		}
		return f.detached(min(elementary.Exp(f.sg[n]-in.LogpRoll[n]), p.Cap), in.Advantage[n], in.Now.Logp[n])
	})
	return nil
}
