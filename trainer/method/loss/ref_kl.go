package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// RefKL distils from the reference policy on the policy's own samples: the
// detached log-ratio to the reference is the advantage.
//
// No reward enters. A run with a teacher distils from it in the place of the
// reference.
type RefKL struct {
	// Delta is the largest fall of a probability that keeps its token.
	Delta float64 `yaml:"delta" default:"0.2" range:"[0,inf]"`
	// KLTau weighs the squared log-ratio.
	KLTau float64 `yaml:"kl_tau" default:"1e-3" range:"[0,inf]"`
	// LogClamp bounds the log-ratio inside the exponential; 0 is no bound.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *RefKL) Eval(out *Grad, in *batch.Batch) error {
	needs := batch.Columns{batch.LogpRoll, batch.LogpRef, batch.Mask}
	if in.Teacher.Logp != nil {
		needs[2] = batch.LogpTeacher
	}
	return withFrame(out, in, p.Aggregation, needs, func(f *frame) {
		ref := p.teacher(in)
		var m mismatch
		var gap rowMean
		for i := range in.Len() {
			f.rowTokens(i, func(n int) (value, dlogp float64) {
				l, a := in.Now.Logp[n]-in.LogpRoll[n], ref[n]-f.sg[n]
				drop := p.drops(f, n)
				m.token(l, a, drop, drop, false)
				gap.add(a)
				return f.ratioPlusSquare(n, a, p.KLTau, p.LogClamp, 0, drop)
			})
			m.endRow()
			gap.close()
		}
		rows := f.rows(true)
		m.logRows(f, rows)
		out.Add("ref_kl", gap.total/rows)
	})
}

// teacher are the log-probs to distil from.
func (p *RefKL) teacher(in *batch.Batch) []float64 {
	if in.Teacher.Logp != nil {
		return in.Teacher.Logp
	}
	return in.Ref.Logp
}

// drops reports whether the probability of token n has fallen too far.
func (p *RefKL) drops(f *frame, n int) bool {
	return elementary.Exp(f.sg[n])-elementary.Exp(f.in.LogpRoll[n]) < -p.Delta
}
