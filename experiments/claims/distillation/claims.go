// Package distillation has the claims about a teacher in reinforcement learning.
package distillation

import (
	"context"
	"fmt"

	"driftlab/experiments/claims/claim"
)

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{opdK1K2(), opdGate(), sftForgets()}
}

// teacherBase is the recipe of a teacher's warm start.
const teacherBase = "teacher-base"

// teacherSteps is how long the teacher of a replication is trained: it then solves
// about four in five prompts of 3 to 12 operations.
const teacherSteps = 800

// taught is the folder of a teacher of this replication, trained for that share of
// teacherSteps, with changes.
func taught(ctx context.Context, e *claim.Env, share float64, set ...string) (string, error) {
	steps := int(share * float64(e.Pick(teacherSteps, teacherSteps/4, 8)))
	return e.Warm(ctx, teacherBase, append([]string{fmt.Sprintf("pretrain.steps=%d", steps)}, set...)...)
}
