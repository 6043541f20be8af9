package learner

import (
	"fmt"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/model"
)

// ScoreOptions are the choices of one scoring pass.
type ScoreOptions struct {
	Policy
	// Earlier is the pass whose routes ReplayOld follows.
	Earlier *column.Scored
	// WithoutRoutes leaves the routes out, for a policy whose routes are not read.
	WithoutRoutes bool
	// KeepGates records the gates in addition to the routes, for replay of both.
	KeepGates bool
	// Router records the router's log-probs of the experts that were visited.
	Router bool
	// Predictor ranks the experts of the pass and records what it is to learn from; nil lets the
	// routers alone rank them.
	Predictor *RoutePredictor
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
	s.begin(in, o.Policy, o.Earlier, engine.Options{Save: s.save, KeepGates: o.KeepGates, KeepRouter: o.Router || o.Predictor != nil, Predictor: o.Predictor.engine()})
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
	dst.RouterLogp = s.routerLogp(dst.RouterLogp, in, dst.Routes, o.Router)
	if o.Predictor != nil {
		o.Predictor.record(s, in)
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
	dst = column.Zeroed(dst, len(s.targets))
	for n := range dst {
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
	dst = column.Zeroed(dst, len(s.targets))
	v := s.config.Vocab
	for n := range dst {
		if s.generated(n) {
			for _, p := range s.probs[n*v : (n+1)*v] {
				dst[n] += float64(float64(p) * float64(p)) // exact, fused or not
			}
		}
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

// retained lays the recorded retention masks out in the order of the pack's
// rows, nil if they are not to be replayed. Rows that read the prompt saw all of
// it, or what the index of sparse attention chose for them, if that is recorded. It panics if the batch has no masks: a dense pass would look like a shadow.
func (s *Scorer) retained(b *column.Sampled, replay bool) *engine.Retention {
	if !replay {
		return nil
	}
	per := b.KVPlanes * b.KVWords
	if per == 0 || len(b.KVKept) != b.Tokens()*per {
		panic(fmt.Sprintf("learner: replay of %d words of retention masks, %d tokens have %d each", len(b.KVKept), b.Tokens(), per))
	}
	r := &s.retention
	r.Planes, r.Words, r.Kept = b.KVPlanes, b.KVWords, column.Resized(r.Kept, s.pack.Rows()*per)
	if r.PerLayer = s.indexed; r.PerLayer {
		clear(r.Kept) // a row without a record chooses
	} else {
		for row, position := range s.pack.Positions {
			for at := range per {
				r.Kept[row*per+at] = engine.FirstBits(int(position) + 1 - at%r.Words*64)
			}
		}
	}
	for i := range b.Len() {
		from, to := b.Span(i)
		copy(r.Kept[s.layout.prompt[i]*per:], of(b.PromptKept, i))
		copy(r.Kept[s.layout.first[i]*per:], b.KVKept[from*per:to*per])
	}
	return r
}

// addDense adds value and gradient of the dense objective: a second pass over
// the same rows, in which nothing is masked. What the first pass recorded stays
// as it is.
func (l *Learner) addDense(in *column.Sampled, r *Report, o StepOptions) error {
	dense, policy := o.Dense, o.Policy
	policy.Retention, o.Dense = false, nil
	o.Policy, o.Distributions, o.Entropy = policy, true, false
	l.out, l.denseOut = l.denseOut, l.out
	l.made = false
	l.begin(in, o.Policy, o.Earlier, l.saving(o.Router))
	err := l.propagate(&l.dense, in, dense, o, 0)
	l.out, l.denseOut = l.denseOut, l.out
	r.Loss += l.denseOut.Loss
	r.Metrics = append(r.Metrics, l.denseOut.Metrics...)
	return err
}

// ScoreNorms returns, for every response, the norm of its score under the
// current weights, in dst's memory:
//
//	n_i = ‖∇_θ Σ_t logp_t‖₂   over the generated tokens of response i
//
// It is what optimal baselines weigh rewards by (VCPO, arXiv:2602.17616). Each
// response takes a forward and a backward pass of its own, in the learner's
// numerics, without loss scale and without load-balancing loss. The error is a
// NonFinite. The gradient of an earlier call of Gradient is lost.
func (l *Learner) ScoreNorms(dst []float64, b *column.Sampled, o StepOptions) ([]float64, error) {
	return l.scoreNorms(dst, b, nil, o)
}

// GradientMoments returns, under the current weights, the squared norm of the mean of
//
//	g_i = ∇_θ Σ_t weight_t·logp_t   over the generated tokens of response i
//
// and the mean of their squared norms. Their difference over N − 1 is an unbiased estimate of
// the variance of the mean of N independent responses, the trace of its covariance. It makes
// the passes of ScoreNorms and one of all responses, and has the same errors.
func (l *Learner) GradientMoments(b *column.Sampled, weight []float64, o StepOptions) (signal, power float64, err error) {
	norms, err := l.scoreNorms(nil, b, weight, o)
	if err != nil {
		return 0, 0, err
	}
	for _, n := range norms {
		power += float64(n * n)
	}
	defer l.plain()()
	report, err := l.Gradient(&l.scored, b, scoreOf{b, weight}, o)
	n := float64(max(b.Len(), 1))
	return report.GradNorm / n * report.GradNorm / n, power / n, err
}

// plain takes loss scale and load-balancing loss out until the function it returns is called.
func (l *Learner) plain() (restore func()) {
	scale, balance := l.scale, l.settings.Balance
	l.scale, l.settings.Balance = lossScaler{}, 0
	return func() { l.scale, l.settings.Balance = scale, balance }
}

// scoreNorms are the norms of ∇_θ Σ_t weight_t·logp_t, weights of 1 for nil.
func (l *Learner) scoreNorms(dst []float64, b *column.Sampled, weight []float64, o StepOptions) ([]float64, error) {
	defer l.plain()()
	dst = column.Resized(dst, b.Len())
	earlier := o.Earlier
	for i := range dst {
		one := []int{i}
		b.Select(&l.response, one)
		if earlier != nil {
			earlier.Select(&l.earlier, b, one)
			o.Earlier = &l.earlier
		}
		score := scoreOf{in: &l.response}
		if weight != nil {
			from, to := b.Span(i)
			score.weight = weight[from:to]
		}
		report, err := l.Gradient(&l.scored, &l.response, score, o)
		if err != nil {
			return nil, err
		}
		dst[i] = report.GradNorm
	}
	return dst, nil
}

// scoreOf is the weighted log-prob of the generated tokens of responses, weights of 1 for nil.
type scoreOf struct {
	in     *column.Sampled
	weight []float64
}

func (s scoreOf) Eval(out *column.Grad, now *column.Scored) error {
	out.Reset(s.in.Tokens())
	for n, counts := range s.in.Mask {
		if counts {
			w := 1.0
			if s.weight != nil {
				w = s.weight[n]
			}
			out.Loss += float64(w * now.Logp[n])
			out.DLogp[n] = w
		}
	}
	return nil
}
