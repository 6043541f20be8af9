// Package results keeps what a run leaves behind and turns it into something
// a person can read: run directories, per-token dumps, tables, plots and a
// self-contained HTML report.
//
// # A run directory
//
//	recipe.yaml     the resolved recipe, as text
//	metrics.jsonl   one JSON object per step, keys in the caller's order
//	summary.json    written once, when the run ends
//	done            empty marker, renamed into place last of all
//	checkpoint/     written by the trainer, not by this package
//
// The writer is Run, the reader is Record:
//
//	run, err := results.Create(dir, recipe)
//	err = run.Step(1, []results.Metric{{Name: "critic/score/mean", Value: 0.5}})
//	err = run.Finish(results.Summary{Name: "demo", Seed: 1, Steps: 1, Status: results.StatusFinished})
//	rec, err := results.Load(dir)
//
// A killed run is taken up again with Resume, which cuts the record back to
// the step of the last checkpoint, so that the finished file is the same, byte
// for byte, as that of a run nobody interrupted.
//
// # Tables, plots, reports
//
// Table renders to Markdown, CSV and HTML. LinePlot and BarPlot draw through
// gonum/plot to SVG or PNG. WriteReport makes one HTML file that needs no
// network: uPlot is compiled in. FromRuns groups finished runs by recipe,
// draws their seeds as bands and returns the Report to write.
//
// # What it is not
//
// It computes no metric and knows none of the maths packages. It never reads
// the clock: the same records give the same bytes.
package results
