package simulation

import (
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"testing"

	"driftlab/trainer/method/schedule"
)

// length is the length of one response.
func length(l Law, seed uint64, prompt, response int) int {
	turns := l.turns(nil, seed, prompt, response)
	return turns[len(turns)-1]
}

// Lengths are the same on every processor.
func TestLengthsArePinned(t *testing.T) {
	law := reasoning(t)
	h := fnv.New64a()
	for prompt := range 500 {
		for response := range 8 {
			h.Write(strconv.AppendInt(nil, int64(length(law, 1, prompt, response)), 10))
		}
	}
	const want = 0xf1a30efef5a335bf
	if got := h.Sum64(); got != want {
		t.Errorf("the lengths sum up to %#x, they did to %#x", got, uint64(want))
	}
	if _, err := LookupLaw("reasonin"); err == nil {
		t.Error("a name that is none")
	}
}

// Reference: systems.md, section 3: P99 ten times the median, mean 2.4K, .1%
// truncated for reasoning; correlation .6 within a group.
func TestLaws(t *testing.T) {
	const prompts, group = 6000, 4
	for _, l := range laws {
		all := make([]int, 0, prompts*group)
		var sum, square, cross float64
		for p := range prompts {
			var logs [group]float64
			for i := range group {
				n := length(l, 3, p, i)
				if n < 1 || l.Cap > 0 && n > l.Turns*l.Cap*l.Median {
					t.Fatalf("%s: a length of %d", l.Name, n)
				}
				all = append(all, n)
				logs[i] = math.Log(float64(n))
				sum += logs[i]
				square += logs[i] * logs[i]
			}
			cross += logs[0]*logs[1] + logs[2]*logs[3]
		}
		slices.Sort(all)
		n := float64(len(all))
		mean := sum / n
		variance := square/n - mean*mean
		correlation := (cross/(n/2) - mean*mean) / max(variance, 1e-9)
		median, p99 := float64(all[len(all)/2]), float64(all[len(all)*99/100])
		total := 0
		for _, x := range all {
			total += x
		}
		t.Logf("%s: median %v, P99 %v, mean %d, sigma %.3f, correlation %.3f", l.Name, median, p99, total/len(all), math.Sqrt(variance), correlation)
		switch l.Name {
		case "reasoning":
			if math.Abs(median/1470-1) > 0.05 || math.Abs(p99/median-10) > 1 || math.Abs(float64(total)/n-2400) > 120 ||
				math.Abs(math.Sqrt(variance)-0.99) > 0.02 || math.Abs(correlation-0.6) > 0.03 {
				t.Errorf("%s is another law", l.Name)
			}
		case "mild":
			if math.Abs(math.Sqrt(variance)-0.6) > 0.02 {
				t.Errorf("%s: sigma %v", l.Name, math.Sqrt(variance))
			}
		case "fixed":
			if all[0] != 2400 || all[len(all)-1] != 2400 {
				t.Errorf("%s: from %d to %d", l.Name, all[0], all[len(all)-1])
			}
		}
	}
}

// As many samples are refused as Refuse says, the same whatever the policy; a run that
// refuses trains as much and decodes more.
func TestRefuse(t *testing.T) {
	law := Law{Median: 50, Sigma: 500, Turns: 1, Refuse: 40}
	n := 0
	for sample := range 10_000 {
		if law.refused(7, sample) {
			n++
		}
	}
	if math.Abs(float64(n)-4000) > 4*math.Sqrt(10_000*.4*.6) {
		t.Errorf("%d of 10000 are refused, not 40%%", n)
	}
	c := DefaultCluster(16)
	c.Steps = 5
	plain, err := Compare(c, "skyrl", &schedule.SkyRL{Staleness: 2}, law, 1)
	c.Refuse = 40
	refusing, other := Compare(c, "skyrl", &schedule.SkyRL{Staleness: 2}, law, 1)
	if err != nil || other != nil {
		t.Fatal(err, other)
	}
	if refusing.Run.Counts.Trained != plain.Run.Counts.Trained || refusing.Dropped == 0 || refusing.Throughput >= plain.Throughput {
		t.Errorf("%d of %d trained, %d dropped, %v of %v tokens a second", refusing.Run.Counts.Trained, plain.Run.Counts.Trained, refusing.Dropped, refusing.Throughput, plain.Throughput)
	}
	if refusing.Synchronous.Dropped == 0 {
		t.Error("the synchronous loop beside it refuses nothing")
	}
	c.Old = "snapshot"
	if _, err := Compare(c, "skyrl", &schedule.SkyRL{}, law, 1); err == nil {
		t.Error("an unknown way of old log-probs")
	}
}

// A sync of what has changed takes its share of the ticks; nothing else is another.
func TestDelta(t *testing.T) {
	c := DefaultCluster(16)
	full := c.Apart()
	c.Delta = 3
	want := full
	want.Costs.Push, want.Costs.Sync = full.Costs.Push*3/100, full.Costs.Sync*3/100
	if got := c.Apart(); got != want || full.Costs != c.Costs {
		t.Errorf("%+v, want %+v", got, want)
	}
}
