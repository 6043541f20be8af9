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
	Name: "prime_dppo", Aliases: []string{"prime_default"}, Unit: method.Token,
	Does:     "Masks tokens whose probability would move out of a bound on total variation, and adds a squared log-ratio to the rollout.",
	When:     "Use it for stale rollouts in place of a ratio clip; it is the default loss of prime-rl.",
	Source:   "PrimeIntellect-ai/prime-rl default_loss_fn; arXiv:2602.04879",
	Formula:  "L = -keep·adv_tau·A·exp(l) + kl_tau·l², l = logp-roll; drop if A>0, p-q > δ_high or A≤0, p-q < -δ_low",
	Gradient: "-keep·adv_tau·A·exp(l) + 2·kl_tau·l",
	Needs:    batch.Columns{batch.LogpRoll, batch.Advantage},
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
			a, l := in.Advantage[n], in.Now.Logp[n]-in.LogpRoll[n]
			low, high := p.beyond(&f, n)
			m.token(l, a, high || low, low, high)
			return ratioPlusSquare(l, a*p.AdvTau, p.KLTau, p.LogClamp, high || low)
		})
		m.endRow()
	}
	m.logRows(&f, f.rows(in.Weight != nil))
	return nil
}

// beyond reports whether the probability of token n has moved beyond either bound, the way
// its advantage pushes it.
func (p *PrimeDPPO) beyond(f *frame, n int) (low, high bool) {
	a, d := f.in.Advantage[n], elementary.Exp(f.sg[n])-elementary.Exp(f.in.LogpRoll[n])
	return a <= 0 && d < -p.DeltaLow, a > 0 && d > p.DeltaHigh
}

func (p *PrimeDPPO) rule(r *rule) {
	r.ratioPlusSquare(func(n int) float64 { return r.in.Advantage[n] * p.AdvTau }, p.KLTau, p.LogClamp,
		func(n int) bool { low, high := p.beyond(&r.frame, n); return low || high })
}

// ratioPlusSquare is -a·exp(l), unless dropped, plus tau·l², l the log-ratio to the
// rollout policy.
func ratioPlusSquare(l, a, tau, limit float64, drop bool) (value, dlogp float64) {
	value, dlogp = float64(tau*l*l), float64(2*tau*l)
	if !drop {
		r, dr := ratio(l, limit)
		value -= float64(a * r)
		dlogp -= float64(a * dr)
	}
	return value, dlogp
}

func (r *rule) ratioPlusSquare(a func(n int) float64, tau, limit float64, drop func(n int) bool) {
	r.Formula("l", "logp - roll")
	r.Given("τ", tau)
	r.Branch(trace.Case{Branch: trace.PenaltyOnly, If: drop, Value: "τ·l²", Slope: "2·τ·l"})
	r.ratio("r", "l", limit)
	r.Figure("a", a)
	if r.clamped != "" {
		r.Branch(trace.Case{Branch: trace.PenaltyOnly, When: r.clamped, Value: "-a·r + τ·l²", Slope: "2·τ·l"})
	}
	r.term("-a·r + τ·l²", "-a·r + 2·τ·l")
}
