package measurements

import (
	"fmt"
	"math"
	"math/rand/v2"

	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/results/stats/passk"
	"driftlab/trainer/method/stream"
)

// passkEstimates compares estimates of pass@k from few samples of each prompt with the share counted among all.
type passkEstimates struct {
	// Few is what the estimators see of a prompt. Attempts are the k that are estimated, Unbiased those at which the
	// bias is recorded, and Single the k for which single draws of k are compared.
	Few, Single        int
	Attempts, Unbiased []int
	// Prompts and Samples are the numbers at the full, the quick and the tiny size.
	Prompts, Samples []int
	// Of are ranges of difficulty by name.
	Of []struct{ Name, Difficulty string }
}

// Measure samples responses of this replication's model, and estimates.
func (m *passkEstimates) Measure(e *claim.Env, o *claim.Observation) {
	p := e.Base(0)
	for i, of := range m.Of {
		m.estimate(o, of.Name, chainTallies(e, p, of.Difficulty, m.Prompts, m.Samples), e.Rand(uint64(i)))
	}
}

// estimate compares estimates from few samples with those from all.
func (m *passkEstimates) estimate(o *claim.Observation, name string, whole []passk.Tally, rng *rand.Rand) {
	samples := whole[0].Samples
	few := make([][]passk.Tally, samples/m.Few)
	for _, p := range whole {
		for i, c := range partition(rng, p.Correct, samples, m.Few) {
			few[i] = append(few[i], passk.Tally{Correct: c, Samples: m.Few})
		}
	}
	for _, k := range m.Attempts {
		want := passk.Mean(whole, k)
		var b, p, bMiss, pMiss []float64
		for i, tallies := range few {
			b, p = append(b, passk.Fit(tallies).PassAt(k)), append(p, extrapolated(tallies, k))
			bMiss, pMiss = append(bMiss, math.Abs(b[i]-want)), append(pMiss, math.Abs(p[i]-want))
		}
		o.Append(name+" truth", want)
		o.Append(name+" Beta", stats.Average(b))
		o.Append(name+" extrapolated", stats.Average(p))
		o.Append(name+" |error|, Beta", stats.Average(bMiss))
		o.Append(name+" |error|, extrapolated", stats.Average(pMiss))
	}
	for _, k := range m.Unbiased {
		want := passk.Mean(whole, k)
		var c, p []float64
		for _, tallies := range few {
			c, p = append(c, passk.Mean(tallies, k)-want), append(p, extrapolated(tallies, k)-want)
		}
		o.Append(name+" bias, counted", stats.Average(c))
		o.Append(name+" bias, extrapolated", stats.Average(p))
	}
	// A single draw of k says only whether it held a correct response; its variance
	// is known from the truth.
	single := 0.0
	counted := stats.Map(few, func(tallies []passk.Tally) float64 { return passk.Mean(tallies, m.Single) })
	for _, t := range whole {
		q := t.PassAt(m.Single)
		single += float64(q*(1-q)) / float64(len(whole)*len(whole))
	}
	sd := stats.Deviation(counted)
	o.Set(name+" variance, single draw over counted", single/float64(sd*sd))
	o.Set(fmt.Sprintf("%s pass@1 of %d samples", name, m.Few), passk.Mean(few[0], 1))
}

// extrapolated is the mean over prompts of 1 - (1 - c/N)^k.
func extrapolated(tallies []passk.Tally, k int) float64 {
	sum := 0.0
	for _, t := range tallies {
		sum += passk.PlugIn(t.Samples, t.Correct, k)
	}
	return sum / float64(len(tallies))
}

// partition deals samples, some of them correct, into hands and counts the correct ones of each.
func partition(rng *rand.Rand, correct, samples, hand int) []int {
	hands := make([]int, samples/hand)
	for dealt := range len(hands) * hand {
		if rng.IntN(samples-dealt) < correct {
			correct--
			hands[dealt/hand]++
		}
	}
	return hands
}

// correctOf draws n responses of a pass rate and counts the correct ones.
func correctOf(rng *rand.Rand, p float64, n int) (c int) {
	for range n {
		if rng.Float64() < p {
			c++
		}
	}
	return c
}

// sampledUntilSolved compares pass@First by a fixed number of samples for every prompt, Most, with sampling that ends
// at two correct responses, after First at the earliest. Pass rates of prompts are squares of uniform numbers.
type sampledUntilSolved struct {
	Prompts, First, Most int
	// Repeats are the numbers at the full, the quick and the tiny size.
	Repeats []int
}

func (m *sampledUntilSolved) Measure(e *claim.Env, o *claim.Observation) {
	rng, repeats := e.Rand(1), float64(m.Repeats[e.Size])
	var errs, used [2]float64
	for range int(repeats) {
		truth := 0.0
		var fixed, dynamic []passk.Tally
		for range m.Prompts {
			u := rng.Float64()
			p := float64(u * u)
			truth += float64((1 - elementary.Pow(1-p, float64(m.First))) / float64(m.Prompts))
			fixed = append(fixed, passk.Tally{Correct: correctOf(rng, p, m.Most), Samples: m.Most})
			t := passk.Tally{Correct: correctOf(rng, p, m.First), Samples: m.First}
			for t.Correct < 2 && t.Samples < m.Most {
				t.Samples++
				if rng.Float64() < p {
					t.Correct++
					t.Stopped = t.Correct == 2
				}
			}
			dynamic = append(dynamic, t)
			used[0] += float64(m.Most) / repeats
			used[1] += float64(t.Samples) / repeats
		}
		for i, tallies := range [][]passk.Tally{fixed, dynamic} {
			errs[i] += math.Abs(passk.Mean(tallies, m.First)-truth) / repeats
		}
	}
	o.Set("error", errs[:]...)
	o.Set("samples", used[:]...)
}

// checkpointRanks ranks simulated checkpoints by pass@Far from the pass rates of samples, and by pass@Near by counting. A
// prompt's pass rate is the logistic function of a normal number, its ability plus the checkpoint's shift.
type checkpointRanks struct {
	Checkpoints, Prompts, Samples, Near, Far int
	// Shift is the standard deviation of the checkpoints' shifts; the spread over prompts is uniform in Spread by checkpoint.
	Shift   float64
	Spread  [2]float64
	Repeats []int // of the full, the quick and the tiny size
}

func (m *checkpointRanks) Measure(e *claim.Env, o *claim.Observation) {
	rng, repeats, prompts := e.Rand(1), float64(m.Repeats[e.Size]), float64(m.Prompts)
	var far, near, turned float64
	for range int(repeats) {
		var one, truth, estimate, eight, counted []float64
		ability := make([]float64, m.Prompts)
		for i := range ability {
			ability[i] = stream.Normal(rng)
		}
		for range m.Checkpoints {
			shift, spread := float64(m.Shift*stream.Normal(rng)), m.Spread[0]+float64((m.Spread[1]-m.Spread[0])*rng.Float64())
			var p1, pFar, plug, p8 float64
			var tallies []passk.Tally
			for _, a := range ability {
				p := logistic(float64(spread*(float64(0.8*a)+float64(0.6*stream.Normal(rng)))) + shift)
				c := correctOf(rng, p, m.Samples)
				p1 += float64(p / prompts)
				pFar += float64((1 - elementary.Pow(1-p, float64(m.Far))) / prompts)
				p8 += float64((1 - elementary.Pow(1-p, float64(m.Near))) / prompts)
				plug += float64((1 - elementary.Pow(1-float64(float64(c)/float64(m.Samples)), float64(m.Far))) / prompts)
				tallies = append(tallies, passk.Tally{Correct: c, Samples: m.Samples})
			}
			one, truth, estimate = append(one, p1), append(truth, pFar), append(estimate, plug)
			eight, counted = append(eight, p8), append(counted, passk.Mean(tallies, m.Near))
		}
		far += stats.Spearman(estimate, truth) / repeats
		near += stats.Spearman(counted, eight) / repeats
		pairs := 0.0
		for i := range one {
			for k := range i {
				if (one[i] > one[k]) != (truth[i] > truth[k]) {
					pairs += 2 / float64(m.Checkpoints*(m.Checkpoints-1))
				}
			}
		}
		turned += pairs / repeats
	}
	o.Set("rank correlation", far, near)
	o.Set("pairs that turn", turned)
}
