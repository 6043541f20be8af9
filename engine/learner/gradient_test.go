package learner_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/moe"
)

func exp(x float64) float64 { return math.Exp(x) }

// coefficients are one per token, of both signs.
func coefficients(seed uint64, n int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 8))
	c := make([]float64, n)
	for i := range c {
		c[i] = 4*rng.Float64() - 2
	}
	return c
}

// value is the objective and the load-balancing loss in the reference, whose
// routes are those of the batch's columns.
func (o *linear) value(r *enginetest.Reference, b *enginetest.Responses, routes []uint8, prompts [][]uint8, temperature, balance float64) float64 {
	c := r.Config
	per := c.Layers * c.TopK
	var sum float64
	var traces []enginetest.Trace
	for i := range b.Len() {
		from, to := b.Span(i)
		tokens := append(slices.Clone(b.Prompt[i]), b.Token[from:max(to-1, from)]...)
		var visited []uint8
		if !c.Dense() {
			visited = append(slices.Clone(prompts[i]), routes[from*per:to*per]...)
			for len(visited) < len(tokens)*per {
				visited = append(visited, moe.NoRoute) // the last row of a prompt without a response
			}
		}
		t := r.Forward(tokens, visited)
		traces = append(traces, t)
		for n := from; n < to; n++ {
			logp := enginetest.LogSoftmax(t.Logits[len(b.Prompt[i])-1+n-from], temperature)
			sum += o.at(n) * logp[b.Token[n]]
			for _, lp := range logp {
				sum -= o.entropy * math.Exp(lp) * lp
			}
		}
	}
	for l := range c.Layers {
		if !c.Dense() {
			sum += balance * r.Balance(traces, l)
		}
	}
	return sum
}

var exhaustive = flag.Bool("exhaustive", false, "differentiate by every parameter, as in nightly tests, in place of one in five")

// parameters is the distance of those by which the reference is differentiated: five is
// coprime to every width, so that all tensors have some, in all rows and columns.
func parameters() int {
	if *exhaustive {
		return 1
	}
	return 5
}

// The gradient of the parameters of every tensor is the central difference of
// the float64 reference: through temperature, policy loss, entropy and
// load-balancing loss, for every variant of the architecture, with the
// learner's own routes, with replayed ones, and with holes in the recording.
// What is asked is 1e-3 relative; what holds is 1e-4, down to 3e-6 of the
// tensor's largest entry where terms cancel.
func TestGradientsAreDifferences(t *testing.T) {
	for i, m := range enginetest.Models(enginetest.Tiny) {
		t.Run(m.Name, func(t *testing.T) {
			p, c := m.Params, m.Params.Config
			b := halves(enginetest.Sequences(uint64(i+20), 2, c.Vocab, 4, 6))
			o := &linear{coefficients(uint64(i), b.Tokens()), 0.3}
			l := learner.New(p, learner.Settings{Numerics: preset(t, "fp32"), Balance: 0.5}, 1)
			defer l.Close()
			l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 0.7}})
			replay := learner.ReplayNone
			if i%2 == 0 && !c.Dense() {
				replay = learner.ReplayOld
				drawRoutes(b, c, uint64(i))
			}
			if _, err := l.Gradient(&b.Now, &b.Sampled, o, learner.StepOptions{Policy: learner.Policy{Temperature: 0.7, Replay: replay}, Earlier: &b.Old, Distributions: true, Entropy: true}); err != nil {
				t.Fatal(err)
			}
			grad := slices.Clone(l.Grad())
			if replay == learner.ReplayOld {
				// Where the recording has holes the router chose; the reference
				// follows what it chose.
				l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 0.7, Replay: replay}, Earlier: &b.Old})
			}
			r := enginetest.NewReference(p)
			want := r.Gradient(parameters(), func() float64 { return o.value(r, b, b.Old.Routes, b.Old.PromptRoutes, 0.7, 0.5) })
			enginetest.CompareGradients(t, "replay "+string(replay), p, grad, want, 3e-6)
		})
	}
}

// drawRoutes fills the old routes with experts that no router chose, and holes.
func drawRoutes(b *enginetest.Responses, c model.Config, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 9))
	draw := func(routes []uint8) {
		for at := 0; at < len(routes); at += c.TopK {
			open := rng.IntN(4) == 0
			for rank, e := range rng.Perm(c.Experts)[:c.TopK] {
				if open {
					e = moe.NoRoute
				}
				routes[at+rank] = uint8(e)
			}
		}
	}
	draw(b.Old.Routes)
	for _, routes := range b.Old.PromptRoutes {
		draw(routes)
	}
}

// In bf16, fp16 and fp8 the gradient is that of the unrounded function at the
// weights as published, up to the format's error: rounding is straight-through
// (see the test of the same name in package engine, whose bounds these are,
// per format and tensor).
func TestGradientsAreStraightThrough(t *testing.T) {
	m := enginetest.Models(enginetest.Tiny)[2]
	p, c := m.Params, m.Params.Config
	for _, test := range []struct {
		numerics string
		bound    float64
	}{{"bf16", 0.025}, {"fp16", 0.004}, {"fp8-w8a8", 0.2}} {
		n := preset(t, test.numerics)
		b := halves(enginetest.Sequences(30, 2, c.Vocab, 4, 6))
		o := &linear{coefficients(1, b.Tokens()), 0.3}
		settings := learner.Settings{Numerics: n}
		if test.numerics == "fp16" {
			settings.LossScale = learner.LossScale{Initial: 1024, Growth: 2000}
		}
		l := learner.New(p, settings, 1)
		l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}})
		if _, err := l.Gradient(&b.Now, &b.Sampled, o, learner.StepOptions{Policy: learner.Policy{Temperature: 1}, Distributions: true, Entropy: true}); err != nil {
			t.Fatal(err)
		}
		r := enginetest.NewReference(enginetest.Published(p, n))
		want := r.Gradient(1, func() float64 { return o.value(r, b, b.Old.Routes, b.Old.PromptRoutes, 1, 0) })
		var off, all float64
		for i, g := range l.Grad() {
			off += (float64(g) - want[i]) * (float64(g) - want[i])
			all += want[i] * want[i]
		}
		if d := math.Sqrt(off / all); d > test.bound || d < test.bound/20 {
			t.Errorf("%s: the gradient is %.3g away, stated is %.3g to %.3g", test.numerics, d, test.bound/20, test.bound)
		}
		l.Close()
	}
}

// The order of the responses changes the gradient by rounding only; the number
// of workers not at all.
func TestGradientOfAPermutedBatch(t *testing.T) {
	p := enginetest.Named("moe").Params
	n := preset(t, "fp32")
	b := sampled(p, n, 4, 24, 24)
	c := coefficients(4, b.Tokens())
	gradient := func(b *enginetest.Responses, c []float64, workers int) []float32 {
		l := learner.New(p, learner.Settings{Numerics: n, Balance: 0.1}, workers)
		defer l.Close()
		if _, err := l.Gradient(&b.Now, &b.Sampled, &linear{c: c}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}}); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(l.Grad())
	}
	want := gradient(b, c, 1)
	for _, workers := range []int{2, 3} {
		if !slices.Equal(want, gradient(b, c, workers)) {
			t.Errorf("%d workers give another gradient", workers)
		}
	}
	var shuffled enginetest.Responses
	order := rand.New(rand.NewPCG(4, 1)).Perm(b.Len())
	b.Select(&shuffled.Sampled, order)
	got := gradient(&shuffled, column.Gather(nil, c, column.PerToken, &b.Sampled, order), 1)
	if slices.Equal(want, got) {
		t.Error("sums in another order have the same bits: is the batch permuted?")
	}
	var off, all float64
	for i := range want {
		off += (float64(got[i]) - float64(want[i])) * (float64(got[i]) - float64(want[i]))
		all += float64(want[i]) * float64(want[i])
	}
	if d := math.Sqrt(off / all); !(d < 1e-6) {
		t.Errorf("relative distance %.3g", d)
	}
}
