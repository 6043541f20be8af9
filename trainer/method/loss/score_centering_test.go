package loss

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// randomLaw is a distribution over n tokens with logits of that spread around others.
func randomLaw(rng *rand.Rand, around []float64, spread float64, n int) []float64 {
	z := make([]float64, n)
	for v := range z {
		z[v] = spread * (2*rng.Float64() - 1)
		if around != nil {
			z[v] += around[v]
		}
	}
	return logSoftmax(z, len(z))
}

// expected is the expectation over the sampler of the logits' gradient for a constant advantage: base gives a
// token's derivative with respect to its log-prob.
func expected(laws policies[float64], h *head, by *centering, a float64, base func(y int) float64) []float64 {
	sum := make([]float64, len(laws.now))
	for y, logq := range laws.roll {
		g := make([]float64, len(sum))
		centre(h, by, laws, a, g, a)
		slope := base(y)
		for v := range g {
			onehot := 0.0
			if v == y {
				onehot = 1
			}
			sum[v] += math.Exp(logq) * (g[v] + slope*(onehot-math.Exp(laws.now[v])))
		}
	}
	return sum
}

// Over the whole vocabulary the expectation of the gradient under the sampler is zero for equal advantages,
// whatever the engines and the weights; over a head it is small, and smaller over a larger head.
func TestCenteredGradientHasNoDrift(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		roll := randomLaw(rng, nil, 3, 12)
		old := randomLaw(rng, roll, 0.5, 12)
		laws := policies[float64]{now: randomLaw(rng, old, 0.5, 12), old: old, roll: roll}
		for _, a := range []float64{-1.5, 2} {
			ppo, ipo := &PPOClip{EpsLow: 0.2, EpsHigh: 0.28}, &IPO{Delta: 0.05}
			type form struct {
				by   *centering
				base func(y int) float64
			}
			forms := map[string]form{
				"ipo": {&centering{Centering: &Centering{Weights: "tis", Cap: 1.5}, noTail: true, slope: ipo.slope}, func(y int) float64 {
					if math.Abs(math.Exp(laws.now[y])-math.Exp(roll[y])) > ipo.Delta {
						return 0
					}
					return -a * min(math.Exp(laws.now[y]-roll[y]), 1.5)
				}},
			}
			for _, weights := range []string{"none", "tis", "mis"} {
				c := &Centering{Weights: weights, Cap: 1.2, Low: 0.7, High: 1.6, Floor: 1e-6}
				forms["reinforce "+weights] = form{&centering{Centering: c, slope: unity}, func(y int) float64 { return -a * c.weight(math.Exp(laws.now[y]-roll[y])) }}
				for _, dual := range []float64{0, 1.1} {
					clip := *ppo
					clip.DualClip = dual
					forms[fmt.Sprint("ppo_clip ", weights, dual)] = form{&centering{Centering: c, old: true, slope: clip.slope}, func(y int) float64 {
						r := math.Exp(laws.now[y] - old[y])
						return c.weight(math.Exp(old[y]-roll[y])) * clipped(a, r, r, 0.8, 1.28, dual, 0).dlogp
					}}
				}
			}
			for name, form := range forms {
				for v, g := range expected(laws, new(head), form.by, a, form.base) {
					if math.Abs(g) > 1e-12 {
						t.Fatalf("%s, A = %v: the expected gradient of logit %d is %g", name, a, v, g)
					}
				}
			}
			largest := func(size int) (x float64) {
				for _, g := range expected(laws, new(head), &centering{Centering: &Centering{Weights: "none", Head: size, Floor: 1e-6}, slope: unity}, a, func(int) float64 { return -a }) {
					x = max(x, math.Abs(g))
				}
				return x
			}
			if top2, top8 := largest(2), largest(8); top2 < 1e-9 || top8 > top2 {
				t.Errorf("the drift that is left is %g with a head of 2 and %g with one of 8", top2, top8)
			}
		}
	}
}

// Where the engines agree the correction has no gradient: the loss is the plain policy gradient.
func TestCenteringOfEqualEngines(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	law := randomLaw(rng, nil, 3, 12)
	for _, size := range []int{0, 4} {
		for _, weights := range []string{"none", "tis", "mis"} {
			for name, slope := range map[string]func(a, p, o, q float64) float64{"reinforce": unity, "ppo_clip": method.New[PPOClip]().slope} {
				c := method.New[Centering]()
				c.Weights, c.Head = weights, size
				g := make([]float64, len(law))
				centre(new(head), &centering{Centering: c, old: name == "ppo_clip", slope: slope}, policies[float64]{law, law, law}, 1, g, 1)
				for v, x := range g {
					if math.Abs(x) > 1e-12 {
						t.Errorf("%s, %s, head %d: the gradient of logit %d is %g", name, weights, size, v, x)
					}
				}
			}
		}
	}
}

// With equal engines a centred loss has the expected gradient of the policy gradient: over 10,000 batches of 8 tokens drawn from the policy the two
// means of the logits' gradient differ by far less than their standard error, for the whole vocabulary and for a head of 3 tokens.
func TestCenteringKeepsTheExpectedGradient(t *testing.T) {
	const batches, tokens, vocab = 10_000, 8, 6
	rng := rand.New(rand.NewPCG(4, 4))
	law := randomLaw(rng, nil, 2, vocab)
	reward := []float64{1, 0, 0, 1, 0.5, 0}
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, tokens}, Vocab: vocab}}
	for range tokens {
		for _, x := range law {
			b.DistRoll = append(b.DistRoll, float32(x))
		}
		b.Mask = append(b.Mask, true)
	}
	b.Now.Dist = b.DistRoll
	b.Token, b.LogpRoll, b.Advantage = make([]int32, tokens), make([]float64, tokens), make([]float64, tokens)
	b.Now.Logp = b.LogpRoll
	for _, l := range []Loss{&Reinforce{Anchor: Roll, Centering: &Centering{Weights: "none", Floor: 1e-6}}, &ScoreCentering{Centering: Centering{Weights: "tis", Cap: 2, Head: 3, Floor: 1e-6}}} {
		var sum, centred, squares [vocab]float64
		for range batches {
			for n := range tokens {
				y, u := 0, rng.Float64()
				for u > math.Exp(law[y]) && y < vocab-1 {
					u -= math.Exp(law[y])
					y++
				}
				b.Token[n], b.LogpRoll[n], b.Advantage[n] = int32(y), law[y], reward[y]
			}
			plain, out := eval(t, &Reinforce{Anchor: Roll}, b), eval(t, l, b)
			var g [vocab]float64
			for n, y := range b.Token {
				for v := range g {
					score := count(v == int(y)) - math.Exp(law[v])
					g[v] += plain.DLogp[n] * score
					centred[v] += float64(out.DLogp[n]*score) + out.DLogits[n*vocab+v]
				}
			}
			for v, x := range g {
				sum[v] += x
				squares[v] += x * x
			}
		}
		for v := range sum {
			mean := sum[v] / batches
			deviation := math.Sqrt((squares[v]/batches - mean*mean) / batches)
			if gap := math.Abs(centred[v]/batches - mean); gap > deviation/100 || math.Abs(mean) < deviation {
				t.Errorf("%T, token %d: the means %.6f and %.6f, standard error %.2g", l, v, centred[v]/batches, mean, deviation)
			}
		}
	}
}
