// Package stream names the random numbers of a run: every purpose has streams of
// its own, one per step.
package stream

import (
	"math"
	"math/rand/v2"

	"driftlab/precision/elementary"
)

// Purpose separates the random streams of a run.
type Purpose uint64

// Purposes. Their order is the order of the streams: new ones come last.
const (
	Prompts Purpose = iota + 1
	Sampling
	Minibatches
	Evaluation
	Demonstrations
	Measurement
	Noise
	Lengths
	Perturbation
	Pool
	Completions
	Guidance
	Rejection
	Focus
	Validation
)

// New returns the random numbers of one purpose at one step of a run. They
// depend on nothing that happened before, so a resumed run draws the same.
func New(seed uint64, p Purpose, step int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, ID(p, step)))
}

// ID mixes purpose and step (splitmix64), so that streams of neighbouring steps
// share nothing.
func ID(p Purpose, step int) uint64 {
	x := uint64(p)<<48 + uint64(step) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Normal draws a standard normal number. It is rand.NormFloat64 (the ziggurat
// of Marsaglia and Tsang, Journal of Statistical Software 5(8), 2000), draw for
// draw, without that one's logarithms and fused products: the same bits on
// every processor.
func Normal(rng *rand.Rand) float64 {
	z := &normalTables
	for {
		u := rng.Uint64()
		j, i := int32(u), u>>32&(normalStrips-1)
		x := float64(float64(j) * float64(z.width[i]))
		switch {
		case uint32(max(int64(j), -int64(j))) < z.inside[i]:
			return x
		case i == 0:
			return math.Copysign(normalTail(rng), x)
		case z.height[i]+float32(float32(rng.Float64())*(z.height[i-1]-z.height[i])) < float32(elementary.Exp(-x*x/2)):
			return x
		}
	}
}

// normalTail draws beyond the edge.
func normalTail(rng *rand.Rand) float64 {
	for {
		x := float64(-elementary.Log(rng.Float64()) * (1 / normalEdge))
		y := -elementary.Log(rng.Float64())
		if y+y >= float64(x*x) {
			return normalEdge + x
		}
	}
}

// Exponential draws an exponential number of mean 1, as rand.ExpFloat64 does:
// see Normal.
func Exponential(rng *rand.Rand) float64 {
	z := &exponentialTables
	for {
		u := rng.Uint64()
		j, i := uint32(u), u>>32&(exponentialStrips-1)
		x := float64(float64(j) * float64(z.width[i]))
		switch {
		case j < z.inside[i]:
			return x
		case i == 0:
			return exponentialEdge - elementary.Log(rng.Float64())
		case z.height[i]+float32(float32(rng.Float64())*(z.height[i-1]-z.height[i])) < float32(elementary.Exp(-x)):
			return x
		}
	}
}

// Both densities lie under strips of equal area, the lowest with the tail
// beyond its edge.
const (
	normalStrips, normalEdge, normalArea                = 128, 3.442619855899, 9.91256303526217e-3
	exponentialStrips, exponentialEdge, exponentialArea = 256, 7.69711747013104972, 3.949659822581572e-3
)

// ziggurat describes the strips of a density: what a draw of that many bits is
// multiplied by, below which draw it is inside at once, and the density at the
// strip's end.
type ziggurat struct {
	width, height []float32
	inside        []uint32
}

var (
	normalTables = newZiggurat(normalStrips, 1<<31, normalEdge, normalArea,
		func(x float64) float64 { return elementary.Exp(-x * x / 2) },
		func(y float64) float64 { return math.Sqrt(-2 * elementary.Log(y)) })
	exponentialTables = newZiggurat(exponentialStrips, 1<<32, exponentialEdge, exponentialArea,
		func(x float64) float64 { return elementary.Exp(-x) },
		func(y float64) float64 { return -elementary.Log(y) })
)

// newZiggurat cuts a density into strips, from the edge inwards.
func newZiggurat(strips int, draws, edge, area float64, density, inverse func(float64) float64) ziggurat {
	z := ziggurat{make([]float32, strips), make([]float32, strips), make([]uint32, strips)}
	last := strips - 1
	base := area / density(edge)
	z.inside[0] = uint32(edge / base * draws)
	z.width[0], z.width[last] = float32(base/draws), float32(edge/draws)
	z.height[0], z.height[last] = 1, float32(density(edge))
	end := edge
	for i := last - 1; i >= 1; i-- {
		next := inverse(area/end + density(end))
		z.inside[i+1] = uint32(next / end * draws)
		z.width[i], z.height[i] = float32(next/draws), float32(density(next))
		end = next
	}
	return z
}
