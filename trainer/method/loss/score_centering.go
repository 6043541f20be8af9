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
//
// It is an option of the losses reinforce, ppo_clip and ipo: w_v is the derivative that the loss has for token v, times
// the truncated or masked importance weight of the option.

// Centering is the option of reinforce and ppo_clip: the importance weight of a token, and the part of the vocabulary
// that the expectation runs over. The weight belongs to the loss: put no correction weight next to it.
type Centering struct {
	// Weights of a token: none; tis, min(r, cap); or mis, r between low and high and 0 outside. r is the ratio to the
	// rollout policy, in reinforce that of the current policy and in ppo_clip that of the anchor.
	Weights string `yaml:"weights" default:"none" oneof:"none tis mis"`
	// Cap is the truncation of tis.
	Cap float64 `yaml:"cap" default:"2" range:"(0,inf]"`
	// Low and High are the bounds of mis.
	Low  float64 `yaml:"low" default:"0.5" range:"[0,high]"`
	High float64 `yaml:"high" default:"5" range:"(0,inf]"`
	// Head is the number of the sampler's likeliest tokens that are treated separately.
	Head int `yaml:"head" range:"0=the whole vocabulary|[1,inf]"`
	// Floor is the least mass of a tail, before the ratio of two.
	Floor float64 `yaml:"floor" default:"1e-6" range:"(0,1)"`
}

// ExactCentering is the option of ipo: the expectation runs over all tokens that the sampler could draw. It has no parameters.
type ExactCentering struct{}

// weight is f of a ratio, which may be infinite.
func (c *Centering) weight(r float64) float64 {
	switch c.Weights {
	case "tis":
		return min(r, c.Cap)
	case "mis":
		if r < c.Low || r > c.High {
			return 0
		}
		return r
	}
	return 1
}

// times is q·f(p/q).
func (c *Centering) times(q, p float64) float64 {
	switch {
	case q == 0:
		return 0
	case c.Weights == "tis": // without the quotient
		return min(p, float64(c.Cap*q))
	}
	return float64(q * c.weight(p/q))
}

// centering is a loss as the option sees it.
type centering struct {
	*Centering // nil without the option
	// tau scales the advantage.
	tau float64
	// old says that the importance weight uses the old policy, not the current one.
	old bool
	// noTail says that the loss has no weight for a tail.
	noTail bool
	// slope is minus the derivative of a token's term, over its advantage a and the importance weight, of the token's
	// probabilities under the current policy, the old one and the sampler; of a tail these are masses.
	slope func(a, p, o, q float64) float64
	total float64
}

// prepare checks that the batch has the distributions.
func (c *centering) prepare(f *frame) error {
	if c.Centering == nil {
		return nil
	}
	f.out.NeedLogits(f.in.Tokens(), f.in.Vocab)
	return f.in.Require(batch.LogpRoll, batch.DistRoll, batch.Dist, either(c.old, batch.DistOld, batch.Mask))
}

// add gives token n its correction, which the advantage multiplies.
func (c *centering) add(f *frame, n int, value, dlogp float64) (float64, float64) {
	if c.Centering == nil {
		return value, dlogp
	}
	in, a := f.in, f.in.Advantage[n]*c.tau
	x := centre(&f.out.head, c, policiesOf(in, n), a, f.out.DLogits[n*in.Vocab:(n+1)*in.Vocab], float64(a*f.weight(f.row, n)))
	c.total += math.Abs(x)
	f.note("C", x)
	return float64(value) + float64(a*x), dlogp
}

// log adds the mean correction.
func (c *centering) log(f *frame) {
	if c.Centering != nil {
		f.out.Add("sc_correction", f.mean(c.total))
	}
}

// weighed is the probability over q in the importance weight.
func (c *centering) weighed(p, o float64) float64 {
	if c.old {
		return o
	}
	return p
}

// tail is q·w over p in the tail.
func (c *centering) tail(a, p, o, q float64) float64 {
	if c.noTail {
		return 0
	}
	return q / p * c.weight(c.weighed(p, o)/q) * c.slope(a, p, o, q)
}

// policies are three distributions of the next token as log-probs: current, old and the sampler's.
type policies[T float32 | float64] struct{ now, old, roll []T }

// policiesOf are the distributions of token n. The old one is nil where the batch has none.
func policiesOf(in *batch.Batch, n int) policies[float32] {
	at, end := n*in.Vocab, (n+1)*in.Vocab
	p := policies[float32]{now: in.Now.Dist[at:end], roll: in.DistRoll[at:end]}
	if in.Old.Dist != nil {
		p.old = in.Old.Dist[at:end]
	}
	return p
}

// head is working memory: the likeliest tokens of the sampler, which are treated separately.
type head struct {
	kept []bool
	prob [][3]float64 // of every token, under now, old and roll
}

// centre returns C = Σ_H c_v·logp_v and adds scale times its derivative to dlogits: c - p·Σ_H c.
func centre[T float32 | float64](h *head, by *centering, laws policies[T], a float64, dlogits []float64, scale float64) (value float64) {
	h.kept, h.prob = markTop(h.kept, laws.roll, by.Head), h.prob[:0]
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
		tail = by.tail(a, max(1-mass[0], by.Floor), max(1-mass[1], by.Floor), max(1-mass[2], by.Floor))
	}
	sum := 0.0
	for v, kept := range h.kept {
		p, o, q := h.prob[v][0], h.prob[v][1], h.prob[v][2]
		if !kept || p == 0 && q == 0 {
			continue
		}
		c := float64(by.times(q, by.weighed(p, o))*by.slope(a, p, o, q)) - float64(tail*p)
		sum += c
		value += float64(c * float64(laws.now[v]))
		dlogits[v] += float64(scale * c)
	}
	for v := range dlogits {
		dlogits[v] -= float64(scale * sum * h.prob[v][0])
	}
	return value
}

// at are the probabilities of token v under now, old and roll; without an old distribution that of the current one.
func (l policies[T]) at(v int) [3]float64 {
	p, q := elementary.Exp(float64(l.now[v])), elementary.Exp(float64(l.roll[v]))
	if l.old == nil {
		return [3]float64{p, p, q}
	}
	return [3]float64{p, elementary.Exp(float64(l.old[v])), q}
}

// ScoreCentering is Reinforce with its option centering, by the name of the method.
type ScoreCentering struct {
	// Centering has the parameters of the option.
	Centering `yaml:",inline"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Composed is the loss with its option.
func (p *ScoreCentering) Composed() (name string, l Loss) {
	return "reinforce", &Reinforce{Anchor: Roll, Aggregation: p.Aggregation, Centering: &p.Centering}
}

// Eval computes the loss over the active tokens.
func (p *ScoreCentering) Eval(out *Grad, in *batch.Batch) error {
	_, l := p.Composed()
	return l.Eval(out, in)
}
