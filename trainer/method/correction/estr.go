package correction

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// ESTR is the entropy-scaled trust region: the log-ratio of the policy to mu that a
// token may have grows with the root of the entropy of mu at that place.
//
// Dropped tokens stay in the denominators. The paper multiplies it with PPO's clip of
// policy over mu: that is mode bypass with the loss ppo_clip. A distribution without
// entropy leaves a band of √(τ·ε).
type ESTR struct {
	// Tau is the bound of the score. No value was found in the source; the default is
	// ours: PPO's 0.2 at an entropy of 1 nat.
	Tau float64 `yaml:"tau" default:"0.04" range:"(0,inf]"`
	// Epsilon is added to the entropy (nats).
	Epsilon float64 `yaml:"epsilon" default:"0.01" range:"(0,inf)"`
}

var estrSpec = method.Spec{
	Name: "estr", Aliases: []string{"entropy_scaled_trust_region"}, Unit: method.Token,
	Does:    "Drops tokens whose squared log-ratio of the policy to mu is large relative to the entropy of mu.",
	When:    "Use it if a fixed band rejects too many tokens where mu is uncertain and too few where it is certain.",
	Source:  "arXiv 2607.22186 (two notes that quote the formula; no code was found)",
	Formula: "keep = 1[(logp − roll)² ≤ τ·(H + ε)], H = −Σ_a mu(a)·log mu(a)",
	Needs:   batch.Columns{batch.LogpRoll, batch.Logp, batch.DistRoll},
}

func (*ESTR) atEveryStep() {}

// Reject clears the tokens outside the band.
func (m *ESTR) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.LogpRoll, batch.Logp, batch.DistRoll); err != nil {
		return err
	}
	for n, counts := range in.Mask {
		if d := in.Now.Logp[n] - in.LogpRoll[n]; counts && !(d*d <= m.Tau*(in.entropy(n)+m.Epsilon)) {
			keep[n] = false
		}
	}
	return nil
}

// entropy is that of mu where token n was sampled.
func (in *Input) entropy(n int) float64 {
	h := 0.0
	for _, logp := range in.DistRoll[n*in.Vocab : (n+1)*in.Vocab] {
		if p := elementary.Exp(float64(logp)); p > 0 {
			h -= float64(p * float64(logp))
		}
	}
	return h
}

func (m *ESTR) rule(in *Input) rule {
	return rule{lines: []trace.Line{trace.Given("τ", m.Tau), trace.Given("ε", m.Epsilon),
		{Name: "d", Value: func(n int) float64 { return in.Now.Logp[n] - in.LogpRoll[n] }},
		{Name: "H", Value: in.entropy},
		trace.Formula("band", "τ·(H + ε)")}, keep: "not(above(d², band))"}
}
