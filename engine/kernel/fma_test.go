package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// slowFMA is the definition: exact arithmetic, one rounding.
func slowFMA(a, b, c float32) float32 {
	f := func(x float32) *big.Float { return new(big.Float).SetPrec(700).SetFloat64(float64(x)) }
	p := new(big.Float).SetPrec(700).Mul(f(a), f(b))
	p.Add(p, f(c))
	if p.Sign() == 0 {
		return float32(float64(a)*float64(b)) + c // the sign of an exact zero
	}
	r, _ := p.Float32()
	return r
}

func TestFMA32MatchesExactArithmetic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 0x1p-149, -0x1p-149, 0x1p-126, 0x1.fffffep-127,
		math.MaxFloat32, -math.MaxFloat32, 0x1p-75, 0x1p-74, 0x1.000002p0, 0x1.fffffep0, 0x1p64, 0x1p63, 3, 0x1.8p-75}
	finite := func() float32 {
		for {
			x := math.Float32frombits(rng.Uint32())
			if x-x == 0 {
				return x
			}
		}
	}
	check := func(a, b, c float32) {
		t.Helper()
		got, want := fma32(a, b, c), slowFMA(a, b, c)
		if math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("fma32(%x, %x, %x) = %x, want %x", a, b, c, got, want)
		}
	}
	for _, a := range special {
		for _, b := range special {
			for _, c := range special {
				check(a, b, c)
			}
		}
	}
	for range 50000 {
		check(finite(), finite(), finite())
		// Sums near the midpoint of two float32: c ends where the product begins.
		a, b := finite(), float32(rng.IntN(1<<12)+1)
		e := rng.IntN(60) - 10
		check(a, b, float32(math.Ldexp(float64(a)*float64(b), e)))
		// A short product half a last place of c, with a tail or without.
		c := 1 + float32(rng.IntN(1<<23))*0x1p-23
		tail := []float32{0, 0x1p-23, -0x1p-24}[rng.IntN(3)]
		check((1+tail)*0x1p-12, 0x1p-12, c)
		check(-(1+tail)*0x1p-13, 0x1p-12, c)
		// Off a midpoint by less than a float64 shows, among normal and subnormal sums.
		u, v := nearlyInverse(rng)
		check(scaled(u, -12), scaled(v, -12), c)
		check(scaled(-u, -12), scaled(v, -13), c)
		check(scaled(u, -12), scaled(v, -13), -c)
		check(scaled(-u, -12), scaled(v, -12), -c)
		check(scaled(u, -75), scaled(v, -75), math.Float32frombits(rng.Uint32()>>9))
		check(scaled(-u, -75), scaled(v, -75), math.Float32frombits(rng.Uint32()>>9))
		check(scaled(u, 52), scaled(v, 51), math.MaxFloat32)
		// Results among the subnormals.
		x, y := 1+rng.Float32(), 1+rng.Float32()
		check(float32(math.Ldexp(float64(x), -70)), float32(math.Ldexp(float64(y), -60-rng.IntN(20))), math.Float32frombits(rng.Uint32()>>9))
	}
	for _, v := range [][4]float32{
		{float32(math.Inf(1)), 1, 0, float32(math.Inf(1))},
		{math.MaxFloat32, 2, float32(math.Inf(-1)), float32(math.Inf(-1))},
	} {
		if got := fma32(v[0], v[1], v[2]); got != v[3] {
			t.Errorf("fma32(%v) = %v", v, got)
		}
	}
	for _, v := range [][3]float32{{float32(math.Inf(1)), 0, 1}, {float32(math.NaN()), 1, 1}, {1, 1, float32(math.NaN())}} {
		if got := fma32(v[0], v[1], v[2]); got == got {
			t.Errorf("fma32(%v) = %v, want NaN", v, got)
		}
	}
}
