package learner

import (
	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/model"
)

// ScoreOptions are the choices of one scoring pass.
type ScoreOptions struct {
	Policy
	// Earlier is the pass whose routes ReplayOld follows.
	Earlier *column.Scored
	// WithoutRoutes leaves the routes out, for a policy whose routes nobody reads.
	WithoutRoutes bool
	// KeepGates records the gates in addition to the routes, for replay of both.
	KeepGates bool
	// Distributions records the full next-token log-probs, SumSquares their sum of
	// squared probabilities; columns that are not wanted are nil afterwards.
	Distributions, SumSquares bool
}

// Scorer computes log-probs and routes of given responses, without gradients.
// It holds its own copy of the weights in its own numerics. Not safe for
// concurrent use.
type Scorer struct {
	config  model.Config
	weights *engine.Weights
	pass    *engine.Pass

	pack    engine.Pack
	layout  layout
	targets []int32
	replay  []uint8
	gates   []float32 // as long as replay
	logp    []float32 // [tokens, vocab] log-probs of the last pass
	probs   []float32 // [tokens, vocab] and their exponentials
	entropy []float32 // [tokens] of these distributions
	chosen  []float64 // [tokens] log-prob of each response token
	mask    []bool    // the batch's of the last pass, nil without one
	support engine.Support
	follow  distributor
	save    bool // keep what a pass goes through, to look for a fault

	indexed   bool // a layer has sparse attention
	retention engine.Retention
	ahead     ahead
}

// NewScorer returns a scorer for models of that shape.
func NewScorer(c model.Config, n engine.Numerics, workers int) *Scorer {
	s := &Scorer{config: c, weights: engine.NewWeights(c, n), pass: engine.NewPass(c, workers)}
	s.indexed = c.HasLayer(model.SparseAttention)
	s.layout.apart = c.HasLayer(model.LinearAttention) || s.indexed
	return s
}

// Publish takes the parameters as the weights of the given version.
func (s *Scorer) Publish(p *model.Params, version int) {
	s.weights.Publish(p, version)
	s.ahead = ahead{}
}

// Calibrate finds the scales of a static KV cache from the given sequences, with
// the weights as published: see engine.Weights.
func (s *Scorer) Calibrate(sequences [][]int32, margin float64) {
	s.weights.Calibrate(sequences, margin)
	s.ahead = ahead{}
}

// KVScales returns the scales of a static KV cache, nil for ones.
func (s *Scorer) KVScales() engine.KVScales { return s.weights.KVScales() }

// SetKVScales puts a copy of the scales of a static KV cache in place; nil stands
// for ones.
func (s *Scorer) SetKVScales(scales engine.KVScales) {
	s.weights.SetKVScales(scales)
	s.ahead = ahead{}
}

// Close releases the workers.
func (s *Scorer) Close() { s.pass.Close() }

// Score runs the responses through the model and fills dst with what the policy
// says of them. Responses that no engine sampled take the model's shape.
func (s *Scorer) Score(dst *column.Scored, in *column.Sampled, o ScoreOptions) {
	s.layOut(in, recorded(in, o.Earlier, o.Policy))
	s.begin(in, o.Policy, o.Earlier, engine.Options{Save: s.save, KeepGates: o.KeepGates})
	s.score(dst, in, o)
}

// begin starts a pass over the batch that is laid out.
func (s *Scorer) begin(in *column.Sampled, p Policy, earlier *column.Scored, o engine.Options) {
	s.ahead = ahead{}
	o.Replay, o.Gates = s.replayed(in, recorded(in, earlier, p))
	o.Retention, o.Follow = s.retained(in, p.Retention), s.distributing(in, p.Temperature)
	s.pass.Begin(s.weights, &s.pack, o)
}

// score runs the pass that has begun and records it.
func (s *Scorer) score(dst *column.Scored, in *column.Sampled, o ScoreOptions) {
	s.pass.Forward()
	s.distribute(in, o.Support)
	dst.Logp = s.sampled(dst.Logp)
	dst.Entropy = s.entropies(dst.Entropy)
	dst.SumSquares = s.sumSquares(dst.SumSquares, o.SumSquares)
	dst.Dist = s.distributions(dst.Dist, o.Distributions)
	if !o.WithoutRoutes {
		s.recordRoutes(dst, in, o.KeepGates)
	}
}

// Hidden is the final hidden state of the row that predicts each response
// token of the last pass, [tokens, width]: what the head reads. It is valid
// until the next pass.
func (s *Scorer) Hidden() []float32 { return s.pass.Hidden() }

// sampled returns the log-prob of each response token.
func (s *Scorer) sampled(dst []float64) []float64 { return append(dst[:0], s.chosen...) }

// generated reports whether the policy chose token n of the last pass.
func (s *Scorer) generated(n int) bool { return s.mask == nil || s.mask[n] }

// entropies returns the entropy of each next-token distribution, in nats; a
// probability of zero adds nothing. It is 0 where the policy did not choose.
func (s *Scorer) entropies(dst []float64) []float64 {
	dst = resized(dst, len(s.targets))
	for n := range dst {
		dst[n] = 0
		if s.generated(n) {
			dst[n] = float64(s.entropy[n])
		}
	}
	return dst
}

// sumSquares returns the sum of squared probabilities of each distribution, 0
// where the policy did not choose, or nil if they are not wanted.
func (s *Scorer) sumSquares(dst []float64, wanted bool) []float64 {
	if !wanted {
		return nil
	}
	dst = resized(dst, len(s.targets))
	v := s.config.Vocab
	for n := range dst {
		if !s.generated(n) {
			dst[n] = 0
			continue
		}
		var sum float64
		for _, p := range s.probs[n*v : (n+1)*v] {
			sum += float64(float64(p) * float64(p)) // exact, fused or not
		}
		dst[n] = sum
	}
	return dst
}

// distributions copies the full log-probs, or returns nil if they are not wanted.
func (s *Scorer) distributions(dst []float32, wanted bool) []float32 {
	if !wanted {
		return nil
	}
	return append(dst[:0], s.logp...)
}

func resized[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}
