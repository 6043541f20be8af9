package loss

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// IPO is prime-rl's symmetric variant: a token is dropped when its probability
// has moved too far, whichever way and whatever the advantage.
//
// Otherwise as PrimeDPPO.
type IPO struct {
	// Delta is the largest change of probability.
	Delta float64 `yaml:"delta" default:"0.1" range:"[0,inf]"`
	// AdvTau and KLTau weigh the two terms.
	AdvTau float64 `yaml:"adv_tau" default:"1" range:"[0,inf]"`
	KLTau  float64 `yaml:"kl_tau" default:"1e-3" range:"[0,inf]"`
	// LogClamp bounds the log-ratio inside the exponential; 0 is no bound.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var ipoSpec = method.Spec{
	Name: "ipo", Unit: method.Token,
	Does:     "Drops tokens whose probability differs from the rollout's by more than delta in either direction, and adds a squared log-ratio.",
	When:     "Use it with prime-rl's settings if the mask should not depend on the sign of the advantage.",
	Source:   "PrimeIntellect-ai/prime-rl ipo_loss_fn",
	Formula:  "L = -1[|p-q| ≤ δ]·adv_tau·A·exp(l) + kl_tau·l², l = logp-roll",
	Gradient: "-1[|p-q| ≤ δ]·adv_tau·A·exp(l) + 2·kl_tau·l",
	Needs:    batch.Columns{batch.LogpRoll, batch.Advantage},
}

// Eval computes the loss over the active tokens.
func (p *IPO) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.LogpRoll, batch.Advantage)
	if err != nil {
		return err
	}
	var m mismatch
	for i := range in.Len() {
		f.rowTokens(i, func(n int) (value, dlogp float64) {
			a, l := in.Advantage[n], in.Now.Logp[n]-in.LogpRoll[n]
			drop := p.drops(&f, n)
			m.token(l, a, drop, false, false)
			return ratioPlusSquare(l, a*p.AdvTau, p.KLTau, p.LogClamp, drop)
		})
		m.endRow()
	}
	m.logRows(&f, f.rows(in.Weight != nil))
	return nil
}

// drops reports whether the probability of token n has moved too far.
func (p *IPO) drops(f *frame, n int) bool {
	return math.Abs(elementary.Exp(f.sg[n])-elementary.Exp(f.in.LogpRoll[n])) > p.Delta
}

func (p *IPO) rule(r *rule) {
	r.ratioPlusSquare(func(n int) float64 { return r.in.Advantage[n] * p.AdvTau }, p.KLTau, p.LogClamp,
		func(n int) bool { return p.drops(&r.frame, n) })
}
