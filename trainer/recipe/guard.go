package recipe

import "driftlab/trainer/method/guard"

// Guard is a rule that watches the optimiser and steps in. Values that are not
// finite always stop a run; further guards are named under guards.
type Guard = guard.Guard
