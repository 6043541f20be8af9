package age

import (
	"fmt"

	"driftlab/experiments/claims/claim"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/schedule/simulation"
)

// setting is a cost table and a division of the devices.
type setting struct {
	name string
	// generate is the percentage of devices that generate where a system divides
	// them, learn the learner's cost per token and slot what a decode step takes
	// per request.
	generate, learn, slot int
}

// settings are the cost tables of the claims on the clock. The learner's cost
// makes the rollout that share of a synchronous step under the reasoning law.
var settings = []setting{
	{"half rollout, 50:50", 50, 700, 1500},       // verl's fully asynchronous runs
	{"84% rollout, 75:25", 75, 140, 1500},        // Moonlight's step, AReaL's division
	{"half rollout, constant speed", 50, 700, 0}, // a decode step costs the same at any load
}

// clusterOf has that many devices under a setting.
func clusterOf(e *claim.Env, s setting) simulation.Cluster {
	c := simulation.DefaultCluster(e.Pick(32, 16, 4))
	c.Generate, c.Costs.LearnToken, c.Costs.DecodeSlot = s.generate, s.learn, s.slot
	c.Steps = e.Pick(24, 16, 8)
	return c
}

// reasoning is the law of lengths of that preset with another spread of the logarithm.
func reasoning(sigma int) (simulation.Law, error) {
	law, err := simulation.LookupLaw("reasoning")
	law.Sigma = sigma
	return law, err
}

// speedup is trained tokens per second over those of the synchronous loop on as
// many devices, with the same prompts and lengths.
func speedup(e *claim.Env, c simulation.Cluster, p schedule.Policy, law simulation.Law) (float64, error) {
	run, err := simulated(e, c.For(p), p, law)
	if err != nil {
		return 0, err
	}
	base, err := simulated(e, c.Together(), &schedule.Sync{}, law)
	if err != nil {
		return 0, err
	}
	return simulation.FiguresOf(run).Throughput / simulation.FiguresOf(base).Throughput, nil
}

// simulated runs a policy on this replication's prompts.
func simulated(e *claim.Env, config schedule.Config, p schedule.Policy, law simulation.Law) (*simulation.Run, error) {
	run, err := simulation.Simulate(config, p, law, e.Seed)
	if err == nil && run.Stuck {
		err = fmt.Errorf("%T stopped short", p)
	}
	return run, err
}
