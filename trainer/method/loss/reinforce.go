package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// Reinforce is the plain policy gradient, with whatever importance weight the
// correction stage has put into Batch.Weight: with that of token, sequence or geometric
// corrections it is importance-weighted REINFORCE. Its default aggregation is that of
// verl's bypass mode with loss_type reinforce.
type Reinforce struct {
	// Anchor is the policy that actor/ppo_kl is measured against.
	Anchor Anchor `yaml:"anchor" default:"roll" oneof:"old roll"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation" default:"seq-mean-token-sum"`
}

var reinforceSpec = method.Spec{
	Name: "reinforce", Aliases: []string{"policy_gradient"}, Unit: method.Token,
	Does:     "Is the plain policy gradient, multiplied by the weights of the correction.",
	When:     "Use it to see the effect of a correction alone, without a clip.",
	Source:   "Williams (1992); verl reinforce and bypass mode, ROLL vanilla",
	Formula:  "L = -w·A·logp",
	Gradient: "-w·A",
	Needs:    batch.Columns{batch.Advantage}, Shows: batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Eval computes the loss over the active tokens.
func (p *Reinforce) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.Advantage, p.Anchor.Column())
	if err != nil {
		return err
	}
	f.eachToken(func(n int) (value, dlogp float64) {
		a := in.Advantage[n]
		return -a * in.Now.Logp[n], -a
	})
	f.addKL(p.Anchor.Of(in), 0)
	return nil
}

func (*Reinforce) rule(r *rule) { r.term("-A·logp", "-A") }
