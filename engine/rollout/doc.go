// Package rollout is the engine that samples: batched decoding with a KV cache
// and continuous batching, under the engine's own numerics (policy mu).
//
// For every token it records what corrections need later: its log-prob as the
// engine computed it, the experts its row visited, the sampling support and
// the mass it kept, and the version of the weights.
//
//	e := rollout.New(config, numerics, 64, 1)
//	e.Publish(params, version)
//	e.Generate(&b, requests, rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: 64, Stop: eos})
//
// Each response draws from its own random stream, so the order of the
// requests, the number of slots and the number of workers change no token as
// long as the numerics are batch-invariant. Then every worker also decodes at
// its own pace, with slots of its own; batch-variant numerics and drafting keep
// the workers in step.
//
// A scheduler drives the engine in pieces instead, and loads weights in between:
//
//	e.Begin(requests, s)                       // any time
//	steps := e.Advance(10)                     // up to the first response that is complete
//	ids = e.Collect(&b, ids[:0])               // what is
//	e.Load(weights, rollout.Reprefill)         // or KeepStale, Pin: what is in progress goes on so
//	partials := e.Interrupt(nil)               // or is taken out, to bytes or to another engine
//	other.Resume(partials, s, rollout.Pin)
//
// A request may bring a Tool: when the policy calls, its environment writes into
// the response. Such tokens are read like a prompt, and marked as not the
// policy's (Mask).
//
// SetPrefill makes it read prompts in chunks, or once for all responses to
// them. With batch-invariant numerics that changes no bit either.
//
// SetRetention compresses the KV cache while responses grow; what each token
// still saw is recorded, so that the learner can attend to the same. SetSpeculative
// lets a drafter propose tokens, which are verified in one pass, exactly or not;
// what became of each place is recorded, with the distribution that its token really had.
//
// SetPartner mixes a second model's logits into the engine's own at every step, and
// records the mixture's distribution.
//
// What it is not: it knows no rewards and no gradients.
package rollout
