package loss

import (
	_ "embed"
	"slices"

	"driftlab/trainer/method"
)

// examples are the worked examples of the specs. A test recomputes them;
// go test -run WorkedExamples -update writes them.
//
//go:embed examples.txt
var examples string

// about is the text of the methods: what each does, when to use it, and its source.
//
//go:embed methods.txt
var about string

// onTwoResponses is what the worked example of a loss begins with.
const onTwoResponses = "logp -0.5 -1.2 -2.0, old -0.7 -1.0 -2.5, roll -0.6 -1.3 -2.2; the same response with A = +1, R = 1 and with A = -1, R = 0\n"

// Registry has every policy loss a recipe can name, by name: one file each.
// To add one, write the file and add a line.
var Registry = method.Table[Loss]{
	{Spec: a2poSpec, New: func() Loss { return NewA2PO() }},
	{Spec: a3poSpec, New: func() Loss { return NewA3PO() }},
	{Spec: acrSpec, New: func() Loss { return method.New[ACR]() }},
	{Spec: aipoSpec, New: func() Loss { return method.New[AIPO]() }},
	{Spec: aspoSpec, New: func() Loss { return method.New[ASPO]() }},
	{Spec: bapoSpec, New: func() Loss { return method.New[BAPO]() }},
	{Spec: ceGPPOSpec, New: func() Loss { return method.New[CEGPPO]() }},
	{Spec: cispoSpec, New: func() Loss { return method.New[CISPO]() }},
	{Spec: clipCovSpec, New: func() Loss { return method.New[ClipCov]() }},
	{Spec: crossEntropySpec, New: func() Loss { return method.New[CrossEntropy]() }},
	{Spec: ctpoSpec, New: func() Loss { return method.New[CTPO]() }},
	{Spec: decoupledPPOSpec, New: func() Loss { return method.New[DecoupledPPO]() }},
	{Spec: dispoSpec, New: func() Loss { return method.New[DISPO]() }},
	{Spec: dppoKLSpec, New: func() Loss { return NewDPPOKL() }},
	{Spec: dppoTopKSpec, New: func() Loss { return method.New[DPPOTopK]() }},
	{Spec: dppoTVSpec, New: func() Loss { return NewDPPOTV() }},
	{Spec: droSpec, New: func() Loss { return method.New[DRO]() }},
	{Spec: espoSpec, New: func() Loss { return method.New[ESPO]() }},
	{Spec: fipoSpec, New: func() Loss { return method.New[FIPO]() }},
	{Spec: flowRLSpec, New: func() Loss { return method.New[FlowRL]() }},
	{Spec: gmpoSpec, New: func() Loss { return method.New[GMPO]() }},
	{Spec: gpgSpec, New: func() Loss { return method.New[GPG]() }},
	{Spec: gspoSpec, New: func() Loss { return method.New[GSPO]() }},
	{Spec: gspoTokenSpec, New: func() Loss { return method.New[GSPOToken]() }},
	{Spec: gvpoSpec, New: func() Loss { return method.New[GVPO]() }},
	{Spec: importanceSamplingSpec, New: func() Loss { return method.New[ImportanceSampling]() }},
	{Spec: ipoSpec, New: func() Loss { return method.New[IPO]() }},
	{Spec: iwOPDSpec, New: func() Loss { return method.New[IWOPD]() }},
	{Spec: kimiSpec, New: func() Loss { return method.New[Kimi]() }},
	{Spec: klCovSpec, New: func() Loss { return method.New[KLCov]() }},
	{Spec: logitFusionSpec, New: func() Loss { return method.New[LogitFusion]() }},
	{Spec: luspoSpec, New: func() Loss { return method.New[LUSPO]() }},
	{Spec: m2MaskSpec, New: func() Loss { return method.New[M2Mask]() }},
	{Spec: m2poSpec, New: func() Loss { return method.New[M2PO]() }},
	{Spec: maxRLSpec, New: func() Loss { return method.New[MaxRL]() }},
	{Spec: minPROSpec, New: func() Loss { return method.New[MinPRO]() }},
	{Spec: oaplSpec, New: func() Loss { return method.New[OAPL]() }},
	{Spec: onlineDPOSpec, New: func() Loss { return method.New[OnlineDPO]() }},
	{Spec: ppoClipSpec, New: func() Loss { return method.New[PPOClip]() }},
	{Spec: ppoMaskSpec, New: func() Loss { return NewPPOMask() }},
	{Spec: primeDPPOSpec, New: func() Loss { return method.New[PrimeDPPO]() }},
	{Spec: primeGeoSpec, New: func() Loss { return method.New[PrimeGeo]() }},
	{Spec: primeMaskedSpec, New: func() Loss { return method.New[PrimeMasked]() }},
	{Spec: quatroSpec, New: func() Loss { return method.New[QUATRO]() }},
	{Spec: r2vpoSpec, New: func() Loss { return method.New[R2VPO]() }},
	{Spec: realSpec, New: func() Loss { return method.New[REAL]() }},
	{Spec: refKLSpec, New: func() Loss { return method.New[RefKL]() }},
	{Spec: reinforceSpec, New: func() Loss { return method.New[Reinforce]() }},
	{Spec: rolloutISSpec, New: func() Loss { return method.New[RolloutIS]() }},
	{Spec: rspoSpec, New: func() Loss { return method.New[RSPO]() }},
	{Spec: saoSpec, New: func() Loss { return NewSAO() }},
	{Spec: sapoSpec, New: func() Loss { return method.New[SAPO]() }},
	{Spec: satSpec, New: func() Loss { return method.New[SAT]() }},
	{Spec: scoreCenteringSpec, New: func() Loss { return method.New[ScoreCentering]() }},
	{Spec: centeredIPOSpec, New: func() Loss { return method.New[CenteredIPO]() }},
	{Spec: centeredPPOSpec, New: func() Loss { return method.New[CenteredPPO]() }},
	{Spec: stPPOSpec, New: func() Loss { return method.New[STPPO]() }},
	{Spec: tbpoSpec, New: func() Loss { return method.New[TBPO]() }},
	{Spec: toprSpec, New: func() Loss { return method.New[TOPR]() }},
	{Spec: trmSpec, New: func() Loss { return method.New[TRM]() }},
	{Spec: vespoSpec, New: func() Loss { return method.New[VESPO]() }},
}.Filled(method.Spec{Group: "loss"}, examples, about)

// KLRegistry has every KL term. Recipe syntax:
//
//	kl: {name: none}
//	kl: {name: k3, coef: 0.001, in: loss}
//	kl: {name: k1, coef: 0.001, in: reward, controller: {target: 0.1, horizon: 10000}}
var KLRegistry = slices.Concat(method.Table[KL]{
	{Spec: noKLSpec, New: func() KL { return &NoKL{} }},
}, estimators(), method.Table[KL]{
	{Spec: unbiasedKLSpec, New: func() KL { return method.New[UnbiasedKL]() }},
	{Spec: exactKLSpec, New: func() KL { return method.New[ExactKL]() }},
}).Filled(method.Spec{Group: "kl"}, examples, about)

var noKLSpec = method.Spec{
	Name: "none", Unit: method.Token,
	Formula: "K = 0", Gradient: "0",
}

// TermRegistry has what can be added to a policy loss, other than a KL term.
//
//	terms: [{name: entropy, coef: 0.001}, {name: top_entropy, share: 0.2}]
var TermRegistry = method.Table[Term]{
	{Spec: adaptiveEntropySpec, New: func() Term { return NewAdaptiveEntropy() }},
	{Spec: alpSpec, New: func() Term { return method.New[ALP]() }},
	{Spec: distillK2Spec, New: func() Term { return method.New[DistillK2]() }},
	{Spec: entropySpec, New: func() Term { return method.New[Entropy]() }},
	{Spec: gkdSpec, New: func() Term { return method.New[GKD]() }},
	{Spec: jsdSpec, New: func() Term { return method.New[JSD]() }},
	{Spec: opdTopKSpec, New: func() Term { return method.New[OPDTopK]() }},
	{Spec: positiveNLLSpec, New: func() Term { return method.New[PositiveNLL]() }},
	{Spec: rlsdSpec, New: func() Term { return method.New[RLSD]() }},
	{Spec: sdarSpec, New: func() Term { return method.New[SDAR]() }},
	{Spec: shadowDistillationSpec, New: func() Term { return method.New[ShadowDistillation]() }},
	{Spec: topEntropySpec, New: func() Term { return method.New[TopEntropy]() }},
}.Filled(method.Spec{Group: "loss"}, examples, about)
