package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// GPG is the policy-gradient loss of Group Policy Gradient: no ratio, no clip.
//
// It goes with the advantage estimator gpg, and differs from Reinforce in its
// aggregation and in what it logs: nothing.
type GPG struct {
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var gpgSpec = method.Spec{
	Name: "gpg", Unit: method.Token,
	Does:     "Is the plain policy gradient, without ratio and clip.",
	When:     "Use it on-policy, together with the advantage gpg.",
	Source:   "arXiv:2504.02546; verl gpg",
	Formula:  "L = -w·A·logp",
	Gradient: "-w·A",
	Needs:    batch.Columns{batch.Advantage},
}

// Eval computes the loss over the active tokens.
func (p *GPG) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.Advantage)
	if err != nil {
		return err
	}
	f.eachToken(func(n int) (value, dlogp float64) {
		a := in.Advantage[n]
		return -a * in.Now.Logp[n], -a
	})
	return nil
}

func (*GPG) rule(r *rule) { r.term("-A·logp", "-A") }
