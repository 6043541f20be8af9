// Package sweep runs grids of recipes: a plan says what is varied, every point of
// its grid with every seed is a run, and what a run came to is one line.
//
//	plan, err := sweep.Parse("screen.yaml", text)
//	grid, err := plan.Grid(loadRecipe)      // cells, equal recipes once
//	err = sweep.Run(ctx, grid, sweep.Options{Dir: "out"})
//	done, err := sweep.Read("out")          // done.Rows: an Outcome for every cell that is there
//
// A run is known by a hash of its resolved recipe. What is finished stays where the
// plan changes around it, parts that were run elsewhere are put together by their
// names (Merge), and a folder holds the same bytes whoever ran which part when.
//
// What it is not: it reads no recipe itself and knows no method; it judges no claim.
package sweep
