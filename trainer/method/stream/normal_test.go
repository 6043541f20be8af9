package stream

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The draws equal those of math/rand/v2, except for the last digits of the few that
// take a logarithm, in the same order.
func TestDrawsAreThoseOfTheStandardLibrary(t *testing.T) {
	for _, d := range []struct {
		name        string
		here, there func(*rand.Rand) float64
	}{{"Normal", Normal, (*rand.Rand).NormFloat64}, {"Exponential", Exponential, (*rand.Rand).ExpFloat64}} {
		a, b := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
		largest, moved := 0.0, 0
		for i := range 400_000 {
			x, y := d.here(a), d.there(b)
			if math.Abs(x-y) > 1e-14*math.Abs(y) {
				t.Fatalf("%s: draw %d is %v, want %v", d.name, i, x, y)
			}
			if x != y {
				moved++
			}
			largest = max(largest, math.Abs(x))
		}
		if largest < normalEdge || moved > 1000 {
			t.Errorf("%s: the largest of all is %v, and %d differ", d.name, largest, moved)
		}
	}
}
