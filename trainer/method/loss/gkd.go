package loss

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// GKD draws the policy's distribution towards a teacher's on the policy's own samples,
// over the teacher's top-k tokens.
//
// p is the policy's and t the teacher's distribution, both over the whole vocabulary:
// what lies outside K is left out and not renormalised. Its gradient goes to the logits.
// With a schedule of lag 1 or 2 it is verl's pipeline, one or two steps off-policy.
//
// KDRL (arXiv:2506.08946) found top-k unstable.
type GKD struct {
	// Coef is the coefficient.
	Coef float64 `yaml:"coef" default:"1" range:"[0,inf)"`
	// TopK is the number of the teacher's tokens; 0 takes all.
	TopK int `yaml:"top_k" default:"10" range:"[0,inf]"`
	// Direction is forward or reverse.
	Direction string `yaml:"direction" default:"forward" oneof:"forward reverse"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`

	kept []bool
}

var gkdSpec = method.Spec{
	Name: "gkd", Unit: method.Token,
	Does:     "Adds the KL divergence to a teacher over the teacher's top-k tokens, on the policy's own samples.",
	When:     "Use it for on-policy distillation from a distribution and not from the sampled token alone.",
	Source:   "arXiv:2306.13649 (GKD); verl recipe gkd",
	Formula:  "L += coef·Σ agg·guided·Σ_{a∈K} t_a·(log t_a - log p_a), K the teacher's top_k; reverse: Σ_{a∈K} p_a·(log p_a - log t_a)",
	Gradient: "d/d logit_b = m·p_b - 1[b∈K]·t_b, m = Σ_{a∈K} t_a; reverse: p_b·(1[b∈K]·(log p_b - log t_b + 1) - D - Σ_{a∈K} p_a)",
	Needs:    batch.Columns{batch.Dist, batch.DistTeacher}, May: method.If("guided tokens, where the recipe has a section distillation", batch.Guided),
	Reconstruction: "the teacher's tokens outside K are left out and its mass is not renormalised",
}

// Prepare does nothing.
func (g *GKD) Prepare(*batch.Batch) error { return nil }

// AddLoss adds the term, and logs its value, the teacher's mass in its top-k, and its
// share of the size of the gradient.
func (g *GKD) AddLoss(out *Grad, in *batch.Batch) error {
	return addDivergence(out, in, &gkdNames, g.Coef, g.Aggregation, g.row)
}

// divergence is one state's part of a term: its value, the teacher's mass that it looks at, and the size of what it
// adds, times scale, to the derivative of its logits.
type divergence func(dlogits []float64, logp, logt []float32, scale float64) (value, mass, size float64)

// gkdNames and jsdNames are what the terms log, in the order of addDivergence.
var (
	gkdNames = [4]string{"actor/gkd_loss", "actor/gkd_mass", "actor/gkd_tokens", "actor/gkd_share"}
	jsdNames = [4]string{"actor/jsd_loss", "actor/jsd_mass", "actor/jsd_tokens", "actor/jsd_share"}
)

// addDivergence adds a divergence of distributions over the tokens that are guided.
func addDivergence(out *Grad, in *batch.Batch, names *[4]string, coef float64, aggregation Aggregation, row divergence) error {
	if err := in.Require(batch.Mask, batch.Dist, batch.DistTeacher); err != nil {
		return err
	}
	out.NeedLogits(in.Tokens(), in.Vocab)
	rows := out.work(0, in.Len())
	if err := aggregation.RowWeights(rows, in, &out.groups); err != nil {
		return err
	}
	var sum, tokens, mass, own, added float64
	for i, w := range rows {
		for n := range in.Where(i, in.Active()) {
			own += math.Abs(out.DLogp[n])
			if in.Guided != nil && !in.Guided[n] {
				continue
			}
			tokens++
			at := n * in.Vocab
			value, kept, size := row(out.DLogits[at:at+in.Vocab], in.Now.Dist[at:at+in.Vocab], in.Teacher.Dist[at:at+in.Vocab], coef*w)
			sum, mass, added = sum+float64(w*value), mass+kept, added+size
		}
	}
	out.Loss += float64(coef * sum)
	out.Add(names[0], sum)
	out.Add(names[1], mass/max(tokens, 1))
	out.Add(names[2], guidedShare(in, tokens))
	out.Add(names[3], gradientShare(own, added))
	return nil
}

// row returns the divergence of one state and the teacher's mass in K, and adds scale
// times the derivative to dlogits; size is the sum of what was added, halved, so that
// it compares with the derivative with respect to one log-prob.
func (g *GKD) row(dlogits []float64, logp, logt []float32, scale float64) (value, mass, size float64) {
	g.kept = markTop(g.kept, logt, g.TopK)
	own := 0.0
	for a, kept := range g.kept {
		if !kept {
			continue
		}
		p, t, gap := elementary.Exp(float64(logp[a])), elementary.Exp(float64(logt[a])), float64(logp[a])-float64(logt[a])
		mass, own = mass+t, own+p
		if g.Direction == "forward" {
			value -= float64(t * gap)
		} else if p > 0 {
			value += float64(p * gap)
		}
	}
	for a, kept := range g.kept {
		p := elementary.Exp(float64(logp[a]))
		slope := float64(mass * p)
		if g.Direction == "reverse" {
			slope = -float64(p * (value + own))
		}
		switch {
		case !kept:
		case g.Direction == "forward":
			slope -= elementary.Exp(float64(logt[a]))
		case p > 0:
			slope += float64(p * (float64(logp[a]) - float64(logt[a]) + 1))
		}
		dlogits[a] += float64(scale * slope)
		size += float64(math.Abs(scale*slope) / 2)
	}
	return value, mass, size
}

// markTop marks the k most likely tokens of a row of log-probs, the first of equals; k = 0 is
// all. It reuses the memory of kept.
func markTop[F ~float32 | ~float64](kept []bool, logp []F, k int) []bool {
	kept = batch.Zeroed(kept, len(logp))
	size := len(logp)
	if k > 0 {
		size = min(size, k)
	}
	for range size {
		best := -1
		for a, l := range logp {
			if !kept[a] && (best < 0 || l > logp[best]) {
				best = a
			}
		}
		kept[best] = true
	}
	return kept
}
