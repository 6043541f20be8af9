// Package source splits the text of a configuration into settings, a path and a value
// each, whatever it is written in: YAML or JSON (with the references of OmegaConf), TOML,
// a Python call, or a shell script that starts a program with flags or overrides.
//
//	documents, err := source.Parse("run.sh", text)
//	documents[0].Name                       // verl.trainer.main_ppo: the program that is started
//	documents[0].Settings                   // algorithm.adv_estimator = grpo, line 12
//
// A script is followed as far as its text decides it, with nothing set in its environment
// and no program run: variables with their defaults, arrays, arithmetic, conditions, loops
// and functions. What a condition leaves open keeps every value, and Setting.Why names them.
//
// It knows no framework: package foreign says what the settings mean. Every input is
// bounded, in bytes, nesting, expansion and work.
package source
