// Package tables shows what package measure found, and a schedule's figures, as tables and figures for terminal, page and file.
//
// What it is not: it measures nothing.
package tables

import (
	_ "embed" // of the heads of tables

	"driftlab/results/figure"
)

//go:embed heads.yaml
var headsText []byte

// head is a table of this package without its rows.
var head = figure.Heads(headsText)
