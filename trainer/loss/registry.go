package loss

import (
	"driftlab/trainer/batch"
	"driftlab/trainer/method"
)

// Registry holds every policy loss a recipe can name: one file each. To add
// one, write the file and add a line.
var Registry = method.Table[Loss]{
	{Spec: ppoClipSpec, New: func() Loss { return NewPPOClip() }},
}

// KLRegistry holds every KL term. Recipe syntax:
//
//	kl: {name: none}
//	kl: {name: k3, coef: 0.001, in: loss}
//	kl: {name: k1, coef: 0.001, in: reward, controller: {target: 0.1, horizon: 10000}}
var KLRegistry = append(append(method.Table[KL]{
	{Spec: noKLSpec, New: func() KL { return &NoKL{} }},
}, estimators()...), method.Table[KL]{
	{Spec: unbiasedKLSpec, New: func() KL { return NewUnbiasedKL() }},
	{Spec: exactKLSpec, New: func() KL { return NewExactKL() }},
}...)

var noKLSpec = method.Spec{
	Name: "none", Group: "kl", Unit: method.Token, Source: "no penalty, as in DAPO (2503.14476) and Dr. GRPO (2503.20783)",
	Formula: "K = 0", Gradient: "0", Example: ``,
}

// Evaluate computes a policy loss and adds a KL term.
func Evaluate(out *Grad, in *batch.Batch, l Loss, kl KL) error {
	if err := l.Eval(out, in); err != nil {
		return err
	}
	return kl.AddLoss(out, in)
}
