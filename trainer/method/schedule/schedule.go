package schedule

import "driftlab/trainer/method"

// Schedule says how old the rollout weights of a step are. Implementations are
// pointers to parameter structs; one file each.
type Schedule interface {
	// Lag is the number of optimiser updates between the weights that generate
	// the rollouts of this step (counted from 0) and the learner's weights at
	// its start. Early in a run there may have been fewer updates: the initial
	// weights then stand in.
	Lag(step int) int
	// MaxLag bounds Lag over all steps: how many past weights must be kept.
	MaxLag() int
	// Validate returns an error that names the field at fault.
	Validate() error
}

// Registry holds every schedule a recipe can name.
var Registry = method.Table[Schedule]{
	{Spec: syncSpec, New: func() Schedule { return &Sync{} }},
	{Spec: lagSpec, New: func() Schedule { return &Lag{K: 1} }},
}

// Systems holds every policy that a Core can run.
var Systems = method.Table[Policy]{
	{Spec: syncSpec, New: func() Policy { return &Sync{} }},
	{Spec: lagSpec, New: func() Policy { return &Lag{K: 1} }},
	{Spec: oneStepOffSpec, New: func() Policy { return &OneStepOff{Interval: 1} }},
	{Spec: streamRLSpec, New: func() Policy { return &StreamRL{Micro: 1} }},
	{Spec: periodicSpec, New: func() Policy { return &Periodic{Micro: 1} }},
	{Spec: distFlowSpec, New: func() Policy { return &DistFlow{Service: 10_000, Controllers: 8} }},
	{Spec: seerSpec, New: func() Policy { return &Seer{Chunk: 2048, AcceptPercent: 60} }},
	{Spec: kimiSpec, New: func() Policy { return &Kimi{Budget: 4096} }},
	{Spec: aprilSpec, New: func() Policy { return &April{} }},
	{Spec: coprisSpec, New: func() Policy { return &CoPRIS{} }},
	{Spec: arealSpec, New: func() Policy { return &AReaL{Eta: 4} }},
	{Spec: skyRLSpec, New: func() Policy { return &SkyRL{Staleness: 4} }},
	{Spec: pipelineRLSpec, New: func() Policy { return &PipelineRL{MaxLag: 1024} }},
	{Spec: slimeFullyAsyncSpec, New: func() Policy { return &SlimeFullyAsync{} }},
	{Spec: verlSpec("on_policy", "mode a", "on policy"), New: func() Policy { return &Verl{K: 1, RequireBatches: 1} }},
	{Spec: verlSpec("stream", "mode b", "stream off policy"), New: func() Policy { return &Verl{K: 4, RequireBatches: 1} }},
	{Spec: verlSpec("stale", "mode c", "stale samples"), New: func() Policy { return &Verl{K: 4, StalenessPercent: 10, RequireBatches: 1} }},
	{Spec: verlSpec("partial", "mode d", "stale samples and partial rollout"), New: func() Policy {
		return &Verl{K: 4, StalenessPercent: 10, Partial: true, RequireBatches: 1}
	}},
	{Spec: rollFlashSpec, New: func() Policy { return &RollFlash{RatioPercent: 100} }},
	{Spec: rollAgenticSpec, New: func() Policy { return &RollAgentic{RatioPercent: 100} }},
	{Spec: primeRLSpec, New: func() Policy { return &PrimeRL{MaxOffPolicy: 8} }},
	{Spec: trlSpec, New: func() Policy { return &TRL{MaxStaleness: 4, WeightSyncSteps: 1} }},
	{Spec: echo2Spec, New: func() Policy { return &Echo2{Staleness: 4, Hop: 10_000} }},
	{Spec: llamaRLSpec, New: func() Policy { return &LlamaRL{Depth: 1} }},
	{Spec: asyncFlowSpec, New: func() Policy { return &AsyncFlow{Threshold: 1, Micro: 1} }},
	{Spec: laminarSpec, New: func() Policy { return &Laminar{Every: 5_000_000, Hop: 1000} }},
	{Spec: oaplSpec, New: func() Policy { return &OAPL{Interval: 50} }},
	{Spec: doraSpec, New: func() Policy { return &Dora{K: 3} }},
}
