// Package study makes the cells of a plan and keeps them: a plan says what is varied, every point of
// its grid with every seed is a cell, and what a cell came to is one line of the study's folder.
//
//	plan, err := study.Parse("screen.yaml", text)
//	grid, err := plan.Grid(loadRecipe)      // cells, equal recipes once
//	err = grid.Run(ctx, study.Options{Dir: "out"})
//	done, err := study.Read("out")          // done.Rows: an Outcome for every cell that is there
//
// The folder (Store) has plan.yaml, cells.jsonl.zst with a line for each cell (key, arm, seed, outcome, curve) and
// SHA256SUMS; runs/KEY has the checkpoint of a run that is under way. A cell is known by a hash of its resolved recipe.
// What is finished stays where the plan changes around it, parts that were run elsewhere are put together by their
// keys (Merge), and a folder has the same bytes whoever ran which part when. Claims keep their observations in
// the same form, and Work makes the cells of both.
//
//	plan.go, parse.go, grid.go   the plan, and the cells that it spans
//	queue.go, run.go, shard.go   tasks over cells, on one machine or in an array job (job.go)
//	store.go, index.go, curve.go the folder
//	folder.go, tables.go         a sweep read back, merged, exported
//	comparison.go, report.go     which value is best; the page
//
// What it is not: it reads no recipe itself and knows no method; it judges no claim.
package study
