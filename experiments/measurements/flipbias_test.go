package measurements

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/experiments/study/claims/claim"
	"driftlab/results/stats"
)

// smallTKD is a measurement of milliseconds.
func smallTKD(t *testing.T) *gradientBias {
	t.Helper()
	k := newGradientBias(&claim.Env{Seed: 5, Size: claim.Tiny}, 8, 4, 1, []int{4, 8, 16})
	t.Cleanup(k.pass.Close)
	return k
}

// TestTKDDoseZero: without flips and without noise the sampler is the learner:
// no KL, and a difference of exactly nothing.
func TestTKDDoseZero(t *testing.T) {
	k := smallTKD(t)
	routes, rates := k.flip(0)
	if !slices.Equal(routes, k.routes) || slices.Max(rates) != 0 {
		t.Errorf("router noise of size 0 flips %v", rates)
	}
	logits := k.sampler(routes)
	if !slices.Equal(logits, k.logp) {
		t.Fatal("along its own routes the model gives other bits")
	}
	weights := k.difference(logits, make([]float64, 3))
	if slices.ContainsFunc(logits, func(x float32) bool { return x != 0 }) {
		t.Error("equal engines have a bias")
	}
	for _, w := range slices.Concat(weights...) {
		if w != 0 {
			t.Errorf("equal engines have a weight of 1 %+g", w)
		}
	}
}

// TestTKDFlips: the memberships that change are as many as asked for, and the
// logit noise fills the KL of every segment up to the same value.
func TestTKDFlips(t *testing.T) {
	k := smallTKD(t)
	c := k.params.Config
	routes, rates := k.flip(k.sizeFor(0.2))
	if r := rates[len(rates)-1]; r < 0.1 || r > 0.4 {
		t.Errorf("Kδ is %v", r)
	}
	changed := 0
	for i := 0; i < len(routes); i += c.TopK {
		for _, id := range routes[i : i+c.TopK] {
			if !slices.Contains(k.routes[i:i+c.TopK], id) {
				changed += 2 // one expert in, one out
			}
		}
	}
	if got := float64(changed) / float64(k.b.Len()*k.length*c.Layers); math.Abs(got-rates[len(rates)-1]) > 1e-12 {
		t.Errorf("%v memberships change per decision, of %v reported", got, rates)
	}
	logits := k.sampler(routes)
	floor := slices.Max(k.tokenKL(logits, make([]float64, 3)))
	want := 2 * floor
	size, have := k.match(logits, want)
	for s, kl := range k.tokenKL(logits, size) {
		if math.Abs(kl/want-1) > 1e-4 || kl != have[s] {
			t.Errorf("segment %d: KL %g, want %g", s, kl, want)
		}
	}
}

// TestTKDBias recomputes d/d logits of b from its definition for the first two
// tokens of a response: the derivative of log pi by central differences, the
// mean over the noise drawn again, and the weight that the first token leaves
// to the second.
func TestTKDBias(t *testing.T) {
	k := smallTKD(t)
	const response, size = 2, 0.5
	logits := slices.Clone(k.logp)
	k.difference(logits, []float64{size, size, size})
	v := tkdVocab
	var sources [tkdPairs]rand.PCG
	for pair := range sources {
		k.noiseOf(&sources[pair], response, pair)
	}
	w := 1.0
	for step := range 2 {
		at := (response*k.length + step) * v
		p, q, mean, noise := make([]float64, v), make([]float64, v), make([]float64, v), make([]float64, v)
		for pair := range sources {
			rng := rand.New(&sources[pair])
			for a := range noise {
				noise[a] = rng.NormFloat64()
			}
			for _, sign := range []float64{1, -1} {
				softmaxInto(q, k.logp[at:at+v], noise, sign*size)
				for a := range mean {
					mean[a] += q[a] / (2 * tkdPairs)
				}
			}
		}
		softmaxInto(p, k.logp[at:at+v], nil, 0)
		// Σ_a (w·mu̅_a − pi_a)·r̃_a·log softmax(z)_a, as a function of z.
		value := func(z []float64) float64 {
			norm, sum := 0.0, 0.0
			for _, x := range z {
				norm += math.Exp(x)
			}
			for a, x := range z {
				sum += (w*mean[a] - p[a]) * (k.reward[a] - k.baseline) * (x - math.Log(norm))
			}
			return sum
		}
		z := make([]float64, v)
		for a, x := range k.logp[at : at+v] {
			z[a] = float64(x)
		}
		for a, got := range logits[at : at+v] {
			const h = 1e-5
			x := z[a]
			z[a] = x + h
			above := value(z)
			z[a] = x - h
			want := (above - value(z)) / (2 * h)
			z[a] = x
			if math.Abs(float64(got)*float64(k.chunk)-want) > 1e-7 {
				t.Fatalf("token %d, entry %d: %g, the definition gives %g", step, a, got, want)
			}
		}
		token := k.b.Token[k.b.Offsets[response]+step]
		w *= mean[token] / p[token]
		if w == 1 {
			t.Error("the noise leaves no weight: nothing was tested")
		}
	}
}

// TestTKDNorm: the estimate has the expectation of the squared norm of the
// mean, which the plain square of the mean exceeds by the noise.
func TestTKDNorm(t *testing.T) {
	e := &claim.Env{Seed: 1}
	rng := e.Rand(9)
	square, trials := 0.0, 400
	for range trials {
		var m tkdNorm
		for range 4 {
			m.add([]float32{float32(2 + rng.NormFloat64()), float32(rng.NormFloat64())})
		}
		total := m.sum[0]*m.sum[0] + m.sum[1]*m.sum[1]
		square += (total - m.squares) / 12 / float64(trials)
	}
	if math.Abs(square-4) > 0.3 {
		t.Errorf("mean of the estimates %g, want 4", square)
	}
	var m tkdNorm
	for range 3 {
		m.add([]float32{3, 4})
	}
	if m.square() != 25 {
		t.Errorf("squared norm of a constant vector %g, want 25", m.square())
	}
}

// TestTKDBackward: a saved forward pass serves any number of backward passes,
// and the gradient of a prefix needs no more than the prefix.
func TestTKDBackward(t *testing.T) {
	k := smallTKD(t)
	v, full := tkdVocab, k.length
	short := k.lengths[0]
	dlogits := make([]float32, k.chunk*full*v)
	rng := (&claim.Env{Seed: 3}).Rand(1)
	for i := range short * v {
		dlogits[i] = float32(rng.NormFloat64())
	}
	k.forward(0, full, nil, true)
	first := slices.Clone(k.backward(slices.Clone(dlogits)))
	if again := k.backward(slices.Clone(dlogits)); !slices.Equal(first, again) {
		t.Error("a second backward pass gives another gradient")
	}
	k.forward(0, short, nil, true)
	for i, x := range k.backward(slices.Clone(dlogits[:short*v])) {
		if math.Abs(float64(x-first[i])) > 1e-5*(1+math.Abs(float64(x))) {
			t.Fatalf("parameter %d: %g from the prefix, %g from the whole", i, x, first[i])
		}
	}
}

// TestExcess: the exponents come back where the floor hides half of the law
// and noise makes cells negative, and by a plain regression they do not.
func TestExcess(t *testing.T) {
	var f excess
	f.x = make([][]float64, 2)
	var logs []float64
	for i, k := range []float64{0.01, 0.03, 0.1} {
		for _, T := range []float64{32, 64, 128} {
			c := 2e-4 * (1 + 0.3*float64(i))
			f.floor, f.scale = append(f.floor, c), append(f.scale, k)
			f.y = append(f.y, 0.5*math.Pow(k, 2)*math.Pow(T/32, 0.6)+c)
			logs = append(logs, math.Log(f.y[len(f.y)-1]))
			f.x[0], f.x[1] = append(f.x[0], math.Log(k)), append(f.x[1], math.Log(T))
		}
	}
	beta := f.fit(1, 0)
	if math.Abs(beta[1]-2) > 1e-6 || math.Abs(beta[2]-0.6) > 1e-6 {
		t.Errorf("exponents %v, want 2 and 0.6", beta[1:])
	}
	if _, plain := stats.Regress(logs, f.x...); plain[0] > 1.7 {
		t.Errorf("a plain regression finds %v too: nothing was tested", plain[0])
	}
	for i := range 3 { // the fewest flips: what is left of them is noise
		f.y[i] -= 3e-4 * float64(1-2*(i%2))
	}
	if noisy := f.fit(2, 0); math.Abs(noisy[1]-2) > 0.3 {
		t.Errorf("with noise in the smallest cells the exponent is %v, want 2", noisy[1])
	}
	for i := range f.y {
		f.y[i] = f.floor[i] / 2
	}
	if none := f.fit(2, 0); !math.IsNaN(none[1]) {
		t.Errorf("without an excess the exponent is %v", none[1])
	}
}
