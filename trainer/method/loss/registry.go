package loss

import "driftlab/trainer/method"

// onTwoResponses is what the worked example of a loss begins with.
const onTwoResponses = "logp -0.5 -1.2 -2.0, old -0.7 -1.0 -2.5, roll -0.6 -1.3 -2.2; the same response with A = +1, R = 1 and with A = -1, R = 0\n"

// Registry holds every policy loss a recipe can name, by name: one file each.
// To add one, write the file and add a line.
var Registry = method.Table[Loss]{
	{Spec: a2poSpec, New: func() Loss { return NewA2PO() }},
	{Spec: a3poSpec, New: func() Loss { return NewA3PO() }},
	{Spec: acrSpec, New: func() Loss { return NewACR() }},
	{Spec: aipoSpec, New: func() Loss { return NewAIPO() }},
	{Spec: aspoSpec, New: func() Loss { return NewASPO() }},
	{Spec: cispoSpec, New: func() Loss { return NewCISPO() }},
	{Spec: clipCovSpec, New: func() Loss { return NewClipCov() }},
	{Spec: crossEntropySpec, New: func() Loss { return NewCrossEntropy() }},
	{Spec: ctpoSpec, New: func() Loss { return NewCTPO() }},
	{Spec: decoupledPPOSpec, New: func() Loss { return NewDecoupledPPO() }},
	{Spec: dispoSpec, New: func() Loss { return NewDISPO() }},
	{Spec: dppoKLSpec, New: func() Loss { return NewDPPOKL() }},
	{Spec: dppoTopKSpec, New: func() Loss { return NewDPPOTopK() }},
	{Spec: dppoTVSpec, New: func() Loss { return NewDPPOTV() }},
	{Spec: droSpec, New: func() Loss { return NewDRO() }},
	{Spec: espoSpec, New: func() Loss { return NewESPO() }},
	{Spec: gmpoSpec, New: func() Loss { return NewGMPO() }},
	{Spec: gpgSpec, New: func() Loss { return NewGPG() }},
	{Spec: gspoSpec, New: func() Loss { return NewGSPO() }},
	{Spec: gspoTokenSpec, New: func() Loss { return NewGSPOToken() }},
	{Spec: importanceSamplingSpec, New: func() Loss { return NewImportanceSampling() }},
	{Spec: ipoSpec, New: func() Loss { return NewIPO() }},
	{Spec: kimiSpec, New: func() Loss { return NewKimi() }},
	{Spec: klCovSpec, New: func() Loss { return NewKLCov() }},
	{Spec: logitFusionSpec, New: func() Loss { return NewLogitFusion() }},
	{Spec: luspoSpec, New: func() Loss { return NewLUSPO() }},
	{Spec: m2MaskSpec, New: func() Loss { return NewM2Mask() }},
	{Spec: m2poSpec, New: func() Loss { return NewM2PO() }},
	{Spec: maxRLSpec, New: func() Loss { return NewMaxRL() }},
	{Spec: minPROSpec, New: func() Loss { return NewMinPRO() }},
	{Spec: oaplSpec, New: func() Loss { return NewOAPL() }},
	{Spec: onlineDPOSpec, New: func() Loss { return NewOnlineDPO() }},
	{Spec: ppoClipSpec, New: func() Loss { return NewPPOClip() }},
	{Spec: ppoMaskSpec, New: func() Loss { return NewPPOMask() }},
	{Spec: primeDPPOSpec, New: func() Loss { return NewPrimeDPPO() }},
	{Spec: primeGeoSpec, New: func() Loss { return NewPrimeGeo() }},
	{Spec: primeMaskedSpec, New: func() Loss { return NewPrimeMasked() }},
	{Spec: quatroSpec, New: func() Loss { return NewQUATRO() }},
	{Spec: r2vpoSpec, New: func() Loss { return NewR2VPO() }},
	{Spec: refKLSpec, New: func() Loss { return NewRefKL() }},
	{Spec: reinforceSpec, New: func() Loss { return NewReinforce() }},
	{Spec: rolloutISSpec, New: func() Loss { return NewRolloutIS() }},
	{Spec: sapoSpec, New: func() Loss { return NewSAPO() }},
	{Spec: stPPOSpec, New: func() Loss { return NewSTPPO() }},
	{Spec: tbpoSpec, New: func() Loss { return NewTBPO() }},
	{Spec: toprSpec, New: func() Loss { return NewTOPR() }},
	{Spec: trmSpec, New: func() Loss { return NewTRM() }},
	{Spec: vespoSpec, New: func() Loss { return NewVESPO() }},
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
	Formula: "K = 0", Gradient: "0", Example: `logp -0.5 -1.2 -2.0, ref -0.9 -0.8 -2.1, roll -0.6 -1.3 -2.2; coefficient 1, token-mean
loss = 0.000000
d loss/d logp = 0.000000 0.000000 0.000000`,
}

// TermRegistry holds what can be added to a policy loss besides a KL term.
//
//	terms: [{name: entropy, coef: 0.001}, {name: top_entropy, share: 0.2}]
var TermRegistry = method.Table[Term]{
	{Spec: alpSpec, New: func() Term { return NewALP() }},
	{Spec: distillK2Spec, New: func() Term { return NewDistillK2() }},
	{Spec: entropySpec, New: func() Term { return NewEntropy() }},
	{Spec: gkdSpec, New: func() Term { return NewGKD() }},
	{Spec: shadowDistillationSpec, New: func() Term { return NewShadowDistillation() }},
	{Spec: topEntropySpec, New: func() Term { return NewTopEntropy() }},
}
