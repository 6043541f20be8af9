// Package experiments puts runs beside each other: recipes against seeds, and
// the headline that `simulate` shows without an argument.
//
//	records, err := experiments.Compare(ctx, recipes, []uint64{1, 2, 3}, experiments.Options{Dir: "out"})
//
// Runs share nothing and each takes one core, so they go side by side; what
// they find depends on neither their number nor their order.
//
// What it is not: it trains nothing itself (package trainer does) and draws
// nothing (package results does).
package experiments
