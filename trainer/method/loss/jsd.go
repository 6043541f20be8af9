package loss

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// JSD draws the policy's distribution towards a teacher's by the generalised Jensen-Shannon divergence, which lies
// between the two directions of GKD: its gradient over beta tends to that of forward as beta falls to 0, over
// 1 - beta to that of reverse as beta rises to 1.
type JSD struct {
	// Coef is the coefficient.
	Coef float64 `yaml:"coef" default:"1" range:"[0,inf)"`
	// Beta is the teacher's part of the mixture. TRL and ms-swift take the ends for the directions of gkd themselves.
	Beta float64 `yaml:"beta" default:"0.5" range:"(0,1)"`
	// TopK is the number of the teacher's tokens; 0 takes all.
	TopK int `yaml:"top_k" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`

	kept []bool
	pull []float64
}

var jsdSpec = method.Spec{
	Name: "jsd", Unit: method.Token, Aliases: []string{"generalised_jsd"},
	Does:     "Adds the generalised Jensen-Shannon divergence between the policy and a teacher, on the policy's own samples.",
	When:     "Use it for distillation that neither covers all of the teacher's modes, as forward KL does, nor seeks one, as reverse KL does.",
	Source:   "arXiv:2306.13649 (GKD); TRL GKDTrainer generalized_jsd_loss, ms-swift gkd_loss jsd_loss, ROLL js_divergence (beta 0.5)",
	Formula:  "L += coef·Σ agg·guided·Σ_{a∈K} (beta·t_a·log(t_a/m_a) + (1 - beta)·p_a·log(p_a/m_a)), m = beta·t + (1 - beta)·p, K the teacher's top_k or all",
	Gradient: "d/d logit_b = p_b·(g_b - Σ_a p_a·g_a), g_a = 1[a∈K]·(1 - beta)·log(p_a/m_a)",
	Needs:    batch.Columns{batch.Dist, batch.DistTeacher}, May: method.If("guided tokens, where the recipe has a section distillation", batch.Guided),
	Reconstruction: "the teacher's tokens outside K are left out and its mass is not renormalised, as in gkd",
}

// Prepare does nothing.
func (j *JSD) Prepare(*batch.Batch) error { return nil }

// AddLoss adds the term, and logs what GKD does.
func (j *JSD) AddLoss(out *Grad, in *batch.Batch) error {
	return addDivergence(out, in, &jsdNames, j.Coef, j.Aggregation, j.row)
}

// row is that of GKD.
func (j *JSD) row(dlogits []float64, logp, logt []float32, scale float64) (value, mass, size float64) {
	j.kept = markTop(j.kept, logt, j.TopK)
	j.pull = batch.Zeroed(j.pull, len(logp))
	mean := 0.0
	for a, kept := range j.kept {
		if !kept {
			continue
		}
		p, t := elementary.Exp(float64(logp[a])), elementary.Exp(float64(logt[a]))
		mass += t
		m := elementary.Log(float64(j.Beta*t) + float64((1-j.Beta)*p))
		if t > 0 {
			value += float64(j.Beta * t * (float64(logt[a]) - m))
		}
		if p > 0 {
			j.pull[a] = (1 - j.Beta) * (float64(logp[a]) - m)
			value += float64(p * j.pull[a])
			mean += float64(p * j.pull[a])
		}
	}
	for a := range dlogits {
		slope := elementary.Exp(float64(logp[a])) * (j.pull[a] - mean)
		dlogits[a] += float64(scale * slope)
		size += float64(math.Abs(scale*slope) / 2)
	}
	return value, mass, size
}
