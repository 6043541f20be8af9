// Package experiments puts runs beside each other: recipes against seeds, the
// headline that `simulate` shows without an argument, and the published claims
// that `simulate reproduce` measures and judges, one file each (claim_*.go),
// with the threshold written down before the measurement.
//
//	records, err := experiments.Compare(ctx, recipes, []uint64{1, 2, 3}, experiments.Options{Dir: "out"})
//
// Runs share nothing and each takes one core, so they go side by side; what
// they find depends on neither their number nor their order.
//
// What it is not: it trains nothing itself (package trainer does) and draws
// nothing (package results does).
package experiments
