// Package stream names the random numbers of a run: every purpose has streams of
// its own, one per step.
package stream

import "math/rand/v2"

// Purpose separates the random streams of a run.
type Purpose uint64

// Purposes. Their order is that of the streams: new ones come last.
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
