// Package table compares corrections at tuned learning rates, and has the published effects of all settings.
//
//	tuned := table.Measure(tune, transfer, scales)
//	tuned.Tasks        // the effect of each setting under each stressor of each task
//	tuned.BetweenTasks // does a ranking of settings transfer between tasks?
//
// The stage tune chooses a learning rate for each setting, the stage transfer judges the settings at these rates on
// other base models, and scales repeats that in longer runs and a larger model. Files of sweeps are the plans of all
// stages; `simulate sweep` makes the runs.
//
//	tuning.go         a stage, the learning rate of each setting
//	tuned.go, tuned_page.go       effects, tables, pages
//	transfer.go       rank correlations and their page
//	effects.go        published figures of older stages, which had common learning rates
//	corrections.go    the page "Which correction?"
//	named.go          settings and stressors of the shipped sweeps, by name
//
// What it is not: it runs nothing. All figures come from the outcomes of finished runs.
package table
