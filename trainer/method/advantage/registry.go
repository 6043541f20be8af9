package advantage

import (
	_ "embed"

	"driftlab/trainer/method"
)

// examples are the worked examples of the specs: input, parameters, result; a bar
// separates responses. A test recomputes them; go test -run WorkedExamples -update
// writes them.
//
//go:embed examples.txt
var examples string

// Registry lists the estimators a recipe can name under advantage.
var Registry = method.Table[Estimator]{
	{Spec: grpoSpec, New: func() Estimator { return method.New[GRPO]() }},
	{Spec: grpoPasskSpec, New: func() Estimator { return method.New[GRPOPassK]() }},
	{Spec: rlooSpec, New: func() Estimator { return method.New[RLOO]() }},
	{Spec: reinforceSpec, New: func() Estimator { return method.New[Reinforce]() }},
	{Spec: reinforcePlusPlusSpec, New: func() Estimator {
		e := method.New[Reinforce]()
		e.Whiten = true
		return e
	}},
	{Spec: reinforcePlusPlusBaselineSpec, New: func() Estimator { return method.New[ReinforceBaseline]() }},
	{Spec: remaxSpec, New: func() Estimator { return method.New[ReMax]() }},
	{Spec: opoSpec, New: func() Estimator { return method.New[OPO]() }},
	{Spec: gpgSpec, New: func() Estimator { return method.New[GPG]() }},
	{Spec: maxrlSpec, New: func() Estimator { return method.New[MaxRL]() }},
	{Spec: primeMaxRLSpec, New: func() Estimator {
		e := method.New[MaxRL]()
		e.zeroes, e.Eps = true, 0
		return e
	}},
	{Spec: spoSpec, New: func() Estimator { return method.New[SPO]() }},
	{Spec: raeSpec, New: func() Estimator { return method.New[RAE]() }},
	{Spec: gigpoSpec, New: func() Estimator { return method.New[GiGPO]() }},
	{Spec: normalizeSpec, New: func() Estimator { return method.New[Normalize]() }},
	{Spec: gdpoSpec, New: func() Estimator { return method.New[GDPO]() }},
	{Spec: gaeSpec, New: func() Estimator { return method.New[GAE]() }},
	{Spec: optimalTokenBaselineSpec, New: func() Estimator { return method.New[OTB]() }},
	{Spec: tirOptimalTokenBaselineSpec, New: func() Estimator {
		e := method.New[OTB]()
		e.multiTurn = true
		return e
	}},
	{Spec: opobSpec, New: func() Estimator { return method.New[OPOB]() }},
	{Spec: turnLevelSpec, New: func() Estimator { return method.New[TurnLevel]() }},
	{Spec: processSpec, New: func() Estimator { return method.New[Process]() }},
	{Spec: vineSpec, New: func() Estimator { return method.New[Vine]() }},
	{Spec: rlZvpSpec, New: func() Estimator { return method.New[ZeroVariance]() }},
}.Filled(method.Spec{Group: "advantage", Gradient: "constant"}, examples)
