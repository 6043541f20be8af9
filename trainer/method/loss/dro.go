package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// DRO is direct reward optimisation, the policy half: a policy gradient with a
// quadratic pull towards the old policy, both per token.
//
// verl uses the estimated advantage where the paper learns a value.
type DRO struct {
	// Beta is the strength of the pull, above 0.
	Beta float64 `yaml:"beta" default:"1" range:"(0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var droSpec = method.Spec{
	Name: "dro", Unit: method.Token,
	Does:     "Is a policy gradient with a quadratic penalty on each token's log-ratio to old.",
	When:     "Use it for off-policy data if a smooth penalty is preferred to clipping.",
	Source:   "arXiv:2405.19107; verl dro",
	Formula:  "L = -(A·logp - (β/2)·(logp-old)²)",
	Gradient: "-(A - β·(logp-old))",
	Needs:    batch.Columns{batch.Anchor, batch.Advantage},
}

// Eval computes the loss over the active tokens.
func (p *DRO) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.Anchor, batch.Advantage)
	if err != nil {
		return err
	}
	f.eachToken(func(n int) (value, dlogp float64) {
		a, lr := in.Advantage[n], in.Now.Logp[n]-in.Anchor[n]
		return -(float64(a*in.Now.Logp[n]) - float64(p.Beta/2*lr*lr)), -(a - float64(p.Beta*lr))
	})
	f.addKL(in.Anchor, 0)
	return nil
}

func (p *DRO) rule(r *rule) {
	r.Given("β", p.Beta)
	r.term("-(A·logp - β/2·(logp - old)²)", "-(A - β·(logp - old))")
}
