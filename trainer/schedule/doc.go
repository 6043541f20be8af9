// Package schedule says which weights generate what: how far behind the
// learner the rollout engine's weights are at each step.
//
//	e, err := schedule.Registry.Lookup("lag")
//	s := e.New()                 // *schedule.Lag with its defaults
//	s.Lag(10)                    // updates between the learner's weights and the sampler's
//
// What it is not: it holds no weights and starts no engine. The trainer asks it
// at the start of every step and takes the weights of that age.
package schedule
