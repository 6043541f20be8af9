//go:build !lab

package main

import "driftlab/results/lab"

// embeddedProgram is none: see lab_embedded.go.
func embeddedProgram() lab.Program { return lab.Program{} }
