package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// ExactKL is KL(π‖ref) over the whole vocabulary at every sampled state. It
// has no sampling error; a simulator can afford it.
//
// Its gradient reaches the logits directly (Grad.DLogits), not through the
// sampled token. The states are those of the sample: no importance weight
// corrects their distribution.
type ExactKL struct {
	// Coef is the coefficient.
	Coef float64 `yaml:"coef" default:"0.001" range:"[0,inf]"`
	// In is loss or reward.
	In Place `yaml:"in" default:"loss" oneof:"loss reward"`
	// Aggregation of the term in the loss.
	Aggregation Aggregation `yaml:"aggregation"`
}

var exactKLSpec = method.Spec{
	Name: "exact", Aliases: []string{"full"}, Unit: method.Token,
	Does:     "Computes the KL divergence to the reference over the whole vocabulary at every sampled state.",
	When:     "Use it as the control without sampling error; large vocabularies make it expensive.",
	Source:   "the definition; verl reserves the name full and raises NotImplementedError",
	Formula:  "K_n = Σ_a p(a)·(log p(a) - log p_ref(a))",
	Gradient: "d K_n/d logit_a = p(a)·(log p(a) - log p_ref(a) - K_n)",
	Needs:    batch.Columns{batch.Dist, batch.DistRef}, May: method.If("in reward", batch.DistOld),
}

// Coefficient is the coefficient.
func (k *ExactKL) Coefficient() float64 { return k.Coef }

// AddLoss adds the term, if it belongs into the loss.
func (k *ExactKL) AddLoss(out *Grad, in *batch.Batch) error {
	if k.In != InLoss {
		return nil
	}
	if err := in.Require(batch.Mask, batch.Dist, batch.DistRef); err != nil {
		return err
	}
	sum, err := addFullKL(out, in, in.Ref.Dist, k.Aggregation, k.Coef)
	if err != nil {
		return err
	}
	out.Add("actor/kl_loss", sum)
	out.Add("actor/kl_coef", k.Coef)
	return nil
}

// AddReward subtracts the term, if it belongs into the reward.
func (k *ExactKL) AddReward(in *batch.Batch) (float64, error) {
	if k.In != InReward {
		return 0, nil
	}
	if err := in.Require(batch.Mask, batch.DistOld, batch.DistRef); err != nil {
		return 0, err
	}
	return penalise(in, k.Coef, func(n int) float64 {
		at := n * in.Vocab
		return klRow(nil, in.Old.Dist[at:at+in.Vocab], in.Ref.Dist[at:at+in.Vocab], 0)
	})
}

// klRow returns KL(p‖q) of two rows of log-probs and adds scale times its
// derivative with respect to p's logits to dlogits, if that is not nil.
func klRow[F ~float32 | ~float64](dlogits []float64, logp, logq []F, scale float64) float64 {
	kl := 0.0
	for a, lp := range logp {
		if p := elementary.Exp(float64(lp)); p > 0 {
			kl += float64(p * (float64(lp) - float64(logq[a])))
		}
	}
	if dlogits == nil {
		return kl
	}
	for a, lp := range logp {
		if p := elementary.Exp(float64(lp)); p > 0 {
			dlogits[a] += float64(scale * p * (float64(lp) - float64(logq[a]) - kl))
		}
	}
	return kl
}

// addFullKL adds coef times the exact KL of the current distributions from
// others, aggregated over the tokens, and its gradient with respect to the
// logits. It returns the KL itself.
func addFullKL(out *Grad, in *batch.Batch, from []float32, a Aggregation, coef float64) (sum float64, err error) {
	out.NeedLogits(in.Tokens(), in.Vocab)
	rows := out.work(0, in.Len())
	if err := a.RowWeights(rows, in, &out.groups); err != nil {
		return 0, err
	}
	active := in.Active()
	for i, w := range rows {
		for n := range in.Where(i, active) {
			at := n * in.Vocab
			sum += float64(w * klRow(out.DLogits[at:at+in.Vocab], in.Now.Dist[at:at+in.Vocab], from[at:at+in.Vocab], coef*w))
		}
	}
	out.Loss += float64(coef * sum)
	return sum, nil
}
