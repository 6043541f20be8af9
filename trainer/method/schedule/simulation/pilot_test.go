package simulation

import (
	"flag"
	"math"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/schedule"
)

// pilot is the queue model of systems.md, section 1: lengths with sigma .99 cut at 20
// medians, B = 64, 192 slots of constant speed, training in half a median's time.
func pilot() (schedule.Config, Law) {
	return schedule.Config{
		Workers: 192, Engine: 1, Slots: 1, Trainers: 100, Batch: 64, Group: 1, Prompt: 1, Steps: 600,
		Costs: schedule.Costs{DecodeStep: 1000, LearnToken: 162},
	}, Law{Median: 100, Sigma: 990, Cap: 20, Turns: 1}
}

// inOrder is AReaL's rule with its batches in the order of submission, without a gap.
type inOrder struct{ schedule.AReaL }

func (c *inOrder) Batch(v schedule.View) []*schedule.Sample {
	return (&schedule.LlamaRL{Depth: 1}).Batch(v)
}

// byEnd is AReaL's rule with its batches in the order in which samples end.
type byEnd struct{ schedule.AReaL }

func (c *byEnd) Traits() schedule.Traits {
	t := c.AReaL.Traits()
	t.InOrder = false
	return t
}

// dropping is AReaL's rule with a hard bound by dropping what is too old when it is
// taken.
type dropping struct{ schedule.AReaL }

func (d *dropping) Verdict(v schedule.View, s *schedule.Sample) schedule.Fate {
	if s.Done() && s.Lag(v.Version) > d.Eta {
		return schedule.Drop
	}
	return schedule.Take
}

// judged runs a policy on the pilot's cluster.
func judged(t *testing.T, p schedule.Policy) Figures {
	t.Helper()
	config, law := pilot()
	return FiguresOf(simulated(t, config, p, law))
}

// simulated is a run of a policy to its end.
func simulated(t *testing.T, config schedule.Config, p schedule.Policy, law Law) *Run {
	t.Helper()
	r, err := Simulate(config, p, law, 1)
	if err != nil || r.Stuck {
		t.Fatalf("%T: %v, stuck %v", p, err, r.Stuck)
	}
	return r
}

// reasoning is the distribution of that name.
func reasoning(t *testing.T) Law {
	t.Helper()
	law, err := LookupLaw("reasoning")
	if err != nil {
		t.Fatal(err)
	}
	return law
}

// near fails unless a figure is what the pilot found, within a tolerance.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s: %.3f, the pilot found %.3f", what, got, want)
	}
}

// above is the share of samples with a greater lag.
func above(histogram []int, lag int) float64 {
	n, over := 0, 0
	for l, k := range histogram {
		n += k
		if l > lag {
			over += k
		}
	}
	return float64(over) / float64(n)
}

var exhaustive = flag.Bool("exhaustive", false, "every bound of the pilot, as in nightly tests, in place of one")

// Reference: systems.md, section 1, laws 1 to 4, eta 1, 2 and 4; eta 2 alone unless the test is
// exhaustive.
func TestFourLaws(t *testing.T) {
	if testing.Short() {
		t.Skip("half a million samples")
	}
	for i, eta := range []int{1, 2, 4} {
		if !*exhaustive && eta != 2 {
			continue
		}
		rule := schedule.AReaL{Eta: eta, Interpolated: true}
		free := judged(t, &rule)
		strict := judged(t, &inOrder{rule})

		// 1. The count makes the mean lag tend to eta, in any order of consumption.
		near(t, "mean lag", free.LagMean, []float64{1, 1.99, 3.92}[i], 0.05)
		near(t, "mean lag by end", judged(t, &byEnd{rule}).LagMean, free.LagMean, 0.05)
		near(t, "mean lag in order", strict.LagMean, float64(eta), 0.05)

		// 2. It does not bound one sample.
		near(t, "share above eta", above(free.LagHistogram, eta), []float64{0.21, 0.24, 0.25}[i], 0.02)
		near(t, "worst lag", float64(free.LagMax), []float64{15, 25, 39}[i], 4)

		// 3. A hard bound by dropping is a filter by length.
		dropped := judged(t, &dropping{rule})
		if dropped.LagMax > eta {
			t.Errorf("dropping: lag %d", dropped.LagMax)
		}
		near(t, "trained by sampled length", dropped.LengthRatio, []float64{0.60, 0.58, 0.58}[i], 0.03)

		// 4. A hard bound by strict order costs speed.
		if strict.LagMax > eta {
			t.Errorf("in order: lag %d", strict.LagMax)
		}
		near(t, "learner busy", 1-free.IdleTrainer, []float64{0.37, 0.60, 0.94}[i], 0.04)
		near(t, "learner busy, in order", 1-strict.IdleTrainer, []float64{0.08, 0.12, 0.18}[i], 0.02)
	}
}

// Reference: systems.md, 2.5, S = .3 alone unless the test is exhaustive: the mean lag is S; mode c never above 1, mode d up to
// 5, 8 and 10 at S = .1, .3 and .5.
func TestVerlPilot(t *testing.T) {
	if testing.Short() {
		t.Skip("many samples")
	}
	for i, percent := range []int{10, 30, 50} {
		if !*exhaustive && percent != 30 {
			continue
		}
		for _, partial := range []bool{false, true} {
			f := judged(t, &schedule.Verl{K: 4, StalenessPercent: percent, Partial: partial, RequireBatches: 1})
			near(t, "mean lag", f.LagMean, float64(percent)/100, 0.02)
			if partial {
				near(t, "worst lag of mode d", float64(f.LagMax), []float64{5, 8, 10}[i], 2)
			} else {
				near(t, "worst lag of mode c", float64(f.LagMax), 1, 0)
			}
		}
	}
}

// Reference: systems.md, 2.6, even a alone unless the test is exhaustive: the mean lag is a, the worst ⌈a⌉, nothing is aborted;
// throughput does not fall with a.
func TestRollPilot(t *testing.T) {
	if testing.Short() {
		t.Skip("many samples")
	}
	last := 0.0
	for _, a := range []int{0, 1, 2, 4} {
		if !*exhaustive && a%2 != 0 {
			continue
		}
		f := judged(t, &schedule.RollFlash{RatioPercent: 100 * a})
		near(t, "mean lag", f.LagMean, float64(a), 0.05)
		near(t, "worst lag", float64(f.LagMax), float64(a), 0)
		near(t, "dropped", float64(f.Dropped), 0, 0)
		if f.Throughput < last {
			t.Errorf("a = %d: throughput fell from %v to %v", a, last, f.Throughput)
		}
		last = f.Throughput
	}
}

// Reference: systems.md, section 3: with d1·N/d0 = 10 the last tenth of the requests
// takes .43 to .53 of the rollout, which is 1.7 to 2.1 times the ideal; at constant
// speed .76 to .83 and 9 to 13 times.
func TestTail(t *testing.T) {
	law := reasoning(t)
	law.Correlation = 0
	for _, c := range []struct {
		name                     string
		slot                     int
		tailLow, tailHigh        float64
		overIdeal, overIdealHigh float64
	}{
		{"calibrated", method.New[schedule.Costs]().DecodeSlot, 0.43, 0.53, 1.7, 2.1},
		{"constant speed", 0, 0.76, 0.83, 9, 13},
	} {
		cluster := DefaultCluster(64)
		cluster.Costs.DecodeSlot, cluster.Steps = c.slot, 6
		r := simulated(t, cluster.Together(), &schedule.Sync{}, law)
		tail, over := tailOf(r)
		t.Logf("%s: tail %.2f, by ideal %.2f", c.name, tail, over)
		if tail < c.tailLow-0.05 || tail > c.tailHigh+0.05 || over < c.overIdeal*0.85 || over > c.overIdealHigh*1.15 {
			t.Errorf("%s: the tail takes %.2f of the rollout, which is %.2f times the ideal", c.name, tail, over)
		}
	}
}

// Seer's order is worth what waits: in eight waves of a batch the time of the last
// tenth falls by more than half where the lengths of a group are equal; in two,
// half of the batch runs before any probe has said how long its group is, and the tail
// stays equal, or grows a little.
func TestLongestFirstNeedsAQueue(t *testing.T) {
	law := reasoning(t)
	law.Correlation = 1000
	last := func(p schedule.Policy, slots int) (ticks float64) {
		c := DefaultCluster(32)
		c.Slots, c.Steps = slots, 4
		r := simulated(t, c.Together(), p, law)
		batch := r.Config.Batch * r.Config.Group
		for i := range r.Updates {
			ends := r.Ends[i*batch : (i+1)*batch]
			ticks += float64(ends[batch-1] - ends[batch*9/10-1])
		}
		return ticks
	}
	few, many := last(&schedule.Sync{}, 2), last(&schedule.Sync{}, 8)
	for _, chunk := range []int{1 << 20, 2048} {
		seer := &schedule.Seer{Chunk: chunk, AcceptPercent: 60}
		if x := last(seer, 2) / few; x > 0.5 {
			t.Errorf("chunks of %d, eight waves: the tail is %.2f of first come, first served", chunk, x)
		}
		if x := last(seer, 8) / many; x < 0.9 || x > 1.25 {
			t.Errorf("chunks of %d, two waves: the tail is %.2f of first come, first served", chunk, x)
		}
	}
}

// tailOf is the share of synchronous rollouts in which fewer than a tenth of the
// requests run, and the time of the rollouts by that of as many tokens at the speed
// at which they begin.
func tailOf(r *Run) (tail, overIdeal float64) {
	each := r.Config.Batch * r.Config.Group / r.Config.Workers // requests of a worker
	perBatch := r.Config.Batch * r.Config.Group
	var last, whole int
	for i, end := range r.Updates {
		begin := end
		for _, s := range r.Log {
			if s.Activity == schedule.Generating && (i == 0 || s.From > r.Updates[i-1]) {
				begin = min(begin, s.From)
			}
		}
		last += end - r.Ends[i*perBatch+perBatch*9/10-1]
		whole += end - begin
	}
	ideal := float64(r.Counts.TrainedTokens) / float64(r.Config.Workers*each) * float64(r.Config.Costs.Decode(each, r.Config.Engine))
	return float64(last) / float64(whole), float64(whole) / ideal
}
