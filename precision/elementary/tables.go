package elementary

import (
	_ "embed"
	"strconv"
	"strings"
)

// tablesText has the entries of exp2Table, then those of logTable. go test -update writes it.
//
//go:embed tables.txt
var tablesText string

// logPart is a part of [0.6875, 1.375): the inverse of a number of it, and that
// number's logarithm in two parts, the first a multiple of 2^-42.
type logPart struct{ inverse, high, low float64 }

// exp2Table has 2^(i/128) in two parts.
var exp2Table, logTable = readTables()

func readTables() (powers [steps]struct{ high, low float64 }, logs [128]logPart) {
	var at []*float64
	for i := range powers {
		at = append(at, &powers[i].high, &powers[i].low)
	}
	for i := range logs {
		at = append(at, &logs[i].inverse, &logs[i].high, &logs[i].low)
	}
	for i, text := range strings.Fields(tablesText) {
		*at[i], _ = strconv.ParseFloat(text, 64) // a test compares the text
	}
	return powers, logs
}
