package age

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/schedule/simulation"
)

// clockDevices are the sizes of the clusters of periodic-clock.
var clockDevices = []int{16, 32, 64}

func periodicClock() claim.Claim {
	return claim.Claim{
		ID:        "periodic-clock",
		Title:     "On a clock, periodic asynchrony is three times as fast as the synchronous loop",
		Statement: "Training groups as they finish within a synchronous step trains at least three times as many tokens per second as waiting for the whole batch.",
		Source:    "Periodic asynchrony, 2511.18871; Laminar, 2510.12633; a survey of training-inference mismatch.",
		Figure:    "periodic asynchrony: threefold and on-policy; Laminar: lower staleness per worker; the speed-up of asynchrony is largest on few devices",
		Threshold: "Trained tokens per second, periodic over synchronous with the devices divided in the same way: interval above 3. Also checked: its largest staleness, exactly 0; " +
			"mean staleness of samples, Laminar over AReaL with eta 4, below 1; slope of log speed-up of AReaL over synchronous on the log of the number of devices, below 0.",
		Setup: "Lengths lognormal with sigma 0.99, cut at 20 medians; two prompts with 8 responses per device and update, 24 updates, costs under which the rollout is half of a synchronous step. " +
			"Half of the devices generate. Periodic, the synchronous loop on divided devices, Laminar and AReaL on 32 devices; the speed-up on 16, 32 and 64 against the synchronous loop on all devices. Pilot run: periodic on 16 devices with the default costs was slower than the synchronous loop on all devices (0.78).",
		LeftOut:  "Hardware: communication and memory do not depend on the number of devices.",
		Commands: []string{"simulate schedule periodic cluster.generate=50 costs.learn_token=700 --gpus 32"},
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure:  measurePeriodic,
		Judge:    judgePeriodic,
	}
}

func measurePeriodic(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	law, err := reasoning(990)
	if err != nil {
		return nil, err
	}
	c := clusterOf(e, settings[0])
	figures := func(p schedule.Policy) simulation.Figures {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return simulation.Figures{}
		}
		var run *simulation.Run
		if run, err = simulated(e, c.Apart(), p, law); err != nil {
			return simulation.Figures{}
		}
		return simulation.FiguresOf(run)
	}
	periodic, waiting := figures(&schedule.Periodic{Micro: 1}), figures(&schedule.Sync{})
	laminar, areal := figures(&schedule.Laminar{Every: 5000000, Hop: 1000}), figures(&schedule.AReaL{Eta: 4})
	if err != nil {
		return nil, err
	}
	o.Set("tokens per second", periodic.Throughput, waiting.Throughput, laminar.Throughput, areal.Throughput)
	o.Set("largest staleness of periodic", float64(periodic.LagMax))
	o.Set("mean staleness", laminar.LagMean, areal.LagMean)
	var gain []float64
	for _, n := range clockDevices {
		c.Devices = e.Pick(n, n/2, n/4)
		x, err := speedup(e, c, &schedule.AReaL{Eta: 4}, law)
		if err != nil {
			return nil, err
		}
		gain = append(gain, x)
	}
	o.Set("speed-up by devices", gain...)
	return o, nil
}

func judgePeriodic(j *claim.Judge) {
	j.Primary(claim.Ratio(claim.Natural, "trained tokens per second, periodic over synchronous", j.Entry("tokens per second", 0), j.Entry("tokens per second", 1), 3))
	j.Secondary(claim.Zero(claim.Natural, "largest staleness, periodic", j.Column("largest staleness of periodic")))
	j.Secondary(claim.RatioBelow(claim.Natural, "mean staleness, Laminar over AReaL", j.Entry("mean staleness", 0), j.Entry("mean staleness", 1), 1))
	var x []float64
	for _, n := range clockDevices {
		x = append(x, elementary.Log(float64(n)))
	}
	slope := j.Each(func(o *claim.Observation) float64 { return stats.Slope(x, stats.Logs(o.List("speed-up by devices"))) })
	j.Secondary(claim.Below(claim.Natural, "slope of log speed-up on log devices, AReaL", slope, 0))
	j.Secondary(claim.Report(claim.Natural, "speed-up on 16 devices, AReaL", j.Entry("speed-up by devices", 0)))
	j.Evidence.Picture = j.Bars("Trained tokens per second", "tokens per second", false, []string{"periodic", "synchronous", "Laminar", "AReaL"}, j.Listed("half of the devices generate", "tokens per second"))
	devices := make([]float64, len(clockDevices))
	for i, n := range clockDevices {
		devices[i] = float64(n)
	}
	j.Evidence.Table = j.CurvesTable("Speed-up of AReaL over the synchronous loop", "devices", devices, "speed-up by devices")
}
