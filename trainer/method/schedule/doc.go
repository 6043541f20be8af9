// Package schedule says which weights generate what, and when: it decides, and
// something else executes.
//
// # A system on a virtual clock
//
// A Policy is one published system's rule; Systems lists them, every rule with
// its source. sync and lag, whose lag is constant, are two of them, and
// the trainer needs no clock for these. A Core runs a Policy on a cluster in virtual time.
// It is a pure state machine of integers: no weights, no engine, no goroutine, no
// file. It knows only its arguments.
//
//	core, err := schedule.New(config, policy)
//	for {
//		c := core.Next()
//		if c.Kind == schedule.Stop {
//			break
//		}
//		err = core.Done(execute(c))   // an Outcome
//	}
//	core.Log()                    // the timeline
//	core.Counts()                 // lags, waste, what was prefilled again
//	core.Use()                    // who waited
//
// A driver executes the commands in the order in which they come, each at once and
// to its end; the Core keeps the time that they would have taken.
//
//   - Start: bring requests into a worker. Request r is response r mod n of sample
//     r / n, n being Config.Group and the policy's Extra together; Origins name the
//     samples whose prompts they have. One that is known already is continued: Cached
//     with the keys and values that Evict saved for it, else by prefilling its prompt
//     and its tokens. The Outcome gives the prompts' lengths.
//   - Decode: make the given number of steps of all requests of a worker, a token each, under the
//     weights it has loaded: that version is each token's. The Outcome lists the
//     requests that ended in the last of them. A driver that samples cannot know when
//     that is, and is asked for one step at a time; one that says all lengths at Start
//     is asked for many. It is never asked to undo any.
//     Requests that called a tool are said with their replies' lengths: each keeps its slot
//     and makes no step until Costs.ToolCall has gone by, named in every Decode until then.
//   - Grade: judge samples that are done, where Config.Graded asks for it. The Outcome
//     says which are of no use, which then leave the count of accepted ones, and what
//     they are worth to a replay.
//   - Load: give a worker the weights of a version. Its requests stay, their keys and
//     values are computed anew (Reprefill), kept as they are (KeepStale), or the
//     partial responses are thrown away (Restart).
//   - Evict: take requests out of a worker: for good (Cache is Restart), or until a
//     Start brings them in again, there or elsewhere, with their keys and values
//     (KeepStale) or with their tokens alone (Reprefill).
//   - Train: train these samples, whose responses are those that ended and were not
//     evicted. Update says whether the weights change now; without it the gradients
//     are kept. The weights that come of it stay with the learner.
//   - Publish: keep the learner's weights as a version. All older than Oldest can go.
//   - Stop.
//
// Events have an order: by time, then end of a step, end of training, publication,
// batch, admission, placement; what is left is ordered by ID, and no number of a
// worker decides anything. A step under way when weights interrupt it is lost; a
// request that comes or goes waits for the end of the step.
//
// The Core is a method.Memory: its state can be taken between any two calls, and a
// Core that is given it goes on to the same bytes. A Policy remembers nothing.
//
// # What lies where
//
// One object owns a system's rule, source, admission, selection, eviction and bound, and counts by the
// one rule View.ahead. Systems are in synchronous.go, partial.go (partial rollouts), asynchronous.go and
// windows.go; policy.go has what a system may say, sample.go and worker.go its input, plan.go its
// choice of workers. The Core is core.go: generate.go, state.go and dora.go are what workers do, learn.go,
// old.go and replay.go what the learner does. Outside is schedule.go, what is asked and answered, and what
// came of it; cost.go says what everything takes.
//
// What it is not: it starts no engine and learns nothing; the lengths of responses
// come from a driver. trainer/method/schedule/simulation is the driver that needs no weights.
package schedule
