// Package trainer is the training loop: it lets a rollout engine sample, a
// learner learn, and measures what lies between them.
//
//	r, err := recipe.Load("default", "rollout.numerics=bf16", "loss=gspo")
//	r, params, err := trainer.Prepare(r)                  // the base checkpoint's weights
//	s, err := trainer.NewSession(r, params, trainer.Options{})
//	defer s.Close()
//	err = s.Step(0)                                       // trains params in place
//	b, prompts, verdicts, _ := s.Sampled()                // the batch of that step
//
// A Session is a run in progress: it takes and returns values and touches no file.
// A step runs the stages of step.go in order, each on one batch.Batch; a further stage
// is a file and a line there, and README.md lists the files of a batch. Files,
// folders and resuming are experiments/run's. The figures of a session are the same
// bits on any number of cores. Pretrain makes base checkpoints. Every random number
// is drawn from a stream named by the seed, the step and its purpose
// (trainer/method/stream), so a run that was interrupted continues as if it had not been;
// what methods and stages remember from step to step is part of its Snapshot. The
// engines are made by trainer/engines, and compared without any training by
// experiments/measure.
//
// What methods need beyond log-probs is recorded only where a recipe names one
// that reads it: greedy rewards by one more rollout per prompt, score norms by
// one backward pass per response, the log-probs of a frozen reference or
// teacher, full distributions. Values come from a critic: one that is linear in the
// learner's final hidden state and fitted to the returns of earlier steps, or a
// second network that is trained next to the policy.
//
// With an asynchronous schedule the rollout stage asks trainer/cluster, which
// executes what trainer/method/schedule decides on a virtual clock, for the responses of
// an update; tokens of one batch then come from several versions of the weights.
//
// What it is not: it holds no method. The packages below trainer/method do (task, reward,
// advantage, correction, loss, schedule, guard, metrics), and none imports another but
// reward, which imports task.
package trainer
