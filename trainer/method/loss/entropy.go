package loss

import (
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// Entropy is a bonus for the entropy of the policy at the sampled states.
//
// Its gradient goes to the logits (Grad.DLogits), since entropy is no function
// of the sampled token's log-prob.
type Entropy struct {
	// Coef is the coefficient (verl 0; 0.001 to 0.01 in use).
	Coef float64 `yaml:"coef" default:"0.001" range:"(-inf,inf)"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// AddLoss subtracts the bonus and logs actor/entropy.
func (e *Entropy) AddLoss(out *Grad, in *batch.Batch) error {
	return addEntropy(out, in, in.Now.Dist, e.Coef, e.Aggregation)
}

// addEntropy subtracts coef times the aggregated entropy of rows of log-probs.
func addEntropy[F ~float32 | ~float64](out *Grad, in *batch.Batch, dist []F, coef float64, agg Aggregation) error {
	out.NeedLogits(in.Tokens(), in.Vocab)
	sum := 0.0
	err := weighted(out, in, agg, batch.Columns{batch.Dist}, func(n int, w float64) {
		at := n * in.Vocab
		sum += float64(w * entropyRow(out.DLogits[at:at+in.Vocab], dist[at:at+in.Vocab], -coef*w))
	})
	if err != nil {
		return err
	}
	out.Loss -= float64(coef * sum)
	out.Add("actor/entropy", sum)
	return nil
}

// entropyRow returns the entropy of a row of log-probs and adds scale times
// its derivative with respect to the logits to dlogits.
func entropyRow[F ~float32 | ~float64](dlogits []float64, logp []F, scale float64) float64 {
	h := 0.0
	for _, lp := range logp {
		if p := elementary.Exp(float64(lp)); p > 0 {
			h -= float64(p * float64(lp))
		}
	}
	for a, lp := range logp {
		if p := elementary.Exp(float64(lp)); p > 0 {
			dlogits[a] -= float64(scale * p * (float64(lp) + h))
		}
	}
	return h
}

// TopEntropy keeps the policy term of the tokens with the highest entropy, the
// forks of a response, and closes the gate of the others. Denominators and the
// KL term do not change.
//
// The quantile interpolates linearly, as in TRL.
type TopEntropy struct {
	// Share is the fraction of tokens kept.
	Share float64 `yaml:"share" default:"0.2" range:"(0,1]"`

	sorted []float64
}

// Prepare closes the gates of the tokens below the quantile.
func (e *TopEntropy) Prepare(in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Entropy); err != nil {
		return err
	}
	active := in.Active()
	e.sorted = e.sorted[:0]
	for n := range masked.Kept(active) {
		e.sorted = append(e.sorted, in.Now.Entropy[n])
	}
	if e.Share >= 1 || len(e.sorted) == 0 {
		return nil
	}
	threshold := quantile(e.sorted, 1-e.Share)
	if in.Gate == nil {
		in.Gate = slices.Repeat([]bool{true}, in.Tokens())
	}
	for n, m := range active {
		if m && in.Now.Entropy[n] < threshold {
			in.Gate[n] = false
		}
	}
	return nil
}

// AddLoss does nothing.
func (e *TopEntropy) AddLoss(*Grad, *batch.Batch) error { return nil }

// AdaptiveEntropy is a bonus for the entropy of the policy that is on only after an
// update with an entropy at or below a target, with a coefficient that rises after such
// an update and falls after any other.
//
// The mean runs over the active tokens, as in TRL, which restricts it to those of
// top_entropy where that is used; here it has all. The first update has no bonus. A
// batch without tokens has the entropy 0.
type AdaptiveEntropy struct {
	// Coef is the coefficient at the start.
	Coef float64 `yaml:"coef" range:"[0,max]"`
	// Min and Max bound the coefficient.
	Min float64 `yaml:"min" range:"[0,max]"`
	Max float64 `yaml:"max" default:"1" range:"[0,inf)"`
	// Delta is the change of the coefficient per update.
	Delta float64 `yaml:"delta" default:"0.005" range:"[0,inf)"`
	// Target is the entropy (nats) at or below which the bonus is on.
	Target float64 `yaml:"target" default:"0.2" range:"[0,inf)"`

	last float64 // entropy of the last update
}

// NewAdaptiveEntropy has the defaults.
func NewAdaptiveEntropy() *AdaptiveEntropy {
	e := method.New[AdaptiveEntropy]()
	e.last = math.Inf(1)
	return e
}

// AppendState appends the coefficient and the entropy of the last update.
func (e *AdaptiveEntropy) AppendState(dst []byte) []byte {
	return method.AppendState(dst, e.Coef, e.last)
}

// SetState takes what AppendState appended.
func (e *AdaptiveEntropy) SetState(state []byte) error {
	return method.ReadState(state, &e.Coef, &e.last)
}

// AddLoss subtracts the bonus, and adapts the coefficient, which it logs.
func (e *AdaptiveEntropy) AddLoss(out *Grad, in *batch.Batch) error {
	if err := addEntropy(out, in, in.Now.Dist, e.coefficient(), Aggregation{}); err != nil {
		return err
	}
	entropy, _ := out.Metric("actor/entropy")
	if out.frozen == nil { // a finite difference is not a step
		e.adapt(entropy)
	}
	out.Add("entropy_coef", e.Coef)
	return nil
}

// coefficient is the one in use.
func (e *AdaptiveEntropy) coefficient() float64 {
	if e.last <= e.Target {
		return e.Coef
	}
	return 0
}

// adapt takes the entropy of an update.
func (e *AdaptiveEntropy) adapt(entropy float64) {
	if e.last = entropy; entropy <= e.Target {
		e.Coef = min(e.Coef+e.Delta, e.Max)
	} else {
		e.Coef = max(e.Coef-e.Delta, e.Min)
	}
}
