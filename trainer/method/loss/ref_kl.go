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
	taught := in.Teacher.Logp != nil
	needs := batch.Columns{batch.LogpRoll, batch.LogpRef, either(taught, batch.LogpTeacher, batch.Mask)}
	return withFrame(out, in, p.Aggregation, needs, func(f *frame) {
		ref := either(taught, in.Teacher.Logp, in.Ref.Logp)
		var m mismatch
		var gap rowMean
		f.eachToken(func(n int) (value, dlogp float64) {
			l, a := in.Now.Logp[n]-in.LogpRoll[n], ref[n]-f.sg[n]
			drop := elementary.Exp(f.sg[n])-elementary.Exp(in.LogpRoll[n]) < -p.Delta
			m.token(f, l, a, drop, drop, false)
			gap.add(f, a)
			return f.ratioPlusSquare(n, a, p.KLTau, p.LogClamp, 0, drop)
		})
		rows := f.rows(true)
		m.logRows(f, rows)
		out.Add("ref_kl", gap.total()/rows)
	})
}
