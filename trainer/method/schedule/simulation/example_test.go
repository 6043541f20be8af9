package simulation_test

import (
	"fmt"

	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/schedule/simulation"
)

// Overlap alone: with equal lengths there is no tail to gain from.
func Example() {
	law, err := simulation.LookupLaw("fixed")
	if err != nil {
		panic(err)
	}
	cluster := simulation.DefaultCluster(16)
	cluster.Generate = 50
	report, err := simulation.Compare(cluster, "one_step_off", &schedule.OneStepOff{Interval: 1}, law, 1)
	if err != nil {
		panic(err)
	}
	fmt.Println("lags", report.LagHistogram)
	fmt.Println("more than overlap can gain:", report.Speedup.EqualTokens > report.Speedup.OverlapBound)
	// Output:
	// lags [32 608]
	// more than overlap can gain: false
}
