package learner

import (
	"driftlab/engine/column"
)

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
// the variance of the mean of N independent responses, the trace of its covariance. Passes
// and errors are those of ScoreNorms, and a pass of all responses.
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
	dst = resized(dst, b.Len())
	earlier := o.Earlier
	for i := range dst {
		l.cutOut(b, i, earlier)
		if earlier != nil {
			o.Earlier = &l.earlier
		}
		from, to := b.Span(i)
		report, err := l.Gradient(&l.scored, &l.response, scoreOf{&l.response, rows(weight, from, to)}, o)
		if err != nil {
			return nil, err
		}
		dst[i] = report.GradNorm
	}
	return dst, nil
}

// cutOut makes l.response a view of one response of b, and of the earlier pass
// whose routes are replayed.
func (l *Learner) cutOut(b *column.Sampled, i int, earlier *column.Scored) {
	from, to := b.Span(i)
	r, per := &l.response, b.Layers*b.TopK
	r.Offsets = append(r.Offsets[:0], 0, to-from)
	r.Prompt, r.Token, r.Mask = b.Prompt[i:i+1], b.Token[from:to], b.Mask[from:to]
	r.Support = rows(b.Support, from, to)
	r.Layers, r.TopK, r.Vocab = b.Layers, b.TopK, b.Vocab
	words := b.KVPlanes * b.KVWords
	r.KVPlanes, r.KVWords, r.KVKept = b.KVPlanes, b.KVWords, rows(b.KVKept, from*words, to*words)
	r.PromptKept = rows(b.PromptKept, i, i+1)
	r.RoutesRoll, r.PromptRoutes = rows(b.RoutesRoll, from*per, to*per), rows(b.PromptRoutes, i, i+1)
	r.GatesRoll, r.PromptGates = rows(b.GatesRoll, from*per, to*per), rows(b.PromptGates, i, i+1)
	if e := earlier; e != nil {
		l.earlier.Routes, l.earlier.PromptRoutes = rows(e.Routes, from*per, to*per), rows(e.PromptRoutes, i, i+1)
		l.earlier.Gates, l.earlier.PromptGates = rows(e.Gates, from*per, to*per), rows(e.PromptGates, i, i+1)
	}
}

// rows is a part of a column, nil if the column has not been recorded.
func rows[T any](column []T, from, to int) []T {
	if len(column) < to {
		return nil
	}
	return column[from:to]
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
