//go:build !lab

package program

import "driftlab/results/lab"

// embedded is none: see embedded.go.
func embedded() lab.Program { return lab.Program{} }
