package task

import "driftlab/trainer/method"

// Table lists the tasks a recipe can name. New gives the parameters with
// their defaults; decode the recipe into them and call Validate.
var Table = method.Table[Task]{
	{Spec: chainSpec, New: func() Task { return NewChain() }},
}
