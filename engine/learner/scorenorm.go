package learner

import (
	"driftlab/trainer/batch"
	"driftlab/trainer/loss"
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
func (l *Learner) ScoreNorms(dst []float64, b *batch.Batch, o StepOptions) ([]float64, error) {
	scale, balance := l.scale, l.settings.Balance
	defer func() { l.scale, l.settings.Balance = scale, balance }()
	l.scale, l.settings.Balance = lossScaler{}, 0
	dst = resized(dst, b.Len())
	for i := range dst {
		l.cutOut(b, i)
		report, err := l.Gradient(&l.response, score{}, o)
		if err != nil {
			return nil, err
		}
		dst[i] = report.GradNorm
	}
	return dst, nil
}

// cutOut makes l.response a batch of one, a view of b with columns of its own for
// what a gradient writes.
func (l *Learner) cutOut(b *batch.Batch, i int) {
	from, to := b.Span(i)
	r, per := &l.response, b.Layers*b.TopK
	r.Offsets = append(r.Offsets[:0], 0, to-from)
	r.Prompt, r.Token, r.Mask = b.Prompt[i:i+1], b.Token[from:to], b.Mask[from:to]
	r.Support = rows(b.Support, from, to)
	r.Layers, r.TopK = b.Layers, b.TopK
	words := b.KVPlanes * b.KVWords
	r.KVPlanes, r.KVWords, r.KVKept = b.KVPlanes, b.KVWords, rows(b.KVKept, from*words, to*words)
	r.RoutesRoll, r.PromptRoutes = rows(b.RoutesRoll, from*per, to*per), rows(b.PromptRoutes, i, i+1)
	r.GatesRoll, r.PromptGates = rows(b.GatesRoll, from*per, to*per), rows(b.PromptGates, i, i+1)
	r.GatesOld, r.PromptGatesOld = rows(b.GatesOld, from*per, to*per), rows(b.PromptGatesOld, i, i+1)
	r.RoutesOld, r.PromptRoutesOld = rows(b.RoutesOld, from*per, to*per), rows(b.PromptRoutesOld, i, i+1)
}

// rows is a part of a column, nil if the column has not been recorded.
func rows[T any](column []T, from, to int) []T {
	if len(column) < to {
		return nil
	}
	return column[from:to]
}

// score is the log-prob of the generated tokens, as a loss.
type score struct{}

// Eval implements loss.Loss.
func (score) Eval(out *loss.Grad, b *batch.Batch) error {
	out.Reset(b.Tokens())
	for n, counts := range b.Mask {
		if counts {
			out.Loss += b.Logp[n]
			out.DLogp[n] = 1
		}
	}
	return nil
}
