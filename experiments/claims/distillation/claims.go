// Package distillation has the claims about a teacher in reinforcement learning.
package distillation

import (
	"context"
	"embed"
	"fmt"

	"driftlab/experiments/claims/claim"
)

// files are the claims that are arms of a recipe and checks.
//
//go:embed *.yaml
var files embed.FS

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	read := claim.Files(files, nil)
	return []claim.Claim{opdK1K2(), opdGate(), read["opd-coefficient"], read["fusion-decay"], read["fusion-mixtures"], sftForgets()}
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
