package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// PrimeDPPO is prime-rl's default loss: DPPO's binary total-variation mask, a
// ratio that stays in the graph, and a squared log-ratio on every token.
//
// Everything is measured against the rollout policy; the squared term covers
// dropped tokens too and has no factor 1/2. prime-rl does not clamp the
// log-ratio. Its scale is the number of valid tokens: token-mean.
type PrimeDPPO struct {
	// DeltaLow and DeltaHigh bound the change of probability.
	DeltaLow  float64 `yaml:"delta_low" default:"0.2" range:"[0,inf]"`
	DeltaHigh float64 `yaml:"delta_high" default:"0.2" range:"[0,inf]"`
	// AdvTau and KLTau weigh the two terms.
	AdvTau float64 `yaml:"adv_tau" default:"1" range:"[0,inf]"`
	KLTau  float64 `yaml:"kl_tau" default:"1e-3" range:"[0,inf]"`
	// LogClamp bounds the log-ratio inside the exponential; 0 is no bound.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var primeDPPOSpec = method.Spec{
	Name: "prime_dppo", Aliases: []string{"prime_default"}, Group: "loss", Unit: method.Token,
	Source:   "PrimeIntellect-ai/prime-rl default_loss_fn; arXiv:2602.04879",
	Formula:  "L = -keep·adv_tau·A·exp(l) + kl_tau·l², l = logp-roll; drop if A>0, p-q > δ_high or A≤0, p-q < -δ_low",
	Gradient: "-keep·adv_tau·A·exp(l) + 2·kl_tau·l",
	Needs:    batch.Columns{batch.LogpRoll, batch.Advantage},
	Example: onTwoResponses + `A = +1: d loss/d logp = -0.184162 -0.184162 -0.203500
A = -1: d loss/d logp = 0.184228 0.184228 0.203634; loss = 0.000020`,
}

// Eval computes the loss over the active tokens.
func (p *PrimeDPPO) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.LogpRoll, batch.Advantage)
	if err != nil {
		return err
	}
	var m mismatch
	for i := range in.Len() {
		f.rowTokens(i, func(n int) (value, dlogp float64) {
			a, d := in.Advantage[n], elementary.Exp(f.sg[n])-elementary.Exp(in.LogpRoll[n])
			high, low := a > 0 && d > p.DeltaHigh, a <= 0 && d < -p.DeltaLow
			l := in.Now.Logp[n] - in.LogpRoll[n]
			m.token(l, a, high || low, low, high)
			return f.ratioPlusSquare(n, a*p.AdvTau, p.KLTau, p.LogClamp, high || low)
		})
		m.endRow()
	}
	m.logRows(&f, f.rows(in.Weight != nil))
	return nil
}

// ratioPlusSquare is -a·exp(l), unless dropped, plus tau·l², l the log-ratio to the
// rollout policy.
func (f *frame) ratioPlusSquare(n int, a, tau, limit float64, drop bool) (value, dlogp float64) {
	l := f.in.Now.Logp[n] - f.in.LogpRoll[n]
	f.note(n, "l", "logp - roll", l)
	f.note(n, "τ", "", tau)
	f.took(n, trace.PenaltyOnly, "τ·l²", "2·τ·l")
	value, dlogp = float64(tau*l*l), float64(2*tau*l)
	if !drop {
		r, dr := f.ratio(n, "r", "l", l, limit)
		f.note(n, "a", "", a)
		if dr == 0 {
			f.took(n, trace.PenaltyOnly, "-a·r + τ·l²", "2·τ·l")
		} else {
			f.took(n, trace.Kept, "-a·r + τ·l²", "-a·r + 2·τ·l")
		}
		value -= float64(a * r)
		dlogp -= float64(a * dr)
	}
	return value, dlogp
}
