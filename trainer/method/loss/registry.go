package loss

import (
	"embed"

	"driftlab/trainer/method"
)

// texts are methods.txt: what each method does, when to use it, and its source; and examples.txt: worked examples, which a
// test recomputes (go test -run WorkedExamples -update writes them).
//
//go:embed examples.txt methods.txt
var texts embed.FS

// Registry has every policy loss a recipe can name, by name. To add one, write a
// file and add a line.
var Registry = method.Table[Loss]{
	{Spec: method.Spec{Name: "a2po"}, New: func() Loss { return NewA2PO() }},
	{Spec: method.Spec{Name: "a3po"}, New: func() Loss { return NewA3PO() }},
	{Spec: method.Spec{Name: "acr"}, New: func() Loss { return method.New[ACR]() }},
	{Spec: method.Spec{Name: "aipo"}, New: func() Loss { return method.New[AIPO]() }},
	{Spec: method.Spec{Name: "aspo"}, New: func() Loss { return method.New[ASPO]() }},
	{Spec: method.Spec{Name: "bapo"}, New: func() Loss { return method.New[BAPO]() }},
	{Spec: method.Spec{Name: "ce_gppo"}, New: func() Loss { return method.New[CEGPPO]() }},
	{Spec: method.Spec{Name: "cispo"}, New: func() Loss { return method.New[CISPO]() }},
	{Spec: method.Spec{Name: "clip_cov"}, New: func() Loss { return method.New[ClipCov]() }},
	{Spec: method.Spec{Name: "cross_entropy"}, New: func() Loss { return method.New[CrossEntropy]() }},
	{Spec: method.Spec{Name: "ctpo"}, New: func() Loss { return method.New[CTPO]() }},
	{Spec: method.Spec{Name: "decoupled_ppo"}, New: func() Loss { return method.New[DecoupledPPO]() }},
	{Spec: method.Spec{Name: "dispo"}, New: func() Loss { return method.New[DISPO]() }},
	{Spec: method.Spec{Name: "dppo_kl"}, New: func() Loss { return NewDPPOKL() }},
	{Spec: method.Spec{Name: "dppo_topk"}, New: func() Loss { return method.New[DPPOTopK]() }},
	{Spec: method.Spec{Name: "dppo_tv"}, New: func() Loss { return NewDPPOTV() }},
	{Spec: method.Spec{Name: "dro"}, New: func() Loss { return method.New[DRO]() }},
	{Spec: method.Spec{Name: "espo"}, New: func() Loss { return method.New[ESPO]() }},
	{Spec: method.Spec{Name: "fipo"}, New: func() Loss { return method.New[FIPO]() }},
	{Spec: method.Spec{Name: "flowrl"}, New: func() Loss { return method.New[FlowRL]() }},
	{Spec: method.Spec{Name: "gmpo"}, New: func() Loss { return method.New[GMPO]() }},
	{Spec: method.Spec{Name: "gpg"}, New: func() Loss { return method.New[GPG]() }},
	{Spec: method.Spec{Name: "gspo"}, New: func() Loss { return method.New[GSPO]() }},
	{Spec: method.Spec{Name: "gspo_token"}, New: func() Loss { return method.New[GSPOToken]() }},
	{Spec: method.Spec{Name: "gvpo"}, New: func() Loss { return method.New[GVPO]() }},
	{Spec: method.Spec{Name: "importance_sampling"}, New: func() Loss { return method.New[ImportanceSampling]() }},
	{Spec: method.Spec{Name: "ipo"}, New: func() Loss { return method.New[IPO]() }},
	{Spec: method.Spec{Name: "iw_opd"}, New: func() Loss { return method.New[IWOPD]() }},
	{Spec: method.Spec{Name: "kimi"}, New: func() Loss { return method.New[Kimi]() }},
	{Spec: method.Spec{Name: "kl_cov"}, New: func() Loss { return method.New[KLCov]() }},
	{Spec: method.Spec{Name: "logit_fusion"}, New: func() Loss { return method.New[LogitFusion]() }},
	{Spec: method.Spec{Name: "luspo"}, New: func() Loss { return method.New[LUSPO]() }},
	{Spec: method.Spec{Name: "m2_mask"}, New: func() Loss { return method.New[M2Mask]() }},
	{Spec: method.Spec{Name: "m2po"}, New: func() Loss { return method.New[M2PO]() }},
	{Spec: method.Spec{Name: "maxrl"}, New: func() Loss { return method.New[MaxRL]() }},
	{Spec: method.Spec{Name: "minpro"}, New: func() Loss { return method.New[MinPRO]() }},
	{Spec: method.Spec{Name: "mipu"}, New: func() Loss { return NewMIPU() }},
	{Spec: method.Spec{Name: "oapl"}, New: func() Loss { return method.New[OAPL]() }},
	{Spec: method.Spec{Name: "online_dpo"}, New: func() Loss { return method.New[OnlineDPO]() }},
	{Spec: method.Spec{Name: "ppo_clip"}, New: func() Loss { return method.New[PPOClip]() }},
	{Spec: method.Spec{Name: "ppo_mask"}, New: func() Loss { return NewPPOMask() }},
	{Spec: method.Spec{Name: "prime_dppo"}, New: func() Loss { return method.New[PrimeDPPO]() }},
	{Spec: method.Spec{Name: "prime_geo"}, New: func() Loss { return method.New[PrimeGeo]() }},
	{Spec: method.Spec{Name: "prime_masked"}, New: func() Loss { return method.New[PrimeMasked]() }},
	{Spec: method.Spec{Name: "quatro"}, New: func() Loss { return method.New[QUATRO]() }},
	{Spec: method.Spec{Name: "r2vpo"}, New: func() Loss { return method.New[R2VPO]() }},
	{Spec: method.Spec{Name: "real"}, New: func() Loss { return method.New[REAL]() }},
	{Spec: method.Spec{Name: "ref_kl"}, New: func() Loss { return method.New[RefKL]() }},
	{Spec: method.Spec{Name: "reinforce"}, New: func() Loss { return method.New[Reinforce]() }},
	{Spec: method.Spec{Name: "rollout_is"}, New: func() Loss { return method.New[RolloutIS]() }},
	{Spec: method.Spec{Name: "rspo"}, New: func() Loss { return method.New[RSPO]() }},
	{Spec: method.Spec{Name: "sao"}, New: func() Loss { return NewSAO() }},
	{Spec: method.Spec{Name: "sapo"}, New: func() Loss { return method.New[SAPO]() }},
	{Spec: method.Spec{Name: "sat"}, New: func() Loss { return method.New[SAT]() }},
	{Spec: method.Spec{Name: "score_centering"}, New: func() Loss { return method.New[ScoreCentering]() }},
	{Spec: method.Spec{Name: "st_ppo"}, New: func() Loss { return method.New[STPPO]() }},
	{Spec: method.Spec{Name: "tbpo"}, New: func() Loss { return method.New[TBPO]() }},
	{Spec: method.Spec{Name: "topr"}, New: func() Loss { return method.New[TOPR]() }},
	{Spec: method.Spec{Name: "trm"}, New: func() Loss { return method.New[TRM]() }},
	{Spec: method.Spec{Name: "vespo"}, New: func() Loss { return method.New[VESPO]() }},
}.Filled(method.Spec{Group: "loss"}, texts)

// KLRegistry has every KL term. Recipe syntax:
//
//	kl: {name: none}
//	kl: {name: k3, coef: 0.001, in: loss}
//	kl: {name: k1, coef: 0.001, in: reward, controller: {target: 0.1, horizon: 10000}}
var KLRegistry = method.Table[KL]{
	{Spec: method.Spec{Name: "none"}, New: func() KL { return &NoKL{} }},
	estimator(K1), estimator(Abs), estimator(K2), estimator(K3), estimator(K1Plus), estimator(K3Plus),
	method.Of[KL, UnbiasedKL]("k3_unbiased"),
	method.Of[KL, ExactKL]("exact"),
}.Filled(method.Spec{Group: "kl"}, texts)

// TermRegistry has what can be added to a policy loss, other than a KL term.
//
//	terms: [{name: entropy, coef: 0.001}, {name: top_entropy, share: 0.2}]
var TermRegistry = method.Table[Term]{
	{Spec: method.Spec{Name: "adaptive_entropy"}, New: func() Term { return NewAdaptiveEntropy() }},
	method.Of[Term, ALP]("alp"),
	method.Of[Term, DistillK2]("distill_k2"),
	method.Of[Term, Entropy]("entropy"),
	method.Of[Term, GKD]("gkd"),
	method.Of[Term, JSD]("jsd"),
	method.Of[Term, OPDTopK]("opd_topk"),
	method.Of[Term, PositiveNLL]("positive_nll"),
	method.Of[Term, RLSD]("rlsd"),
	method.Of[Term, SDAR]("sdar"),
	method.Of[Term, ShadowDistillation]("shadow_distillation"),
	method.Of[Term, TopEntropy]("top_entropy"),
}.Filled(method.Spec{Group: "loss"}, texts)
