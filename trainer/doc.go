// Package trainer is the training loop: it lets a rollout engine sample, a
// learner learn, and measures what lies between them.
//
// One step, as the data sees it (batch.Batch is the traveller):
//
//	prompts -> rollout.Generate -> reward -> learner.Score -> correction -> advantage
//	        -> per minibatch: learner.Gradient(loss) -> guards -> learner.Update
//	        -> weights published to the rollout engine, as the schedule says
//
// Run makes a whole run of a recipe, resumable, with a record that is the same
// byte for byte on any number of cores. Measure compares two engines at equal
// weights, Pretrain makes base checkpoints. Every random number is drawn from
// a stream named by the seed, the step and its purpose, so a run that was
// interrupted continues as if it had not been.
//
// What it is not: it holds no method. The rooms below it (task, reward,
// advantage, correction, loss, schedule, diagnose) do, each on its own.
package trainer
