// Package table is the table of methods: every loss, weight, mask, guard, replay and
// advantage on the same stressors, in runs that cost seconds, so that they can be
// compared at all. No paper can: each compares its own method on its own stack.
//
//	stage := table.Stage{Name: "screen", Index: index, Runs: outcomes}
//	r := stage.Rank()
//	r.Rows    // a line for every method, stressor and learning rate
//	r.Methods // regret, who is dominated, who harms a healthy run
//
// It has two stages, so that selection fools nobody. The screen runs everything on
// three seeds, at a published default and two other values of the main threshold. The
// confirmation runs the best and the worst of each group by the screen (Choose), the
// published presets and what people ask about, at two learning rates, on ten seeds that
// were never looked at. Sweeps are the files of both; `simulate sweep` makes the runs,
// and this package judges what they left. Two smaller sweeps ask whether it holds on
// models never used before, and at other levels of each stressor.
//
// Before these come two stages in which every setting has a learning rate of its own: tune
// chooses the rates, transfer judges on base models of its own, for several tasks.
//
//	row.go        a line of the table: differences paired by seed
//	standing.go   regret over the stressors
//	gain.go       the effect of a method against no correction, and its significance
//	answer.go     which method for which stressor
//	choose.go     what the screen sends on
//	unscreened.go what is left out of the screen, and why
//	effects.go, corrections.go    effects of the confirmation as JSON, and the page "Which correction?"
//	tuning.go, transfer_plan.go   the learning rate of each setting, and the plan that follows from it
//	tuned*.go     the comparison at tuned rates: figures, tables, the README's sentences
//	transfer*.go, correlation.go  whether a ranking transfers: rank correlations and their page
//	write.go, sheet.go, page.go   all stages worked out once: table.csv, markdown, picture, page
//	alarm*.go     early-warning signals of a collapse, and their false alarms
//
// What it is not: it runs nothing, and what it says rests on the lines of finished
// runs alone.
package table
