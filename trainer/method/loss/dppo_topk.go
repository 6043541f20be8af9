package loss

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// DPPOTopK is DPPO with the divergence of the K likeliest tokens and a bucket
// for the rest, in place of {token, rest}.
//
// q is the rollout policy, p the current one. The buckets are the K largest of q and the
// sampled token, each alone, and the rest; outwards is p > q with A > 0, p < q with A ≤ 0.
type DPPOTopK struct {
	// K is the number of tokens kept apart.
	K int `yaml:"k" default:"20" range:"[1,inf]"`
	// Divergence is kl, Σ q·log(q/p), or tv, (1/2)·Σ |p - q|.
	Divergence string `yaml:"divergence" default:"kl" oneof:"kl tv"`
	// DeltaLow and DeltaHigh are δ for A ≤ 0 and A > 0.
	DeltaLow  float64 `yaml:"delta_low" default:"0.05" range:"[0,inf]"`
	DeltaHigh float64 `yaml:"delta_high" default:"0.05" range:"[0,inf]"`
	// Cap is c; 0 is none.
	Cap float64 `yaml:"cap" default:"20" range:"0=none|[1,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var dppoTopKSpec = method.Spec{
	Name: "dppo_topk", Aliases: []string{"dppo_topk_kl"}, Unit: method.Token,
	Does:     "Is DPPO with the divergence over the k likeliest tokens and a bucket for the rest of the vocabulary.",
	When:     "Use it if the trust region should also see shifts among tokens that were not sampled.",
	Source:   dppoSource + " (top-K)",
	Formula:  "L = -sg[min(r,c)]·V·A·logp; V = 0 iff D_topK(q,p) > δ and the token moves outwards",
	Gradient: "-min(r,c)·V·A",
	Needs:    batch.Columns{batch.LogpRoll, batch.Advantage, batch.DistRoll, batch.Dist, batch.Token},
}

// Eval computes the loss over the active tokens.
func (p *DPPOTopK) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.LogpRoll, batch.Advantage, batch.DistRoll, batch.Dist, batch.Token)
	if err != nil {
		return err
	}
	masked := 0.0
	taken := out.work(1, in.Vocab)
	f.eachToken(func(n int) (value, dlogp float64) {
		if p.leaves(in, n, taken) {
			masked++
			return 0, 0
		}
		r, _ := ratio(f.sg[n]-in.LogpRoll[n], 20)
		w, _ := capped(r, p.Cap)
		return detached(w, in.Advantage[n], in.Now.Logp[n])
	})
	out.Add("actor/pg_clipfrac", f.mean(masked))
	f.addKL(in.LogpRoll, 20)
	return nil
}

func (p *DPPOTopK) rule(r *rule) {
	taken := make([]float64, r.in.Vocab)
	r.drop(func(n int) bool { return p.leaves(r.in, n, taken) })
	r.ratio("r", "logp - roll", 20)
	r.capped(p.Cap)
}

// leaves reports whether token n moves outwards, beyond δ. taken is memory for the vocabulary.
func (p *DPPOTopK) leaves(in *batch.Batch, n int, taken []float64) bool {
	token, at := in.Token[n], n*in.Vocab
	q, cur := in.DistRoll[at:at+in.Vocab], in.Now.Dist[at:at+in.Vocab]
	outwards, delta := cur[token] > q[token], p.DeltaHigh
	if in.Advantage[n] <= 0 {
		outwards, delta = cur[token] < q[token], p.DeltaLow
	}
	return outwards && p.distance(taken, q, cur, int(token)) > delta
}

// distance is the divergence of the buckets of two rows of log-probs.
func (p *DPPOTopK) distance(taken []float64, logq, logp []float32, sampled int) float64 {
	clear(taken)
	restQ, restP, d := 1.0, 1.0, 0.0
	add := func(q, pr float64) {
		if p.Divergence == "tv" {
			d += float64(math.Abs(pr-q) / 2)
		} else if q > 0 {
			d += float64(q * elementary.Log((q+1e-8)/(pr+1e-8)))
		}
	}
	token := sampled
	for range min(p.K+1, len(logq)) { // the sampled token, then the largest ones left
		taken[token] = 1
		q, pr := elementary.Exp(float64(logq[token])), elementary.Exp(float64(logp[token]))
		restQ, restP = restQ-q, restP-pr
		add(q, pr)
		token = -1
		for a := range logq {
			if taken[a] == 0 && (token < 0 || logq[a] > logq[token]) {
				token = a
			}
		}
		if token < 0 {
			break
		}
	}
	add(max(restQ, 0), max(restP, 0))
	return d
}
