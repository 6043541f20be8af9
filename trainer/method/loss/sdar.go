package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// SDAR adds a distillation term with a gate: a token counts more where the teacher
// is more confident in it than the policy.
//
// The gate is detached. It is never 0, so that the term raises the probability of
// every sampled token, also where the teacher finds it less likely; its value may be
// negative. A teacher equal to the policy has a gate of 1/2 and a gradient.
type SDAR struct {
	// Coef is the coefficient (0.1; 0.01 for ALFWorld).
	Coef float64 `yaml:"coef" default:"0.1" range:"[0,inf)"`
	// Beta is the slope of the gate.
	Beta float64 `yaml:"beta" default:"5" range:"(0,inf)"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var sdarSpec = method.Spec{
	Name: "sdar", Unit: method.Token,
	Does:     "Adds the log-ratio of teacher and policy on the sampled tokens, each weighted by a sigmoid of that log-ratio.",
	When:     "Use it to add a teacher signal to a reward; it raises every sampled token, so keep coef small.",
	Source:   "arXiv:2605.15155; ms-swift sdar_loss_coef",
	Formula:  "L += coef·Σ agg·sg[g]·(teacher - logp), g = σ(β·(teacher - logp))",
	Gradient: "-coef·agg·g",
	Needs:    batch.Columns{batch.LogpTeacher},
}

// Prepare does nothing.
func (s *SDAR) Prepare(*batch.Batch) error { return nil }

// AddLoss adds the term, and logs its gate and its value.
func (s *SDAR) AddLoss(out *Grad, in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Logp, batch.LogpTeacher); err != nil {
		return err
	}
	rows := out.work(0, in.Len())
	if err := s.Aggregation.RowWeights(rows, in, &out.groups); err != nil {
		return err
	}
	detached := in.Now.Logp
	if out.frozen != nil {
		detached = out.frozen
	}
	active := in.Active()
	var sum, gates, open, gaps float64
	for i, w := range rows {
		for n := range in.Where(i, active) {
			g := sigmoid(s.Beta * (in.Teacher.Logp[n] - detached[n]))
			gap := in.Teacher.Logp[n] - in.Now.Logp[n]
			sum += float64(w * g * gap)
			out.DLogp[n] -= float64(s.Coef * w * g)
			gates, open, gaps = gates+g, open+count(g > 0.5), gaps+gap
		}
	}
	tokens := max(float64(masked.Count(active)), 1)
	out.Loss += float64(s.Coef * sum)
	out.Add("sdar/gate_mean", gates/tokens)
	out.Add("sdar/gate_active_ratio", open/tokens)
	out.Add("sdar/teacher_gap_mean", gaps/tokens)
	out.Add("sdar/loss", sum)
	out.Add("sdar/coef", s.Coef)
	return nil
}
