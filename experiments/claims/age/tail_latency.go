package age

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/schedule/simulation"
)

// rollouts are the ways to order one synchronous batch.
var rollouts = []struct {
	name   string
	policy schedule.Policy
}{
	{"first come, first served", &schedule.Sync{}},
	{"longest group first", &schedule.Seer{Chunk: 1 << 20, AcceptPercent: 60}},
	{"that, with migration", &schedule.Seer{Chunk: 2048, AcceptPercent: 60}},
	{"that, with migration and drafts", &schedule.Seer{Chunk: 2048, Draft: 2, AcceptPercent: 60}},
}

// tailSettings differ in what a group tells about its members, and in how
// decoding slows down under load.
var tailSettings = []struct {
	name              string
	correlation, slot int
}{
	{"correlation 0.6", 600, 1500},
	{"correlation 1", 1000, 1500},
	{"correlation 0", 0, 1500},
	{"constant speed", 600, 0},
}

// tailSlots is the number of requests that a device serves at once: a batch has
// 16 per device and comes in two waves.
const tailSlots = 8

func tailLatency() claim.Claim {
	return claim.Claim{
		ID:        "tail-latency",
		Title:     "On a clock, serving the longest groups first shortens the tail of a rollout",
		Statement: "Serving the groups with the longest probes first takes less time for the last tenth of the responses than first come, first served.",
		Source:    "Seer, 2511.14617.",
		Figure:    "the last tenth of the requests takes up to half of the rollout's time; tail latency -75 % to -93 %, throughput +74 % to +97 %",
		Threshold: "Time from the end of 90 % of a batch's responses to its last, first come first served over the longest group first, without migration and drafts: interval above 1.",
		Setup: "Synchronous rollouts of 64 prompts with eight responses on 32 devices of the virtual clock, 24 batches per replication; lengths lognormal with sigma 0.99, cut at 20 medians, of which 0.6 of the variance of the logarithm is the prompt's; " +
			"eight slots per device, half of a batch. Reported: with chunks of 2,048 tokens that migrate; with two drafts per token of which each is accepted with probability 0.6; the lengths of a group equal, and independent; decoding at a speed that the load does not change. " +
			"Pilot runs on seed 9001: throughput of Seer over synchronous at 4, 8 and 16 slots (1.02, 1.01, 1.00 without drafts); 8 was taken as the fewest waves with a queue, and 64 devices became 32 to save compute. On seeds 9001 to 9003, with 64: the longest group first 0.996, with migration 1.04, and 1.04 just so where the lengths of a group are independent. That gain is migration's, and not the probe's: the primary check, which had been on the arm with migration, was put on the order alone.",
		LeftOut:  "A drafter that goes stale: its acceptance is a constant here.",
		Commands: []string{"simulate schedule seer cluster.slots=8 --gpus 32"},
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure:  measureTail,
		Judge:    judgeTail,
	}
}

func measureTail(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	law, err := reasoning(990)
	if err != nil {
		return nil, err
	}
	for _, s := range tailSettings {
		law.Correlation = s.correlation
		c := clusterOf(e, settings[1])
		c.Slots, c.Costs.DecodeSlot = tailSlots, s.slot
		var tail, whole []float64
		for _, r := range rollouts {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			run, err := simulated(e, c.Together(), r.policy, law)
			if err != nil {
				return nil, err
			}
			last, all := tailOf(run)
			tail, whole = append(tail, last), append(whole, all)
		}
		o.Set(s.name+", tail", tail...)
		o.Set(s.name+", rollout", whole...)
	}
	return o, nil
}

// tailOf is, summed over the updates of a synchronous run in seconds, the time
// from the end of 90 % of a batch's responses to that of the last, and the time
// of the whole rollouts.
func tailOf(r *simulation.Run) (tail, whole float64) {
	batch := r.Config.Batch * r.Config.Group
	ends := r.Ends
	for range r.Updates {
		tail += float64(ends[batch-1]-ends[batch*9/10-1]) / 1e6
		ends = ends[batch:]
	}
	return tail, simulation.FiguresOf(r).RolloutSeconds
}

func judgeTail(j *claim.Judge) {
	for i, s := range tailSettings {
		for k, r := range rollouts[1:] {
			fcfs, arm := j.Entry(s.name+", tail", 0), j.Entry(s.name+", tail", k+1)
			if i == 0 && k == 0 {
				j.Primary(claim.Ratio(claim.Natural, "time of the last tenth, first come first served over the longest group first", fcfs, arm, 1))
			} else {
				j.Secondary(claim.ReportRatio(claim.Natural, s.name+": time of the last tenth, first come first served over "+r.name, fcfs, arm))
			}
			j.Secondary(claim.ReportRatio(claim.Natural, s.name+": rollout, first come first served over "+r.name, j.Entry(s.name+", rollout", 0), j.Entry(s.name+", rollout", k+1)))
		}
		j.Secondary(claim.Report(claim.Natural, s.name+": share of the rollout that is tail, first come first served", stats.Quotients(j.Entry(s.name+", tail", 0), j.Entry(s.name+", rollout", 0))))
	}
	name := tailSettings[0].name + ", tail"
	cut := func(k int) float64 { return 100 * (1 - 1/stats.TRatio(j.Entry(name, 0), j.Entry(name, k)).Estimate) }
	j.Note("The order alone cuts the time of the last tenth by %.1f %%, with migration by %.1f %%, with drafts, too, by %.0f %%; published are 75 %% to 93 %% for all three. One response cannot be split, and the longest of a batch sets its end whatever else runs: only drafts make that one shorter.", cut(1), cut(2), cut(3))
	var rows []string
	for _, r := range rollouts {
		rows = append(rows, r.name)
	}
	var groups []claim.Group
	for _, s := range tailSettings {
		groups = append(groups, claim.Group{Name: s.name, Values: func(k int) []float64 {
			return stats.Quotients(j.Entry(s.name+", tail", k), j.Entry(s.name+", rollout", 0))
		}})
	}
	j.Evidence.Picture = j.Bars("Time of the last tenth of the responses, over the rollout first come, first served", "share", false, rows, groups...)
	j.Evidence.Table = j.NamedTable("Seconds on the virtual clock, lengths of a group correlated 0.6", "order", rows, tailSettings[0].name+", tail", tailSettings[0].name+", rollout")
}
