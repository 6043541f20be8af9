// Package loss holds the policy losses and KL terms: one file each, with the
// formula, its paper, its defaults, the value and d loss/d log-prob.
//
// A loss reads a batch.Batch and fills a Grad. It never differentiates through
// anything but the current log-probs; what a paper detaches is visibly
// detached in the gradient half of the file. Everything is float64: the
// engines round, the losses do not.
//
// What it is not: it does not draw samples, weigh them or reject them; that is
// the correction stage, whose results arrive in Batch.Weight and
// Batch.LossMask.
package loss
