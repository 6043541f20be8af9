package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Tiles have the bits of fma32, which is compared with exact arithmetic, for all
// kinds of numbers.
func TestTilesRoundOnce(t *testing.T) {
	draws := map[string]func(*rand.Rand, int) []float32{
		"ordinary": normals,
		"hostile":  hostile,
		// Of 12 bits a product has 24, the most that tiles add without a test.
		"bfloat16":        func(rng *rand.Rand, n int) []float32 { return shortened(normals(rng, n), 8) },
		"12 bits":         func(rng *rand.Rand, n int) []float32 { return shortened(normals(rng, n), 12) },
		"13 bits":         func(rng *rand.Rand, n int) []float32 { return shortened(normals(rng, n), 13) },
		"12 bits hostile": func(rng *rand.Rand, n int) []float32 { return shortened(hostile(rng, n), 12) },
		"12 bits, tiny products": func(rng *rand.Rand, n int) []float32 {
			return drawn(n, func() float32 { return shortened([]float32{scaled(normal(rng), -60-rng.IntN(16))}, 12)[0] })
		},
		"zeros": func(rng *rand.Rand, n int) []float32 {
			return drawn(n, func() float32 { return normal(rng) * float32(rng.IntN(2)) })
		},
		"tiny products": func(rng *rand.Rand, n int) []float32 {
			return drawn(n, func() float32 { return scaled(normal(rng), -60-rng.IntN(16)) })
		},
	}
	for name, draw := range draws {
		rng := newRand(31)
		for range 300 {
			m, n, k := tileRows+rng.IntN(9), 1+rng.IntN(40), 1+rng.IntN(40)
			c := randomProduct(rng, m, n, k, draw)
			c.p.unfused = false
			tilesAgainstSteps(t, name, c)
		}
	}
	rng := newRand(32)
	for range 3 { // more than one strip and more than one block of k
		c := randomProduct(rng, 9, stripCols+21, depth+3, normals)
		c.p.unfused = false
		tilesAgainstSteps(t, "large", c)
	}
}

// A product of 25 bits may be a midpoint, which a sum too small for float64
// decides: spare bits are counted, not estimated.
func TestTilesTestProductsOf25Bits(t *testing.T) {
	rng := newRand(34)
	for _, sum := range []float32{0x1p-80, -0x1p-80} {
		c := randomProduct(rng, tileRows, tileCols, 1, normals)
		c.p.unfused, c.p.add = false, true
		for i := range c.a.x {
			c.a.x[i] = 2 - 0x1p-12 // 13 bits, and 12 below: 23 are spare
		}
		for i := range c.b.x {
			c.b.x[i] = 2 - 0x1p-11
		}
		for i := range c.c.x {
			c.c.x[i] = sum
		}
		tilesAgainstSteps(t, "25 bits", c)
	}
}

// A sum that lies off a midpoint by less than float64 shows, either way, in every
// one of a tile's places, among normal numbers and below them.
func TestTilesSeeBesideAMidpoint(t *testing.T) {
	rng := newRand(33)
	for range 2000 {
		const m, n = tileRows, tileCols
		c := randomProduct(rng, m, n, 3, normals)
		c.p.unfused, c.p.add = false, true
		// Step 1 meets a sum of 24 bits, or a subnormal one, and a product of nearly
		// half its last place.
		i, j := rng.IntN(m), rng.IntN(n)
		x, y := nearlyInverse(rng)
		sum := scaled(1+float32(rng.IntN(1<<23))*0x1p-23, rng.IntN(60)-30)
		if rng.IntN(2) == 0 {
			sum = math.Float32frombits(rng.Uint32() >> 9)
		}
		if rng.IntN(2) == 0 {
			sum = -sum
		}
		_, e := math.Frexp(float64(math.Nextafter32(sum, 2*sum) - sum))
		clear(c.a.x)
		c.a.x[i*c.p.ais+c.p.aks] = scaled(x, (e-2)/2)
		c.b.x[c.p.ldb+j] = scaled(y, e-2-(e-2)/2)
		c.c.x[i*c.p.ldc+j] = sum
		tilesAgainstSteps(t, "beside a midpoint", c)
	}
}

// nearlyInverse returns two numbers whose product is nearly 1 but not 1.
func nearlyInverse(rng *rand.Rand) (x, y float32) {
	for {
		x = 1 + float32(rng.IntN(1<<23))*0x1p-23
		y = 1 / x
		if d := math.Abs(float64(x)*float64(y) - 1); d != 0 && d < 0x1p-29 {
			return x, y
		}
	}
}

// shortened truncates x to n significant bits.
func shortened(x []float32, n int) []float32 {
	for i, v := range x {
		x[i] = math.Float32frombits(math.Float32bits(v) >> (significand - n) << (significand - n))
	}
	return x
}

func scaled(x float32, e int) float32 { return float32(math.Ldexp(float64(x), e)) }

func drawn(n int, value func() float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = value()
	}
	return x
}

// tilesAgainstSteps compares the tiles with one fma32 after the other.
func tilesAgainstSteps(t *testing.T, name string, c productCase) {
	t.Helper()
	got, want := guardedFrom("c", c.c.x), append([]float32(nil), c.c.x...)
	p := c.p
	p.a, p.b, p.c = c.a.x, c.b.x, got.x
	p.runTiles(new(Scratch))
	got.intact(t)
	for i := range p.m {
		for j := range p.n {
			sum := want[i*p.ldc+j]
			if !p.add {
				sum = 0
			}
			for k := range p.k {
				sum = fma32(p.a[i*p.ais+k*p.aks], p.b[j/panelWidth*p.group+k*p.ldb+j%panelWidth], sum)
			}
			want[i*p.ldc+j] = sum
		}
	}
	sameBits(t, name, got.x, want)
}
