// Package experiments compares runs: recipes against seeds, and
// the headline that `simulate` shows without an argument. Folders below it have the
// published claims that `simulate reproduce` measures and judges.
//
//	records, err := experiments.Compare(ctx, recipes, []uint64{1, 2, 3}, experiments.Options{Dir: "out"})
//
// Runs share nothing and each takes one core, so they go side by side; what
// they find depends on neither their number nor their order.
//
//	study       plans, cells and their folder: grids of recipes, shards that are put together
//	claim       what a claim is made of, and how it is judged
//	claims      the list of them; below it the claims by theme, one file each
//	reproduce   measures claims, keeps what was measured, writes their pages
//
// What it is not: it trains nothing itself (package trainer does) and draws
// nothing (package results does).
package experiments
