// Package recipe is the whole definition of a run as one value, read from
// YAML: model, task, the two engines, schedule, methods, optimiser, seed.
//
//	r, err := recipe.Load("default", "learner.optimizer.lr=5e-4") // shipped name or file, and changes
//	r, err = recipe.Parse("mine.yaml", text)
//	err = r.Set("loss={name: ppo_clip, eps_high: 0.3}")
//	l := r.Loss.New()           // a fresh loss.Loss with the recipe's parameters
//	p := r.Correction.Pipeline()
//	text = r.Resolved().YAML()  // canonical and complete: written next to every result
//
// Reading is strict. An unknown or ill-typed field, a field given twice, a
// second document, a value out of range, two fields that do not go together:
// each is a Fault with file, line, field and, where there is one, the nearest
// valid name. All faults are reported, not only the first.
//
//	recipe.yaml:12: learner.optimizer.lrr: unknown field; did you mean "lr"?
//
// The text and the value are two forms of the same thing: Parse(r.YAML())
// equals r, and equal recipes have equal bytes.
//
// # Short forms
//
// A method is a mapping with its name and parameters, or its name alone:
//
//	loss: {name: ppo_clip, eps_high: 0.28}
//	loss: ppo_clip
//
// Numerics are a preset's name, or what differs from a preset:
//
//	numerics: bf16
//	numerics: {base: bf16, head: fp32}
//
// A correction is a published one by its name, or what differs from it:
//
//	correction: decoupled_token_is
//	correction: {preset: decoupled_token_is, clamp: 10}
//
// The model section may be left out: the checkpoint then brings it.
//
// What it is not: it runs nothing, opens no checkpoint and keeps no state. It
// decides which values are valid, not what they do.
package recipe
