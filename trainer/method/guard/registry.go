package guard

import (
	_ "embed"

	"driftlab/trainer/method"
)

// examples are the worked examples of the specs: input, parameters, result. A test recomputes them;
// go test -run WorkedExamples -update writes them.
//
//go:embed examples.txt
var examples string

// Registry lists the guards a recipe can name under guards.
var Registry = method.Table[Guard]{
	{Spec: essLrSpec, New: func() Guard { return method.New[ESSLearningRate]() }},
	{Spec: lengthSurgeSpec, New: func() Guard { return method.New[LengthSurge]() }},
	{Spec: gradientAlignmentSpec, New: func() Guard { return method.New[GradientAlignment]() }},
}.Filled(method.Spec{Group: "guard", Gradient: "unchanged"}, examples)
