package correction

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// TRM is the trust-region mask: a response is admitted only if the rollout
// policy and the current one are close at every token of it, in exact KL over
// the vocabulary.
//
// It is recomputed at every gradient step. Rejected responses count as zeros in
// the denominators, which the paper's bound needs. A longer response has more
// chances to be rejected. Without recorded distributions, verl's seq_max_k2 and
// seq_max_k3 in bypass mode estimate the same criterion from sampled tokens.
type TRM struct {
	// Delta is the largest KL in nats. The paper's 1e-4 is an illustration; default 0.05,
	// as in the loss of that name.
	Delta float64 `yaml:"delta" default:"0.05" range:"[0,inf]"`
}

var trmSpec = method.Spec{
	Name: "trm", Unit: method.Sequence,
	Does:           "Drops responses in which the KL divergence from mu to new exceeds delta at any token: trust-region masking (TRM).",
	When:           "Use it if a limit on the worst token is needed and the rollout engine records whole distributions.",
	Source:         "arXiv 2512.23075 (read through two notes that quote it)",
	Formula:        "keep_i = 1[max_t KL(mu_t || pi_t) ≤ delta], over the whole vocabulary",
	Needs:          batch.Columns{batch.LogpRoll, batch.Logp, batch.DistRoll, batch.Dist},
	Reconstruction: "read as KL(behaviour || current), rejected responses kept as zeros in the denominators; sampled-token readings: seq_max_k2, seq_max_k3",
}

func (*TRM) atEveryStep() {}

// Reject clears responses with a token whose KL exceeds delta.
func (m *TRM) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.DistRoll, batch.Dist); err != nil {
		return err
	}
	v := in.Vocab
	for i := range in.Len() {
		from, to := in.Span(i)
		for n := from; n < to; n++ {
			if in.Mask[n] && !(klDivergence(in.DistRoll[n*v:(n+1)*v], in.Now.Dist[n*v:(n+1)*v]) <= m.Delta) {
				reject(keep, in, from, to)
				break
			}
		}
	}
	return nil
}

// klDivergence is KL(p||q) of two rows of log-probs; entries with p = 0 add nothing.
func klDivergence(logP, logQ []float32) float64 {
	kl := 0.0
	for a, lp := range logP {
		if p := elementary.Exp(float64(lp)); p > 0 {
			kl += float64(p * (float64(lp) - float64(logQ[a])))
		}
	}
	return kl
}

func (m *TRM) rule(in *Input) rule {
	v := in.Vocab
	kl := func(n int) float64 { return klDivergence(in.DistRoll[n*v:(n+1)*v], in.Now.Dist[n*v:(n+1)*v]) }
	return rule{lines: []trace.Line{trace.Given("δ", m.Delta), {Name: "KL", Value: kl}, trace.Formula("S", "most(KL)")}, keep: "not(above(S, δ))"}
}
