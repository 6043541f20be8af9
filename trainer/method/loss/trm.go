package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// TRM admits a response to an importance-weighted loss only if the policies
// agree at every token: a trust region by masking.
//
// The bound of the paper is one of an average over all responses, so rejected
// ones count as zeros: the aggregation runs over the mask before this rejection.
// k2 and k3 are verl's seq_max modes in bypass. The criterion does not sum over
// tokens, yet a maximum over more of them rejects long responses more often.
type TRM struct {
	// Delta is the largest divergence of a token.
	Delta float64 `yaml:"delta" default:"0.05" range:"[0,inf]"`
	// Divergence is exact, k2 or k3.
	Divergence string `yaml:"divergence" default:"exact" oneof:"exact k2 k3"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var trmSpec = method.Spec{
	Name: "trm", Unit: method.Sequence,
	Does:     "Drops responses in which the KL divergence from mu to new exceeds delta at any token, and importance-weights the others.",
	When:     "Use it for trust-region masking (TRM) without a clip; the mask trm adds the same criterion to any loss.",
	Source:   "arXiv:2512.23075 (two notes that quote it)",
	Formula:  "L = -1[max_t KL(mu_t‖p_t) ≤ δ]·A·exp(logp-roll)",
	Gradient: "-A·exp(logp-roll) in admitted responses, else 0",
	Needs:    batch.Columns{batch.LogpRoll, batch.Advantage}, May: method.If("divergence exact", batch.DistRoll, batch.Dist),
	Reconstruction: "direction behaviour‖current, denominators over all responses; the paper gives 1e-4 only as an illustration, δ is ours",
}

// Eval computes the loss over the active tokens of admitted responses.
func (p *TRM) Eval(out *Grad, in *batch.Batch) error {
	from, to := batch.LogpRoll, batch.LogpRoll
	if p.Divergence == "exact" {
		from, to = batch.DistRoll, batch.Dist
	}
	f, err := start(out, in, p.Aggregation, batch.LogpRoll, batch.Advantage, from, to)
	if err != nil {
		return err
	}
	admitted := 0.0
	for i := range in.Len() {
		if p.largest(&f, i) > p.Delta {
			for n := range in.Where(i, f.active) {
				f.reject(n)
			}
			continue
		}
		admitted++
		f.rowTokens(i, func(n int) (value, dlogp float64) {
			r, dr := ratio(in.Now.Logp[n]-in.LogpRoll[n], 20)
			return live(in.Advantage[n], r, dr)
		})
	}
	out.Add("trm/admitted", admitted/max(float64(in.Len()), 1))
	f.addKL(in.LogpRoll, 20)
	return nil
}

func (p *TRM) rule(r *rule) {
	largest := r.ofResponse(func(i int) float64 { return p.largest(&r.frame, i) })
	r.Branch(trace.Case{Branch: trace.Dropped, If: func(n int) bool { return largest(n) > p.Delta },
		Lines: []trace.Line{{Name: "D", Value: largest}}, Value: "0", Slope: "0"})
	r.ratio("r", "logp - roll", 20)
	r.kept("-A·r", "-A·r")
}

// largest is the largest divergence of a token of response i, 0 if it has none.
func (p *TRM) largest(f *frame, i int) float64 {
	largest := 0.0
	for n := range f.in.Where(i, f.active) {
		d := 0.0
		switch p.Divergence {
		case "exact":
			at := n * f.in.Vocab
			d = klRow(nil, f.in.DistRoll[at:at+f.in.Vocab], f.in.Now.Dist[at:at+f.in.Vocab], 0)
		case "k2":
			d, _ = K2.At(f.sg[n]-f.in.LogpRoll[n], KLBounds{})
		case "k3": // of KL(mu‖π) from samples of mu: exp(l) - 1 - l
			d, _ = k3(clamp(f.sg[n]-f.in.LogpRoll[n], -20, 20), KLBounds{})
		}
		largest = max(largest, d)
	}
	return largest
}
