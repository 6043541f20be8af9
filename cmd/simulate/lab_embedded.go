//go:build lab

package main

import (
	_ "embed"

	"driftlab/results/lab"
)

// The program of a release: `simulate lab --program cmd/simulate/program` writes it, and
// `go build -tags lab ./cmd/simulate` carries it.
var (
	//go:embed program/lab.wasm.gz
	programGzip []byte
	//go:embed program/diagnose.wasm.gz
	programDiagnose []byte
	//go:embed program/wasm_exec.js
	programSupport []byte
)

func embeddedProgram() lab.Program {
	return lab.Program{Gzip: programGzip, Diagnose: programDiagnose, Support: programSupport}
}
