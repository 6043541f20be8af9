// Package simulation drives a schedule.Core without weights: it answers Decode out
// of a distribution of lengths, and so runs any policy on thousands of devices in seconds.
//
//	law, err := simulation.LookupLaw("reasoning")
//	report, err := simulation.Compare(simulation.DefaultCluster(1024), "areal", &schedule.AReaL{Eta: 4}, law, 1)
//	report.LagMean, report.Speedup.EqualTokens
//
// A policy, and the synchronous loop it is compared with, see the same prompts with
// the same lengths, the same costs and as many devices. A speed-up is given under
// the definitions of several papers, for these differ more than the systems do; the
// lag histogram belongs to each.
//
// What it is not: a forecast of any cluster's speed. Costs are ratios from published
// tables; what counts is which waits for which, and how old tokens get. How many
// steps a target needs with tokens of that age only training can tell.
package simulation
