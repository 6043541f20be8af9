// Package column holds what the two engines record of responses, column by
// column: Sampled is filled by a rollout engine, Scored by a learner, one value
// for each policy that it scores the same tokens under.
//
// B responses of ragged length are packed in flat columns: token t of response i
// is entry Offsets[i]+t of every column with an entry per token. A nil column has
// not been recorded.
//
//	engine.Generate(&s, requests, sampling)        // *Sampled
//	scorer.Score(&old, &s, options)                // *Scored, of the same tokens
//	s.Select(&mini, rows)                          // some responses, in any order
//
// What it is not: it computes nothing, and knows no rewards and no methods. It is
// a leaf and imports only the standard library.
package column
