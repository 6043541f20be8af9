package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// OPDTopK subtracts a reverse KL divergence to a teacher, over the most likely tokens of
// student or teacher, from the advantages.
//
// The student is the old policy. With top_k 0 it is the log-ratio of the sampled token.
// Above 0 the divergence does not depend on the sampled token: on-policy and without a
// clip its expected gradient is 0 at every state, and only clipping, normalisation and
// staleness make it act. With renormalised weights it is no divergence and may be
// negative. Corrections, and what is logged of advantages, read those of the estimator.
type OPDTopK struct {
	// Coef is the coefficient.
	Coef float64 `yaml:"coef" default:"1" range:"[0,inf)"`
	// TopK is the number of most likely tokens (miles: 0, the sampled token).
	TopK int `yaml:"top_k" default:"4" range:"[0,inf]"`
	// Strategy says which tokens count: the student's first k, the teacher's, those of
	// both, of either, or of exactly one.
	Strategy string `yaml:"strategy" default:"only-student" oneof:"only-student only-teacher intersection union xor"`
	// Weights are the probabilities of the student or the teacher, renormalised over these
	// tokens, or equal; xor does not renormalise.
	Weights string `yaml:"weights" default:"student_p" oneof:"student_p teacher_p none"`

	student, teacher []bool
	lowered          []float64
	mean             float64
}

var opdTopKSpec = method.Spec{
	Name: "opd_topk", Unit: method.Token,
	Does:     "Subtracts the reverse KL divergence to a teacher, over the top-k tokens of student or teacher, from the advantages.",
	When:     "Use it to reproduce miles' on-policy distillation; top_k 0 is the form whose expected gradient is not 0.",
	Source:   "miles --opd-log-prob-top-k, --opd-top-k-strategy, --opd-reward-weight-mode",
	Formula:  "A ← A - coef·K, K = Σ_{j∈J} w_j·(log p_old(j) - log p_teacher(j)); top_k 0: K = old - teacher of the sampled token",
	Gradient: "that of the loss with the lowered advantage; nothing of its own",
	Needs:    batch.Columns{batch.LogpOld, batch.LogpTeacher, batch.DistOld, batch.DistTeacher, batch.Advantage},
}

// Prepare lowers the advantages of this evaluation.
func (o *OPDTopK) Prepare(in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Advantage, batch.LogpOld, batch.LogpTeacher, batch.DistOld, batch.DistTeacher); err != nil {
		return err
	}
	o.lowered = append(o.lowered[:0], in.Advantage...)
	sum, tokens := 0.0, 0.0
	for n, m := range in.Mask {
		if !m {
			continue
		}
		k := in.Old.Logp[n] - in.Teacher.Logp[n]
		if o.TopK > 0 {
			at := n * in.Vocab
			k = topKDivergence(o, in.Old.Dist[at:at+in.Vocab], in.Teacher.Dist[at:at+in.Vocab])
		}
		o.lowered[n] -= float64(o.Coef * k)
		sum += k
		tokens++
	}
	o.mean = sum / max(tokens, 1)
	in.Advantage = o.lowered
	return nil
}

// AddLoss logs the mean divergence.
func (o *OPDTopK) AddLoss(out *Grad, _ *batch.Batch) error {
	out.Add("opd_reverse_kl", o.mean)
	return nil
}

// topKDivergence is K of one state, from rows of log-probs.
func topKDivergence[F ~float32 | ~float64](o *OPDTopK, student, teacher []F) float64 {
	o.student, o.teacher = markTop(o.student, student, o.TopK), markTop(o.teacher, teacher, o.TopK)
	sum, total := 0.0, 0.0
	for a := range student {
		if !o.chosen(a) {
			continue
		}
		w := 1.0
		switch o.Weights {
		case "student_p":
			w = elementary.Exp(float64(student[a]))
		case "teacher_p":
			w = elementary.Exp(float64(teacher[a]))
		}
		if w > 0 { // a token that neither has, where one is -Inf, adds nothing
			sum += float64(w * (float64(student[a]) - float64(teacher[a])))
		}
		total += w
	}
	if o.Strategy == "xor" || total == 0 {
		return sum
	}
	return sum / total
}

// chosen reports whether token a counts.
func (o *OPDTopK) chosen(a int) bool {
	switch o.Strategy {
	case "only-student":
		return o.student[a]
	case "only-teacher":
		return o.teacher[a]
	case "intersection":
		return o.student[a] && o.teacher[a]
	case "union":
		return o.student[a] || o.teacher[a]
	}
	return o.student[a] != o.teacher[a]
}
