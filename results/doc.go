// Package results turns the records of runs into something a person can read:
// tables, plots and a self-contained HTML report. The record of a run is
// kept and read by results/record.
//
// What is shown is a figure.Figure. Lines with seed bands, bars, maps, timelines and
// small multiples are drawn on the canvases of gonum.org/v1/plot/vg: SavePlot writes SVG or PNG. WriteReport
// makes one HTML file that needs no network, from the template assets/report.html: uPlot
// is compiled in, and every chart answers to mouse, finger and keyboard. FromRuns
// groups the runs of a folder by recipe, draws their seeds as bands and returns
// the Report to write:
//
//	records, err := record.LoadAll("runs")
//	err = results.WriteReport("runs/report.html", results.FromRuns(records))
//
// # What it is not
//
// It computes no metric and knows none of the maths packages. It never reads
// the clock: the same records give the same bytes.
package results
