package reward

import "driftlab/trainer/method"

// Registry lists the parts of a reward that a recipe can name. To add one,
// write the file and add a line.
//
//	reward: [{name: exact}, {name: length_uniform, coef: 0.005}]
var Registry = method.Table[Shaper]{
	{Spec: exactSpec, New: func() Shaper { return NewExact() }},
	{Spec: passAtKSpec, New: func() Shaper { return NewPassAtK() }},
	{Spec: groupMaxSpec, New: func() Shaper { return NewGroupMax() }},
	{Spec: ternarySpec, New: func() Shaper { return NewTernary() }},
	{Spec: formatSpec, New: func() Shaper { return NewFormat() }},
	{Spec: processSpec, New: func() Shaper { return NewProcess() }},
	{Spec: utilitySpec, New: func() Shaper { return NewUtility() }},
	{Spec: uniformSpec, New: func() Shaper { return NewUniform() }},
	{Spec: groupSpec, New: func() Shaper { return NewGroup() }},
	{Spec: anchorSpec, New: func() Shaper { return NewAnchor() }},
	{Spec: stepSpec, New: func() Shaper { return NewStep() }},
	{Spec: relativeSpec, New: func() Shaper { return NewRelative() }},
	{Spec: overlongSpec, New: func() Shaper { return NewOverlong() }},
}.Filled(method.Spec{Group: "reward", Gradient: "constant: rewards are data"}, "")
