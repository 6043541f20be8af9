// Package run keeps the files around a training session: the run's folder with
// its record, its dump, the state that an interrupted run resumes from, and the
// final checkpoint.
//
//	result, err := run.Run(ctx, recipe, run.Options{Dir: "runs/first"})
//
// What it is not: it trains nothing. The session in package trainer does, and
// touches no file.
package run
