// Package record keeps the record of a run and reads it back: the run's
// folder, its per-token dump, and the rule that says what became of it.
//
// # A run directory
//
//	recipe.yaml     the resolved recipe, as text
//	metrics.jsonl   one JSON object per step, keys in the caller's order
//	summary.json    written once, when the run ends
//	clock.json      of an asynchronous schedule: lags, and the timeline of the last updates
//	done            the seal, renamed into place last of all: sha256sum -c checks it
//	state.safetensors, checkpoint/   written by the trainer, not by this package
//	dump.json       where the run's dump is, and its size and hash once it is whole
//	.lock           held by the process that writes here
//
// The writer is Run, the reader is Record:
//
//	run, err := record.Create(dir, recipe)
//	err = run.Step(1, []record.Metric{{Name: "critic/score/mean", Value: 0.5}})
//	err = run.Finish(record.Summary{Name: "demo", Seed: 1, Steps: 1, Status: record.StatusFinished})
//	kept, err := record.Load(dir)
//
// A killed run is resumed with Resume, which cuts the record back to the
// Mark that was kept with its state, so that the finished file is the same, byte
// for byte, as that of an uninterrupted run. Dumps are cut back likewise. A
// file that differs from its state at its mark, or under its seal, is refused.
// Errors about files are FolderErrors: one line with path, cause and fix.
//
// The folder of a study has a file of cells (Cells), a line for each, sealed one by one while they are added and by
// SHA256SUMS (Sums) as a whole when it is finished.
//
// Judge says what became of a run, by one metric.
//
// # What it is not
//
// It draws nothing, computes no metric and knows none of the maths packages.
package record
