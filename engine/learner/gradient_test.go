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
	"driftlab/engine/reference"
	"driftlab/model"
	"driftlab/moe"
	"driftlab/precision/must"
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

// objective is a function of the logits that token n was drawn from.
type objective func(n int, logits []float64) float64

// of is the objective at a temperature.
func (o *linear) of(b *enginetest.Responses, temperature float64) objective {
	return func(n int, logits []float64) float64 {
		logp := reference.LogSoftmax(logits, temperature)
		sum := o.at(n) * logp[b.Token[n]]
		for _, lp := range logp {
			sum -= o.entropy * math.Exp(lp) * lp
		}
		return sum
	}
}

// forward runs the reference over every response, on the routes of one batch and with the masks of
// another, nil for none. A prompt without a response has the routes that the batch knows.
func forward(r *reference.Model, b, masks *enginetest.Responses) (passes []*reference.Pass) {
	c := r.Config
	per := c.Layers * c.TopK
	for i := range b.Len() {
		from, to := b.Span(i)
		prompt := len(b.Prompt[i])
		tokens := append(slices.Clone(b.Prompt[i]), b.Token[from:max(to-1, from)]...)
		r.Held = nil
		if masks != nil {
			r.Held = func(row, layer, head, position int) bool {
				plane := 0
				if masks.KVPlanes > 1 {
					plane = layer*c.KVHeads + head
				}
				return row < prompt-1 || masks.KVKept[(from+row-prompt+1)*masks.KVPlanes+plane]>>position&1 == 1
			}
		}
		var visited []uint8
		if !c.Dense() {
			visited = append(slices.Clone(b.Old.PromptRoutes[i]), b.Old.Routes[from*per:to*per]...)
			for len(visited) < len(tokens)*per {
				visited = append(visited, moe.NoRoute) // the last row of a prompt without a response
			}
		}
		passes = append(passes, r.Forward(tokens, visited))
	}
	return passes
}

// backward adds to r.Grad the gradient of the sum of f over all tokens and of the load-balancing loss, and
// returns that sum. The derivatives of f are central differences in the logits.
func backward(r *reference.Model, b *enginetest.Responses, passes []*reference.Pass, f objective, balance float64) (sum float64) {
	var slope []float32
	for i, p := range passes {
		from, to := b.Span(i)
		for row, logits := range p.Logits {
			n := from + row - (len(b.Prompt[i]) - 1)
			if n < from || n >= to {
				slope = append(slope, make([]float32, len(logits))...)
				continue
			}
			sum += f(n, logits)
			for v := range logits {
				const step = 1e-5
				x := logits[v]
				logits[v] = x + step
				above := f(n, logits)
				logits[v] = x - step
				slope = append(slope, float32((above-f(n, logits))/(2*step)))
				logits[v] = x
			}
		}
	}
	enginetest.Backward(r, passes, slope, balance)
	if !r.Config.Dense() {
		for l := range r.Config.Layers {
			sum += balance * enginetest.Balance(r.Config, passes, l)
		}
	}
	return sum
}

var exhaustive = flag.Bool("exhaustive", false, "every model and format, as in nightly tests, in place of some")

// The gradient of every parameter equals the float64 reference's: through temperature, policy loss, entropy and
// load-balancing loss, for every variant of the architecture, with the
// learner's own routes, with replayed ones, and with holes in the recording.
// What is asked is 1e-3 relative; what holds is 1e-4, down to 3e-6 of the
// tensor's largest entry where terms cancel.
func TestGradientsAreTheReferences(t *testing.T) {
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
			must.Get(l.Gradient(&b.Now, &b.Sampled, o, learner.StepOptions{Policy: learner.Policy{Temperature: 0.7, Replay: replay}, Earlier: &b.Old, Distributions: true, Entropy: true}))(t)
			grad := slices.Clone(l.Grad())
			if replay == learner.ReplayOld {
				// Where the recording has holes the router chose; the reference
				// follows what it chose.
				l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 0.7, Replay: replay}, Earlier: &b.Old})
			}
			r := reference.New(p)
			backward(r, b, forward(r, b, nil), o.of(b, 0.7), 0.5)
			enginetest.CompareGradients(t, "replay "+string(replay), p, grad, r.Grad, 3e-6)
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

// In bf16, fp16 and fp8 the gradient equals that of the unrounded function at the
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
		must.Get(l.Gradient(&b.Now, &b.Sampled, o, learner.StepOptions{Policy: learner.Policy{Temperature: 1}, Distributions: true, Entropy: true}))(t)
		r := reference.New(enginetest.Published(p, n))
		backward(r, b, forward(r, b, nil), o.of(b, 1), 0)
		var off, all float64
		for i, g := range l.Grad() {
			off += (float64(g) - r.Grad[i]) * (float64(g) - r.Grad[i])
			all += r.Grad[i] * r.Grad[i]
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
		must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{c: c}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}}))(t)
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
