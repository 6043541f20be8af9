package schedule

import "driftlab/trainer/method"

// Systems holds every policy that a Core can run.
var Systems = method.Table[Policy]{
	{Spec: syncSpec, New: func() Policy { return &Sync{} }},
	{Spec: lagSpec, New: func() Policy { return &Lag{K: 1} }},
	{Spec: oneStepOffSpec, New: func() Policy { return &OneStepOff{Interval: 1} }},
	{Spec: arealSpec, New: func() Policy { return &AReaL{Eta: 4} }},
}
