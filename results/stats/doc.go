// Package stats holds the few statistics that turn models and seeds into a
// verdict. Each question has one way to answer it:
//
//	is a ratio above a threshold       TRatio: t-interval on its logarithm, paired by model
//	is a slope or a difference         T: t-interval of one value for each model or seed
//	what is its p                      TTest, OneSided
//	which of two arms is better        SignFlip on the Differences of pairs, and their T; of shares TShares
//	how many collapsed                 ClopperPearson
//	which learns better                AUC; T of paired differences
//	"no difference", "flat", "same"    TOST, with delta half of what the positive control does
//	a share of rare tokens             Pool the counts, then RateRatio; Few is too few
//	which of many verdicts reject      Holm's adjusted p
//	what would n have found            SmallestEffect; Enough is the n that decides
//
// The values are one for each unit a sentence generalises over: models that were
// trained separately, or seeds of whole runs, never the prompts or tokens of one of
// them. Arms are paired by it.
//
//	d := stats.Differences(treated, control)  // by seed
//	i := stats.T(d)                           // mean, and 95 % interval
//	p := stats.SignFlip(d)                    // is the sign chance?
//	q := stats.TOST(d, delta)                 // is it nothing?
//
// # How honest the intervals are
//
// Those of T hold the truth in 95 % of trials with ten normal values, TRatio's with
// ten lognormal pairs. Runs that end in two ways (a collapse on three seeds of ten) T and
// TShares cover in 96 % of trials with ten seeds, and in 62 % with three: a few seeds
// rarely show both ends. What counts exact is never below (the tests say how
// often). The percentile
// Bootstrap of a mean is not so good: over five normal values it covers 82 %, over
// ten 89 % and over twenty 93 %. It stays for what has no t: a statistic of
// thousands of responses, say.
//
// Everything is a function of the data alone: what is drawn comes from a PCG whose
// seed is fixed. The distributions are written here, with products rounded before
// they are added, so that a verdict has the same digits on every processor.
//
// What it is not: nothing is decided here, which is the claim's, and nothing is printed.
package stats
