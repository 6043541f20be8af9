package loss

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
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
	out.NeedLogits(in.Tokens(), in.Vocab)
	var sum, tokens, mass, own, added float64
	err := weighted(out, in, aggregation, batch.Columns{batch.Dist, batch.DistTeacher}, func(n int, w float64) {
		own += math.Abs(out.DLogp[n])
		if in.Guided != nil && !in.Guided[n] {
			return
		}
		tokens++
		at := n * in.Vocab
		value, kept, size := row(out.DLogits[at:at+in.Vocab], in.Now.Dist[at:at+in.Vocab], in.Teacher.Dist[at:at+in.Vocab], coef*w)
		sum, mass, added = sum+float64(w*value), mass+kept, added+size
	})
	if err != nil {
		return err
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
	for a := range masked.Kept(g.kept) {
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
	if k <= 0 || k >= len(logp) {
		for a := range kept {
			kept[a] = true
		}
		return kept
	}
	for range k {
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

// AddLoss adds the term, and logs what GKD does.
func (j *JSD) AddLoss(out *Grad, in *batch.Batch) error {
	return addDivergence(out, in, &jsdNames, j.Coef, j.Aggregation, j.row)
}

// row returns and adds the same as the row of GKD, for this divergence.
func (j *JSD) row(dlogits []float64, logp, logt []float32, scale float64) (value, mass, size float64) {
	j.kept = markTop(j.kept, logt, j.TopK)
	j.pull = batch.Zeroed(j.pull, len(logp))
	mean := 0.0
	for a := range masked.Kept(j.kept) {
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

// DistillK2 draws the policy towards a teacher on its own samples, as a loss next to
// the policy loss.
//
// Its value is 2 to 4.5 per token at a gap of 2 to 3 nats, where that of a policy loss
// with centred advantages is near 0; its derivative is d, which is what a raw k1 has as
// an advantage on-policy: the two differ by coef and by the normalisation of the
// advantage. Guided are the tokens of the recipe's section distillation, all without it.
//
// Where the clamp acts the derivative is 0: inferred.
type DistillK2 struct {
	// Coef is β (0.1 there, found to be too much).
	Coef float64 `yaml:"coef" default:"0.1" range:"[0,inf)"`
	// RatioClip bounds the ratio of the two probabilities either way; 0 is no bound.
	RatioClip float64 `yaml:"ratio_clip" range:"0=none|(1,inf)"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// AddLoss adds the term, and logs its value and its share of the size of the gradient
// with respect to the log-probs.
func (k *DistillK2) AddLoss(out *Grad, in *batch.Batch) error {
	bound := math.Inf(1)
	if k.RatioClip > 0 {
		bound = elementary.Log(k.RatioClip)
	}
	var sum, tokens, clipped, own, added float64
	err := weighted(out, in, k.Aggregation, batch.Columns{batch.Logp, batch.LogpTeacher}, func(n int, w float64) {
		own += math.Abs(out.DLogp[n])
		if in.Guided != nil && !in.Guided[n] {
			return
		}
		tokens++
		d := in.Now.Logp[n] - in.Teacher.Logp[n]
		if held := clamp(d, -bound, bound); held != d {
			clipped++
			sum += float64(w * held * held / 2)
			return
		}
		sum += float64(w * d * d / 2)
		slope := float64(k.Coef * w * d)
		out.DLogp[n] += slope
		added += math.Abs(slope)
	})
	if err != nil {
		return err
	}
	out.Loss += float64(k.Coef * sum)
	out.Add("actor/kd_loss", sum)
	out.Add("actor/kd_coef", k.Coef)
	out.Add("actor/kd_tokens", guidedShare(in, tokens))
	out.Add("actor/kd_share", gradientShare(own, added))
	if k.RatioClip > 0 {
		out.Add("actor/kd_clipfrac", clipped/max(tokens, 1))
	}
	return nil
}

// guidedShare is the share of active tokens that a distillation term reads.
func guidedShare(in *batch.Batch, tokens float64) float64 {
	return tokens / max(float64(masked.Count(in.Active())), 1)
}

// gradientShare is what a term added of the size of a gradient, own of the rest.
func gradientShare(own, added float64) float64 {
	if added == 0 {
		return 0
	}
	return added / (own + added)
}

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

// Prepare lowers the advantages of this evaluation.
func (o *OPDTopK) Prepare(in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Advantage, batch.LogpOld, batch.LogpTeacher, batch.DistOld, batch.DistTeacher); err != nil {
		return err
	}
	o.lowered = append(o.lowered[:0], in.Advantage...)
	sum, tokens := 0.0, 0.0
	for n := range masked.Kept(in.Mask) {
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

// ShadowDistillation draws the dense policy towards its shadow, the same weights
// with the rollout engine's retention masks replayed. The policy loss then acts on the
// shadow, which is what sampled; this term carries its progress over to full attention. It
// is evaluated on a second, dense forward pass, whose gradient is added: OnDense.
type ShadowDistillation struct {
	// Coef is the coefficient λ.
	Coef float64 `yaml:"coef" default:"0.1" range:"[0,inf)"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// OnDense marks a term of the dense pass that a learner makes next to a shadow.
func (s *ShadowDistillation) OnDense() {}

// AddLoss adds the term and logs actor/shadow_kl.
func (s *ShadowDistillation) AddLoss(out *Grad, in *batch.Batch) error {
	sum, err := addFullKL(out, in, batch.DistShadow, &in.Shadow, s.Aggregation, s.Coef)
	if err != nil {
		return err
	}
	out.Add("actor/shadow_kl", sum)
	return nil
}

// DenseTerm is a term of the dense pass that a learner makes next to a shadow.
type DenseTerm interface {
	Term
	// OnDense marks it.
	OnDense()
}

// Dense is the loss of the dense pass: its terms and nothing else.
type Dense []DenseTerm

// Eval implements Loss.
func (d Dense) Eval(out *Grad, in *batch.Batch) error {
	out.Reset(in.Tokens())
	for _, t := range d {
		if err := t.AddLoss(out, in); err != nil {
			return err
		}
	}
	return nil
}

// RLSD scales the advantage of every token by how much more likely a teacher finds it
// than the old policy; no sign changes.
//
// A token with A < 0 that the teacher supports is blamed less. The loss reads the scaled
// advantages; corrections, and what is logged of advantages, read those of the estimator.
type RLSD struct {
	// Lambda is the share of the teacher's factor.
	Lambda float64 `yaml:"lambda" default:"0.5" range:"[0,1]"`
	// ClipRange bounds the teacher's factor to 1 ± clip_range.
	ClipRange float64 `yaml:"clip_range" default:"0.2" range:"[0,inf)"`
	// Warmup is the number of steps over which lambda rises from 0; Decay that over which
	// it falls back to 0 afterwards, 0 for never.
	Warmup int `yaml:"warmup" range:"[0,inf]"`
	Decay  int `yaml:"decay" range:"[0,inf]"`
	// NegativeOnly leaves tokens with A ≥ 0 alone.
	NegativeOnly bool `yaml:"negative_only"`

	scaled []float64
}

// Prepare scales the advantages of this evaluation.
func (r *RLSD) Prepare(in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Advantage, batch.LogpTeacher, batch.Anchor); err != nil {
		return err
	}
	lambda := r.lambda(in.Step)
	r.scaled = append(r.scaled[:0], in.Advantage...)
	for n, a := range in.Advantage {
		if !in.Mask[n] || r.NegativeOnly && a >= 0 {
			continue
		}
		factor := elementary.Exp(sign(a) * (in.Teacher.Logp[n] - in.Anchor[n]))
		r.scaled[n] = a * (1 - lambda + float64(lambda*clamp(factor, 1-r.ClipRange, 1+r.ClipRange)))
	}
	in.Advantage = r.scaled
	return nil
}

// lambda is the value of lambda at a training step.
func (r *RLSD) lambda(step int) float64 {
	switch after := step - r.Warmup; {
	case after < 0:
		return r.Lambda * float64(step) / float64(r.Warmup)
	case r.Decay > 0:
		return r.Lambda * max(1-float64(after)/float64(r.Decay), 0)
	}
	return r.Lambda
}

// AddLoss logs lambda.
func (r *RLSD) AddLoss(out *Grad, in *batch.Batch) error {
	out.Add("rlsd_lambda", r.lambda(in.Step))
	return nil
}

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

// AddLoss adds the term, and logs its gate and its value.
func (s *SDAR) AddLoss(out *Grad, in *batch.Batch) error {
	detached := out.detached(in)
	var sum, gates, open, gaps float64
	err := weighted(out, in, s.Aggregation, batch.Columns{batch.Logp, batch.LogpTeacher}, func(n int, w float64) {
		g := sigmoid(s.Beta * (in.Teacher.Logp[n] - detached[n]))
		gap := in.Teacher.Logp[n] - in.Now.Logp[n]
		sum += float64(w * g * gap)
		out.DLogp[n] -= float64(s.Coef * w * g)
		gates, open, gaps = gates+g, open+count(g > 0.5), gaps+gap
	})
	if err != nil {
		return err
	}
	tokens := max(float64(masked.Count(in.Active())), 1)
	out.Loss += float64(s.Coef * sum)
	out.Add("sdar/gate_mean", gates/tokens)
	out.Add("sdar/gate_active_ratio", open/tokens)
	out.Add("sdar/teacher_gap_mean", gaps/tokens)
	out.Add("sdar/loss", sum)
	out.Add("sdar/coef", s.Coef)
	return nil
}
