// Package cluster executes the commands of a schedule's core with real engines: it
// is the half of an asynchronous run that samples.
//
//	c, err := cluster.New(r, prompts, fleet.Main(), weights, judge)
//	for {
//		batch, err := c.Next(&sampled, learner.Params(), learner.Updates())   // responses for an update
//		... train them ...
//	}
//
// Prompts and random numbers are a function of the seed, the sample's number and
// the response alone: which worker decodes what, and when, changes no draw. The
// first step's samples equal those of a synchronous run, and so are all others where
// nothing runs ahead.
//
// Versions are named by the number of learner updates before them, as in the columns of
// responses, and kept for as long as the core says that something needs them.
//
// What it is not: it decides nothing, has no clock of its own and learns nothing.
package cluster
