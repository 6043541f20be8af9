package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// guarded is a slice between two runs of guard words.
type guarded struct {
	all  []float32
	x    []float32
	name string
}

const guardWords = 17

var guardValue = math.Float32frombits(0xdeadbeef)

func newGuarded(name string, n int) *guarded {
	g := &guarded{all: make([]float32, n+2*guardWords), name: name}
	for i := range g.all {
		g.all[i] = guardValue
	}
	g.x = g.all[guardWords : guardWords+n : guardWords+n]
	clear(g.x)
	return g
}

func guardedFrom(name string, x []float32) *guarded {
	g := newGuarded(name, len(x))
	copy(g.x, x)
	return g
}

// intact fails the test if a guard word changed.
func (g *guarded) intact(t *testing.T) {
	t.Helper()
	for i, v := range g.all {
		inside := i >= guardWords && i < guardWords+len(g.x)
		if !inside && math.Float32bits(v) != math.Float32bits(guardValue) {
			t.Fatalf("%s: guard word at %d of %d overwritten with %v", g.name, i-guardWords, len(g.x), v)
		}
	}
}

// sameBits fails at the first element whose bits differ; any NaN equals any NaN.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: length %d, want %d", what, len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if math.Float32bits(g) != math.Float32bits(w) && (g == g || w == w) {
			t.Fatalf("%s: element %d of %d is %x (%g), want %x (%g)", what, i, len(got), math.Float32bits(g), g, math.Float32bits(w), w)
		}
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }

// normal is nearly a standard normal value: a sum of four uniform integers, the
// same on every processor.
func normal(rng *rand.Rand) float32 {
	sum := 0
	for range 4 {
		sum += int(rng.Uint32()>>8) - 1<<23
	}
	return float32(sum) * 0x1p-23
}

func normals(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = normal(rng)
	}
	return x
}

// hostile mixes normal values with infinities, NaNs, zeros of both signs,
// subnormals and values at the ends of the range.
func hostile(rng *rand.Rand, n int) []float32 {
	special := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
		0x1p-149, -0x1p-149, 0x1.fffffcp-127, -0x1p-130, 0x1p-126, math.MaxFloat32, -math.MaxFloat32, 0x1p-75, -0x1p-74, 1, -1,
		448, 464, 480, 57344, 61440, 65504, 65520, 88.7, 88.8, -87.4, -103.9, -104.1, 0x1p-9, 0x1p-10, 0x1.8p-10}
	x := make([]float32, n)
	for i := range x {
		switch rng.IntN(4) {
		case 0:
			x[i] = special[rng.IntN(len(special))]
		case 1:
			x[i] = math.Float32frombits(rng.Uint32())
		default:
			x[i] = normal(rng) * 4
		}
	}
	return x
}

// eachPath runs f under every path that this processor has beyond plain Go.
func eachPath(t *testing.T, f func(t *testing.T)) {
	assembled := Paths()[1:]
	if len(assembled) == 0 {
		t.Skip("plain Go is all there is here")
	}
	for _, p := range assembled {
		t.Run(p.String(), func(t *testing.T) {
			setPath(t, p)
			f(t)
		})
	}
}

// setPath selects a path until the test ends.
func setPath(t testing.TB, p Path) {
	t.Helper()
	before, err := SetPath(p)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { SetPath(before) })
}

// inGo runs f on the plain Go path.
func inGo(f func()) {
	before, _ := SetPath(PathGo)
	defer SetPath(before)
	f()
}
