package reward

import "driftlab/trainer/method"

// Registry lists the parts of a reward that a recipe can name. To add one,
// write the file and add a line.
//
//	reward: [{name: exact}, {name: length_uniform, coef: 0.005}]
var Registry = method.Table[Shaper]{
	{Spec: exactSpec, New: func() Shaper { return method.New[Exact]() }},
	{Spec: passAtKSpec, New: func() Shaper { return method.New[PassAtK]() }},
	{Spec: groupMaxSpec, New: func() Shaper { return method.New[GroupMax]() }},
	{Spec: ternarySpec, New: func() Shaper { return method.New[Ternary]() }},
	{Spec: formatSpec, New: func() Shaper { return method.New[Format]() }},
	{Spec: processSpec, New: func() Shaper { return method.New[Process]() }},
	{Spec: utilitySpec, New: func() Shaper { return method.New[Utility]() }},
	{Spec: uniformSpec, New: func() Shaper { return method.New[Uniform]() }},
	{Spec: groupSpec, New: func() Shaper { return method.New[Group]() }},
	{Spec: anchorSpec, New: func() Shaper { return method.New[Anchor]() }},
	{Spec: stepSpec, New: func() Shaper { return method.New[Step]() }},
	{Spec: relativeSpec, New: func() Shaper { return method.New[Relative]() }},
	{Spec: linearSpec, New: func() Shaper { return method.New[LengthLinear]() }},
	{Spec: stopProperlySpec, New: func() Shaper { return method.New[StopProperly]() }},
	{Spec: repetitionSpec, New: func() Shaper { return method.New[Repetition]() }},
	{Spec: overlongSpec, New: func() Shaper { return method.New[Overlong]() }},
}.Filled(method.Spec{Group: "reward", Gradient: "constant: rewards are data"}, "")
