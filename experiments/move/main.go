// Command move puts folders of claims and sweeps into the form of studies: plan.yaml, cells.jsonl.zst, SHA256SUMS.
package main

import (
	"fmt"
	"os"

	"driftlab/experiments/claims/reproduce"
)

func main() {
	for _, dir := range os.Args[1:] {
		if err := reproduce.Move(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
