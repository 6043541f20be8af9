//go:build lab

package program

import (
	_ "embed"

	"driftlab/results/lab"
)

// The program of a release: `simulate lab --program cmd/simulate/program` writes it, and
// `go build -tags lab ./cmd/simulate` carries it.
var (
	//go:embed lab.wasm.gz
	lessons []byte
	//go:embed diagnose.wasm.gz
	diagnose []byte
	//go:embed wasm_exec.js
	support []byte
)

func embedded() lab.Program {
	return lab.Program{Gzip: lessons, Diagnose: diagnose, Support: support}
}
