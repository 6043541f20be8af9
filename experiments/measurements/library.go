// Package measurements is the mathematics of the claims: named functions with parameters that
// record figures of one replication, of frozen weights, tables of logits, queues or processes
// that can be enumerated, and what a fit or a choice makes of the figures of many. A claim's file
// names them, see package studies; one file here is one idea.
package measurements

import "driftlab/experiments/claims/claim"

// measurement makes a measurement whose parameters have no values yet.
func measurement[M any, P interface {
	*M
	claim.Measurement
}]() claim.Measurement {
	return P(new(M))
}

// Library are the measurements and functions by the names that claims' files have for them.
var Library = claim.Library{
	Measurements: map[string]func() claim.Measurement{
		"along":          measurement[along],
		"configurations": measurement[configurations],
		"copies":         measurement[copies],
		"gaps":           measurement[gaps],
		"runs":           measurement[runs],
	},
	Lists: map[string]claim.ListFunction{},
	Units: map[string]claim.UnitFunction{},
	Notes: map[string]func(j *claim.Judge, texts []string) string{},
}
