package recipe

import "driftlab/trainer/method"

// Guard is a rule that watches the optimiser and steps in. Values that are not
// finite always stop a run; further guards join the table by name.
type Guard interface {
	Validate() error
}

// guards is the table that recipes name under guards.
var guards = method.Table[Guard]{}
