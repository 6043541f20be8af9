// Package diagnose says what is wrong with the dump of a real run: whether its two
// columns of log-probs are what they are taken for, how large the gap between
// the engines is, and what has made it.
//
//	a := diagnose.New(diagnose.Options{TopP: 1})
//	err := a.Read(reader.Input{Name: "dump.jsonl.gz", At: f, Size: size})     // any number of files
//	r := a.Report()
//	r.Verdict.Summary                     // one sentence
//	r.Checks                              // the bookkeeping, check by check
//	r.Causes                              // of a genuine gap, the likeliest first
//
// Notation: roll, old and new are log-probs of the sampled
// token in the rollout engine, in the learner before the update, and in the training
// forward. d = old - roll, ρ = exp(d). The size of an error at a token is measured
// in logits: u = d/q, where q is how far the token is from certain.
//
// The files are layers, each of which uses those before it:
//
//	report.go                      what a report says
//	advise.go                      every row once: gaps by scope, a sample of whole responses, rewards and lengths
//	checks.go, check_*.go          faults of the log-probs, in a table with a fixed order
//	learn.go                       faults of learning, by every recorded column
//	locality.go                    few tokens, or parts of a dump, that have most of the gap
//	features.go                    the cause of a gap, by its statistical signature
//	causes.go                      and by where it begins
//	corrections.go                 what corrections do to the tokens
//	decision.go                    what to do, and what is configured
//
// A fault makes the checks that follow conditional, since the figures are then of other numbers than they seem. Each check runs over
// everything, and over every environment, file and third of a response that has enough tokens: a fault of a single environment hides
// in the rest.
//
// A dump is read once. Sums run over all of it; what needs an order or a grouping of tokens sees a sample of whole responses, which
// is everything up to 200,000 tokens. reference.json has the fitted figures of causes; reference_test.go makes them, from short runs
// of this program and from synthetic dumps.
//
// What it is not: it opens no file and draws nothing, and it corrects nothing. Equal log-probs of the sampled tokens do
// not prove that two engines have equal distributions.
package diagnose
