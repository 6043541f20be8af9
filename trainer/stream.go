package trainer

import "math/rand/v2"

// purpose separates the random streams of a run.
type purpose uint64

const (
	forPrompts purpose = iota + 1
	forSampling
	forMinibatches
	forEvaluation
	forDemonstrations
	forMeasurement
	forNoise
)

// stream returns the random numbers of one purpose at one step of a run. They
// depend on nothing that happened before, so a resumed run draws the same.
func stream(seed uint64, p purpose, step int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, streamID(p, step)))
}

// streamID mixes purpose and step (splitmix64), so that streams of
// neighbouring steps share nothing.
func streamID(p purpose, step int) uint64 {
	x := uint64(p)<<48 + uint64(step) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
