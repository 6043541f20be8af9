package loss

import (
	"math"

	"driftlab/trainer/method/batch"
)

// IWOPD distils from a teacher on the policy's own samples: the detached log-ratio to
// the teacher is the advantage, and a token counts more the less of the response's
// disagreement lies before it.
//
// No reward, ratio or clip enters; the paper trains with PPO's clip, TRL without. The
// first token has the weight 1+γ. Masked tokens have no log-ratio and do not move P.
type IWOPD struct {
	// Gamma is the additional weight of the first token; 0 is plain on-policy distillation.
	Gamma float64 `yaml:"gamma" default:"0.5" range:"[0,inf)"`
	// Student is what the teacher is compared with: roll, the log-probs of the rollout
	// engine, or now, those of the current weights (TRL, where it keeps no log-probs of the
	// rollout engine).
	Student string `yaml:"student" default:"roll" oneof:"roll now"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *IWOPD) Eval(out *Grad, in *batch.Batch) error {
	needs := batch.Columns{batch.LogpTeacher, either(p.Student == "roll", batch.LogpRoll, batch.Mask)}
	return withFrame(out, in, p.Aggregation, needs, func(f *frame) {
		before := out.work(1, in.Tokens())
		p.before(f, before)
		advantages, sizes, weights := 0.0, 0.0, newSpread()
		f.eachToken(func(n int) (value, dlogp float64) {
			a, v := p.gap(f, n), 1+float64(p.Gamma*(1-before[n]))
			advantages += float64(v * a)
			sizes += math.Abs(a)
			weights.add(v)
			f.note("a", a)
			return f.detached(v, a, in.Now.Logp[n])
		})
		out.Add("iw_opd/mean_advantage", advantages/max(f.tokens, 1))
		out.Add("iw_opd/mean_abs_advantage", sizes/max(f.tokens, 1))
		weights.log(out, "iw_opd/mean_weight", "iw_opd/min_weight", "iw_opd/max_weight")
	})
}

// gap is the log-ratio of the teacher to the student at token n.
func (p *IWOPD) gap(f *frame, n int) float64 {
	if p.Student == "roll" {
		return f.in.Teacher.Logp[n] - f.in.LogpRoll[n]
	}
	return f.in.Teacher.Logp[n] - f.sg[n]
}

// before fills the share of the response's |a| that lies before each active token.
func (p *IWOPD) before(f *frame, share []float64) {
	for i := range f.in.Len() {
		total := 0.0
		for n := range f.in.Where(i, f.active) {
			share[n] = total
			total += math.Abs(p.gap(f, n))
		}
		for n := range f.in.Where(i, f.active) {
			share[n] /= max(total, 1e-8)
		}
	}
}
