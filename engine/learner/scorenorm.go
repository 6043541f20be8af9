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
	scale, balance := l.scale, l.settings.Balance
	defer func() { l.scale, l.settings.Balance = scale, balance }()
	l.scale, l.settings.Balance = lossScaler{}, 0
	dst = resized(dst, b.Len())
	earlier := o.Earlier
	for i := range dst {
		l.cutOut(b, i, earlier)
		if earlier != nil {
			o.Earlier = &l.earlier
		}
		report, err := l.Gradient(&l.scored, &l.response, scoreOf{&l.response}, o)
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

// scoreOf is the log-prob of the generated tokens of a response.
type scoreOf struct{ in *column.Sampled }

func (s scoreOf) Eval(out *column.Grad, now *column.Scored) error {
	out.Reset(s.in.Tokens())
	for n, counts := range s.in.Mask {
		if counts {
			out.Loss += now.Logp[n]
			out.DLogp[n] = 1
		}
	}
	return nil
}
