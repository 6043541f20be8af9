// Package results keeps what a run leaves behind and turns it into something
// a person can read: run directories, per-token dumps, tables, plots and a
// self-contained HTML report.
//
// # A run directory
//
//	recipe.yaml     the resolved recipe, as text
//	metrics.jsonl   one JSON object per step, keys in the caller's order
//	summary.json    written once, when the run ends
//	done            the seal, renamed into place last of all: sha256sum -c checks it
//	state.safetensors, checkpoint/   written by the trainer, not by this package
//	dump.json       where the run's dump is, and what it is once it is whole
//	.lock           held by the process that writes here
//
// The writer is Run, the reader is Record:
//
//	run, err := results.Create(dir, recipe)
//	err = run.Step(1, []results.Metric{{Name: "critic/score/mean", Value: 0.5}})
//	err = run.Finish(results.Summary{Name: "demo", Seed: 1, Steps: 1, Status: results.StatusFinished})
//	rec, err := results.Load(dir)
//
// A killed run is taken up again with Resume, which cuts the record back to the
// Mark that was kept with its state, so that the finished file is the same, byte
// for byte, as that of a run nobody interrupted. Dumps are cut back likewise. A
// file that is not what it was at its mark, or under its seal, is refused.
//
// # Tables, plots, reports
//
// Table renders to Markdown, CSV and HTML. Chart (curves with seed bands), Bars
// and Panels (small multiples) are drawn through gonum/plot: SavePlot writes SVG
// or PNG. WriteReport makes one HTML file that needs no network: uPlot is
// compiled in, and every chart answers to mouse, finger and keyboard. FromRuns
// groups the runs of a folder by recipe, draws their seeds as bands and returns
// the Report to write:
//
//	records, err := results.LoadAll("runs")
//	err = results.WriteReport("runs/report.html", results.FromRuns(records))
//
// Errors about files are FolderErrors: one line with path, cause and remedy.
//
// # What it is not
//
// It computes no metric and knows none of the maths packages. It never reads
// the clock: the same records give the same bytes.
package results
