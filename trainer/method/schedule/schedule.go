package schedule

import (
	_ "embed"

	"driftlab/trainer/method"
)

// examples are the worked examples of the methods, by name.
//
//go:embed examples.txt
var examples string

// Systems holds every policy that a Core can run.
var Systems = method.Table[Policy]{
	{Spec: syncSpec, New: func() Policy { return method.New[Sync]() }},
	{Spec: lagSpec, New: func() Policy { return method.New[Lag]() }},
	{Spec: oneStepOffSpec, New: func() Policy { return method.New[OneStepOff]() }},
	{Spec: streamRLSpec, New: func() Policy { return method.New[streamRL]() }},
	{Spec: periodicSpec, New: func() Policy { return method.New[Periodic]() }},
	{Spec: distFlowSpec, New: func() Policy { return method.New[distFlow]() }},
	{Spec: seerSpec, New: func() Policy { return method.New[Seer]() }},
	{Spec: kimiSpec, New: func() Policy { return method.New[kimi]() }},
	{Spec: aprilSpec, New: func() Policy { return method.New[april]() }},
	{Spec: coprisSpec, New: func() Policy { return method.New[copris]() }},
	{Spec: arealSpec, New: func() Policy { return method.New[AReaL]() }},
	{Spec: skyRLSpec, New: func() Policy { return method.New[SkyRL]() }},
	{Spec: pipelineRLSpec, New: func() Policy { return method.New[pipelineRL]() }},
	{Spec: slimeFullyAsyncSpec, New: func() Policy { return method.New[slimeFullyAsync]() }},
	{Spec: verlSpec("on_policy", "mode a", "on policy",
		"Runs verl's fully asynchronous trainer in mode a: weights are published after each update, and every trained sample is on-policy.",
		"Use it as the on-policy control of verl's other modes."), New: verl(1, 0, false)},
	{Spec: verlSpec("stream", "mode b", "stream off policy",
		"Runs verl's fully asynchronous trainer in mode b: the trainer makes k updates from a stream of samples, then publishes its weights.",
		"Use it to train while generation continues; no sample is carried over a publication of weights."), New: verl(4, 0, false)},
	{Spec: verlSpec("stale", "mode c", "stale samples",
		"Runs verl's fully asynchronous trainer in mode c: generation may run ahead by staleness_percent, and running requests finish before new weights are loaded.",
		"Use it to keep rollout workers busy around a weight update, at a limited staleness."), New: verl(4, 10, false)},
	{Spec: verlSpec("partial", "mode d", "stale samples and partial rollout",
		"Runs verl's fully asynchronous trainer in mode d: as mode c, with running requests interrupted by new weights and then continued.",
		"Use it for the highest utilisation among verl's modes, with a correction for responses of mixed versions."), New: verl(4, 10, true)},
	{Spec: rollFlashSpec, New: func() Policy { return method.New[RollFlash]() }},
	{Spec: rollAgenticSpec, New: func() Policy { return method.New[rollAgentic]() }},
	{Spec: primeRLSpec, New: func() Policy { return method.New[primeRL]() }},
	{Spec: trlSpec, New: func() Policy { return method.New[trl]() }},
	{Spec: echo2Spec, New: func() Policy { return method.New[echo2]() }},
	{Spec: llamaRLSpec, New: func() Policy { return method.New[LlamaRL]() }},
	{Spec: asyncFlowSpec, New: func() Policy { return method.New[asyncFlow]() }},
	{Spec: laminarSpec, New: func() Policy { return method.New[Laminar]() }},
	{Spec: oaplSpec, New: func() Policy { return method.New[oapl]() }},
	{Spec: doraSpec, New: func() Policy { return method.New[dora]() }},
	{Spec: windowedFIFOSpec, New: func() Policy { return method.New[windowedFIFO]() }},
	{Spec: nemoWindowedSpec, New: func() Policy { return method.New[NeMoWindowed]() }},
	{Spec: nemoReadyFirstSpec, New: func() Policy { return method.New[nemoReadyFirst]() }},
	{Spec: nemoWeightFIFOSpec, New: func() Policy { return method.New[nemoWeightFIFO]() }},
	{Spec: nemoInOrderSpec, New: func() Policy { return method.New[nemoInOrder]() }},
	{Spec: verlV1Spec, New: func() Policy { return method.New[verlV1]() }},
	{Spec: milesSpec, New: func() Policy { return method.New[miles]() }},
	{Spec: tinkerPacedSpec, New: func() Policy { return method.New[tinkerPaced]() }},
	{Spec: tailBatchingSpec, New: func() Policy { return method.New[tailBatching]() }},
	{Spec: queueDropSpec, New: func() Policy { return method.New[QueueDrop]() }},
}.Filled(method.Spec{Group: "schedule", Unit: method.System, Gradient: "none: a schedule chooses weights"}, examples)
