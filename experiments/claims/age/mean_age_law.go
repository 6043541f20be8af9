package age

import (
	"context"
	"fmt"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/stats"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/schedule/simulation"
)

// The clusters of mean-age-law: slots per device, and the percentage of devices that generate.
var (
	freeSlots = []int{16, 32}
	freeShare = []int{25, 50}
	freeLaws  = []string{"mild", "reasoning"}
)

const (
	freeQueue  = 4    // batches that the queue holds: it drops none while the trainer waits
	freeBusy   = 0.9  // the trainer's busy share up to which the form is judged
	freeOffset = 1000 // of the seeds: the form was written next to runs with seed 1
)

func meanAgeLaw() claim.Claim {
	return claim.Claim{
		ID:        "mean-age-law",
		Title:     "On a clock, the mean staleness of a free-running system is C/B + rho with whole-group slots and C·M/B + rho with single slots",
		Statement: "In systems whose slots are always full the mean staleness over that of the closed form of their kind of slots has a geometric mean within 3 % of 1, whatever the lengths.",
		Source:    "Applied Compute, appliedcompute.com/research/staleness-in-fully-async-rl, in two transcripts; Little's law on groups for the other kind of slots.",
		Figure:    "six GRPO runs of an 8B model: error of the form from -0.06 to 0.27 versions",
		Threshold: "Geometric mean over arms of measured over predicted staleness, trainers busy at most 90 % of the time: interval inside [0.97, 1.03]. " +
			"Also checked: every arm inside [0.93, 1.07]; the form of the other kind of slots, off by more than a factor of 1.2 under long tails.",
		Setup: "A queue that holds four batches and drops its oldest, on 16 devices of the virtual clock of which 25 or 50 % generate, 16 or 32 slots per device, batches of 32 prompts with 8 responses, 200 updates. " +
			"Lengths lognormal with sigma 0.6 or 0.99, cut at 20 medians. C is the slots, B the responses of a batch, M the mean longest of a group over the mean, rho the trainer's busy share. " +
			"The forms were written next to runs with seed 1: lengths here are drawn from seeds 1001 on.",
		LeftOut:  "Trainers that are busy all the time; rules that count, whose mean is the count; tools.",
		Commands: []string{"simulate schedule queue_drop queue=4 single_slots=true cluster.slots=16 cluster.generate=50 --gpus 16 --steps 200"},
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure:  measureMeanAge,
		Judge:    judgeMeanAge,
	}
}

// freeArm names an arm of mean-age-law.
func freeArm(law string, single bool, share, slots int) string {
	kind := "whole groups"
	if single {
		kind = "single slots"
	}
	return fmt.Sprintf("%s, %s, %d %% generate, %d slots", law, kind, share, slots)
}

// eachFree calls f with every arm.
func eachFree(f func(law string, single bool, share, slots int)) {
	for _, law := range freeLaws {
		for _, single := range []bool{false, true} {
			for _, share := range freeShare {
				for _, slots := range freeSlots {
					f(law, single, share, slots)
				}
			}
		}
	}
}

func measureMeanAge(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	var err error
	eachFree(func(name string, single bool, share, slots int) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return
		}
		var law simulation.Law
		if law, err = simulation.LookupLaw(name); err != nil {
			return
		}
		c := simulation.DefaultCluster(16)
		c.Slots, c.Generate, c.Steps = slots, share, e.Pick(200, 40, 8)
		var r *simulation.Run
		if r, err = simulation.Simulate(c.Apart(), &schedule.QueueDrop{Queue: freeQueue, SingleSlots: single}, law, e.Seed+freeOffset); err != nil {
			return
		}
		f := simulation.FreeRunning{
			Concurrency: float64(r.Config.Workers * r.Config.Slots), Batch: float64(r.Config.Batch * r.Config.Group),
			Tail: law.Tail(e.Seed+freeOffset, r.Config.Group, 2000), SingleSlots: single, Utilisation: 1 - r.Use.IdleTrainer, Queue: freeQueue,
		}
		own := f.MeanAge()
		f.SingleSlots = !single
		o.Set(freeArm(name, single, share, slots), simulation.FiguresOf(r).LagMean, own, f.MeanAge(), f.Utilisation)
	})
	return o, err
}

func judgeMeanAge(j *claim.Judge) {
	// worst is, over the arms that are judged, the ratio to the form that is farthest from 1.
	logs := func(o *claim.Observation, form int, longTails bool) (x []float64) {
		eachFree(func(law string, single bool, share, slots int) {
			v := o.List(freeArm(law, single, share, slots))
			if v[3] <= freeBusy && (!longTails || law == "reasoning") {
				x = append(x, elementary.Log(v[0]/v[form]))
			}
		})
		return x
	}
	mean := j.Each(func(o *claim.Observation) float64 { return elementary.Exp(stats.Average(logs(o, 1, false))) })
	j.Primary(claim.Within(claim.Natural, "measured over predicted staleness, geometric mean over arms", mean, 0.97, 1.03))
	far := j.Each(func(o *claim.Observation) float64 {
		most := 0.0
		for _, x := range logs(o, 1, false) {
			most = max(most, math.Abs(elementary.Exp(x)-1))
		}
		return most
	})
	j.Secondary(claim.AtMost(claim.Natural, "distance of the ratio from 1, farthest arm", far, 0.07))
	other := j.Each(func(o *claim.Observation) float64 {
		x := logs(o, 2, true)
		for i := range x {
			x[i] = math.Abs(x[i])
		}
		return elementary.Exp(stats.Average(x))
	})
	j.Secondary(claim.Above(claim.Natural, "factor by which the form of the other kind of slots is off, long tails", other, 1.2))
	var names []string
	t := &figure.Figure{Kind: figure.Table, Title: "Mean staleness by arm", Note: "Versions, means over replications.", Columns: []figure.Column{{Name: "arm"},
		{Name: "measured", Align: figure.Right}, {Name: "predicted", Align: figure.Right}, {Name: "by the other form", Align: figure.Right}, {Name: "trainer busy", Align: figure.Right}}}
	eachFree(func(law string, single bool, share, slots int) {
		name := freeArm(law, single, share, slots)
		names = append(names, name)
		m := j.Mean(name)
		t.Add(figure.Word(name), figure.Number(m[0], 3), figure.Number(m[1], 3), figure.Number(m[2], 3), figure.Number(m[3], 2))
	})
	j.Evidence.Table = t
	j.Evidence.Picture = j.Bars("Mean staleness, measured and predicted", "versions", false, names,
		claim.Group{Name: "measured", Values: func(k int) []float64 { return j.Entry(names[k], 0) }},
		claim.Group{Name: "predicted", Values: func(k int) []float64 { return j.Entry(names[k], 1) }})
}
