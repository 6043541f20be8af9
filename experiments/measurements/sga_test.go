package measurements

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method/stream"
)

// enumerated are the moments by the definition: every response of the process,
// its chance, its weights and its gradient.
func enumerated(p *sgaProcess, muLogits, piLogits *sgaPolicy, k aggregation) (mean [sgaParams]float64, square float64) {
	mu, pi := muLogits.probabilities(), piLogits.probabilities()
	baseline, _ := p.gradient(muLogits)
	factor, block := k.factors(&mu, &pi, p.length), k.block(p.length)
	state, token := make([]int, p.length+1), make([]int, p.length)
	var walk func(t int, chance, gain float64)
	walk = func(t int, chance, gain float64) {
		if chance == 0 {
			return
		}
		if t < p.length {
			s := state[t]
			for a := range sgaTokens {
				token[t] = a
				for n, q := range p.step(t)[s][a] {
					state[t+1] = n
					walk(t+1, chance*mu[s][a]*q, gain+p.pay[s][a])
				}
			}
			return
		}
		gain += p.final[state[t]] - baseline
		var g [sgaParams]float64
		for t := range p.length {
			w, from, to := 1.0, t/block*block, min((t/block+1)*block, p.length)
			if k.Prefix {
				from, to = 0, t+1
			}
			for u := from; u < to; u++ {
				w *= factor[state[u]][token[u]]
			}
			for a := range sgaTokens {
				g[state[t]*sgaTokens+a] -= w * gain * pi[state[t]][a]
			}
			g[state[t]*sgaTokens+token[t]] += w * gain
		}
		for i, v := range g {
			mean[i] += chance * v
			square += chance * v * v
		}
	}
	walk(0, 1, 0)
	return mean, square
}

// everyAggregation is one of each kind.
var everyAggregation = []aggregation{{Name: "no IS", Size: 1, Power: "0"}, {Name: "token TIS", Size: 1, Limit: 2}, {Name: "geometric", Power: "1/t"},
	{Name: "block 4", Size: 4}, {Name: "root", Power: "1/sqrt(t)"}, {Name: "prefix", Prefix: true}, {Name: "sequence IS"}}

func TestMomentsOfAggregations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var mu, pi sgaPolicy
	for s := range mu {
		for a := range mu[s] {
			mu[s][a] = stream.Normal(rng)
			pi[s][a] = mu[s][a] + 0.5*stream.Normal(rng)
		}
	}
	two := aggregation{Name: "block 2", Size: 2}
	terminal := terminalProcess(40)
	terminal.length = 6 // the game is on for the first five
	for _, p := range []*sgaProcess{denseProcess(3, rng), terminal} {
		for _, k := range append(everyAggregation[:len(everyAggregation):len(everyAggregation)], two) {
			if k.Sampled {
				continue
			}
			mean, square := p.moments(&mu, &pi, k)
			wantMean, wantSquare := enumerated(p, &mu, &pi, k)
			for i := range mean {
				if math.Abs(mean[i]-wantMean[i]) > 1e-12 {
					t.Errorf("%s, %d tokens: mean %d is %v, enumerated %v", k.Name, p.length, i, mean[i], wantMean[i])
				}
			}
			if math.Abs(square/wantSquare-1) > 1e-10 {
				t.Errorf("%s, %d tokens: squared norm %v, enumerated %v", k.Name, p.length, square, wantSquare)
			}
		}
	}
}

// The sequence weight is unbiased, and a sample whose limit cuts nothing has its
// moments within the sample's noise.
func TestSequenceWeight(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	p := denseProcess(6, rng)
	var mu, pi sgaPolicy
	for s := range mu {
		for a := range mu[s] {
			pi[s][a] = mu[s][a] + 0.1*stream.Normal(rng)
		}
	}
	_, truth := p.gradient(&pi)
	mean, square := p.moments(&mu, &pi, aggregation{Name: "sequence IS"})
	if bias, _, _ := efficiency(mean, square, truth, 0); bias > 1e-12 {
		t.Errorf("bias %v", bias)
	}
	const responses = 20000
	near, nearSquare := p.sampled(rng, &mu, &pi, math.Inf(1), responses)
	for i := range near {
		if d := math.Abs(near[i] - mean[i]); d > 4*math.Sqrt(square/responses) {
			t.Errorf("sampled mean %d is %v off", i, d)
		}
	}
	if math.Abs(nearSquare/square-1) > 0.1 {
		t.Errorf("sampled square %v, exact %v", nearSquare, square)
	}
}

func TestWeightsOfAResponse(t *testing.T) {
	logs := []float64{0.4, 0.6, -0.2}
	for _, c := range []struct {
		k    aggregation
		want [3]float64 // logs of the weights
	}{
		{aggregation{Size: 1, Power: "0"}, [3]float64{0, 0, 0}},
		{aggregation{Size: 1}, [3]float64(logs)},
		{aggregation{Size: 2}, [3]float64{1, 1, -0.2}},
		{aggregation{Power: "1/t"}, [3]float64{0.8 / 3, 0.8 / 3, 0.8 / 3}},
		{aggregation{Prefix: true}, [3]float64{0.4, 1, 0.8}},
		{aggregation{}, [3]float64{0.8, 0.8, 0.8}},
		{aggregation{Limit: 2}, [3]float64{math.Ln2, math.Ln2, math.Ln2}},
	} {
		w := make([]float64, len(logs))
		c.k.weights(w, logs)
		for i, v := range w {
			if math.Abs(math.Log(v)-c.want[i]) > 1e-12 {
				t.Errorf("%s, block %d: log of weight %d is %v, want %v", c.k.Name, c.k.Size, i, math.Log(v), c.want[i])
			}
		}
	}
}

// The gradient of a large batch agrees with the exact mean, for every aggregation, and steps
// along exact gradients raise the reward.
func TestSampledGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	p := newSGAProblem(rng, denseProcess(6, rng), 2, 30, 20000)
	var pi sgaPolicy
	for s := range pi {
		for a := range pi[s] {
			pi[s][a] = p.first[s][a] + 0.1*stream.Normal(rng)
		}
	}
	for k := range everyAggregation {
		if everyAggregation[k].Sampled {
			continue
		}
		g := p.sampledGradient(rng, &everyAggregation[k], &p.first, &pi)
		mean, square := p.moments(&p.first, &pi, everyAggregation[k])
		for i := range g {
			if d := math.Abs(g[i]/float64(p.responses) - mean[i]); d > 4*math.Sqrt(square/float64(p.responses)) {
				t.Errorf("%s: mean %d is %v off", everyAggregation[k].Name, i, d)
			}
		}
	}
	start, _ := p.gradient(&p.first)
	end := p.train(0.06, func(_, pi *sgaPolicy) [sgaParams]float64 {
		_, g := p.gradient(pi)
		return g
	})
	if end <= start {
		t.Errorf("exact gradients lead from %v to %v", start, end)
	}
}
