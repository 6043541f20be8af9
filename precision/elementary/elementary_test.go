package elementary

import (
	"flag"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// function is one of the package's: how far it may be off in units in the last
// place, the same in 320 bits, and package math's for the values that are no
// question of accuracy.
type function struct {
	name string
	f    func(x float64) float64
	ulps float64
	big  func(x float64) *big.Float
	math func(x float64) float64
	in   func(x float64) bool // where big is defined and finite
}

func one(x *big.Float) *big.Float { return x.Sub(x, newBig(1)) }

var functions = []function{
	{"Exp", Exp, 0.52, func(x float64) *big.Float { return bigExp(newBig(x)) }, math.Exp, func(x float64) bool { return math.Abs(x) < 800 }},
	{"Expm1", Expm1, 0.7, func(x float64) *big.Float { return one(bigExp(newBig(x))) }, math.Expm1, func(x float64) bool { return math.Abs(x) < 800 && math.Abs(x) > 1e-60 }},
	{"Log", Log, 0.52, func(x float64) *big.Float { return bigLog(newBig(x)) }, math.Log, positive},
	{"Log10", Log10, 0.52, func(x float64) *big.Float {
		return newBig(0).Quo(bigLog(newBig(x)), bigLog(newBig(10)))
	}, math.Log10, positive},
	{"Log1p", Log1p, 0.52, func(x float64) *big.Float { return bigLog(newBig(0).Add(newBig(1), newBig(x))) },
		math.Log1p, func(x float64) bool { return x > -1 && x <= math.MaxFloat64 && math.Abs(x) > 1e-60 }},
	{"CosPi", CosPi, 0.9, bigCosPi, func(x float64) float64 { return math.Cos(math.Pi * x) }, func(x float64) bool { return math.Abs(x) < 1<<40 && math.Abs(math.Mod(x, 1)) != 0.5 }},
	{"Pow(10, x)", func(x float64) float64 { return Pow(10, x) }, 0.52, func(x float64) *big.Float { return bigPow(10, x) },
		func(x float64) float64 { return math.Pow(10, x) }, func(x float64) bool { return math.Abs(x) < 350 }},
	{"Pow(0.9999, x)", func(x float64) float64 { return Pow(0.9999, x) }, 0.52, func(x float64) *big.Float { return bigPow(0.9999, x) },
		func(x float64) float64 { return math.Pow(0.9999, x) }, func(x float64) bool { return math.Abs(x) < 8e6 }},
	{"Pow(x, 3)", func(x float64) float64 { return Pow(x, 3) }, 0.52, func(x float64) *big.Float { return bigPow(x, 3) },
		func(x float64) float64 { return math.Pow(x, 3) }, positive},
	{"Pow(x, -0.3)", func(x float64) float64 { return Pow(x, -0.3) }, 0.52, func(x float64) *big.Float { return bigPow(x, -0.3) },
		func(x float64) float64 { return math.Pow(x, -0.3) }, positive},
}

func positive(x float64) bool { return x > 0 && x <= math.MaxFloat64 }

func bigPow(x, y float64) *big.Float {
	return bigExp(newBig(0).Mul(newBig(y), bigLog(newBig(x))))
}

// off is by how many units in the last place got misses want. A subnormal
// may be off by a quarter of one more.
func off(got float64, want *big.Float) float64 {
	nearest, _ := want.Float64()
	if math.IsInf(nearest, 0) || math.IsInf(got, 0) {
		if got == nearest {
			return 0
		}
		return math.Inf(1)
	}
	size := math.Abs(nearest)
	ulp := math.Nextafter(size, math.Inf(1)) - size
	if math.IsInf(ulp, 1) {
		ulp = size - math.Nextafter(size, 0)
	}
	d, _ := newBig(0).Quo(newBig(0).Sub(newBig(got), want), newBig(ulp)).Float64()
	if size < 0x1p-1022 {
		d -= math.Copysign(min(math.Abs(d), 0.25), d) // rounded twice
	}
	return math.Abs(d)
}

// points are where the functions are looked at: everywhere alike in the
// exponent, densely where training is, at the seams of the tables, and next to
// every number at which something is decided.
func points(n int) []float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	var x []float64
	around := func(v float64) {
		x = append(x, v, -v, math.Nextafter(v, 0), -math.Nextafter(v, 0), math.Nextafter(v, math.Inf(1)), -math.Nextafter(v, math.Inf(1)))
	}
	for range n {
		x = append(x, math.Float64frombits(rng.Uint64()), 1600*(rng.Float64()-0.5), 4*(rng.Float64()-0.5), 0.8+float64(0.4*rng.Float64()),
			1+math.Ldexp(rng.Float64()-0.5, -rng.IntN(53)), math.Ldexp(rng.Float64()-0.5, -rng.IntN(70)), 40*(rng.Float64()-0.5),
			(rng.Float64()-0.5)*math.Ldexp(1, rng.IntN(40)))
	}
	for i := range uint64(128) {
		around(math.Float64frombits(zLowest + i<<45))
		around((float64(i) + 0.5) * math.Ln2 / steps)
	}
	for _, v := range []float64{0, 1, 2, 0.5, 0.25, 0.75, 1. / 128, 1. / 8, 40, 100, expHighest, expLowest, 708.3964185322641, 709.09, 745, 700, math.MaxFloat64,
		0x1p-1022, 0x1p-1074, 1e-300, 1e300, 1e22, 1 << 52, 1 << 53, 1 << 54, 1 << 60, 1 << 63, 1 << 64, 10, 100, 1000, math.E, math.Pi} {
		around(v)
	}
	return x
}

var exhaustive = flag.Bool("exhaustive", false, "1500 draws of each kind, as in nightly tests, in place of 20")

func TestAccuracy(t *testing.T) {
	n := 20
	if *exhaustive {
		n = 1500
	}
	for _, f := range functions {
		worst, at := 0.0, 0.0
		for _, x := range points(n) {
			if !f.in(x) {
				continue
			}
			if d := off(f.f(x), f.big(x)); d > worst {
				worst, at = d, x
			}
		}
		t.Logf("%s: %.3f at %g", f.name, worst, at)
		if worst > f.ulps {
			t.Errorf("%s(%g) = %g is off by %.3f units in the last place, at most %g allowed", f.name, at, f.f(at), worst, f.ulps)
		}
	}
}

// TestSpecial compares signs, zeros and what is not finite with package math
// (whose Log is wrong below 2^-1022 on amd64).
func TestSpecial(t *testing.T) {
	x := []float64{0, math.Copysign(0, -1), 1, -1, 2, -2, 3, -3, 0.5, -0.5, 2.5, -2.5, 0.9, -0.9, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, -math.MaxFloat64,
		0x1p-1022, -0x1p-1022, 1 << 53, 1<<53 - 1, -1 << 53, 1 - 1<<53, 1 << 64, -1 << 64, 1e300, -1e300, 800, -800, 1001, -1001, 1e-20, -1e-20}
	same := func(got, want float64) bool {
		if got == 0 || want == 0 || got-got != 0 || want-want != 0 {
			return math.Float64bits(got) == math.Float64bits(want) || got != got && want != want
		}
		return math.Abs(got-want) <= 1e-13*math.Abs(want)
	}
	for _, f := range functions {
		for _, v := range x {
			if f.name == "CosPi" && math.Abs(v) > 1e10 || f.name == "CosPi" && math.Abs(f.math(v)) < 1e-10 {
				continue // math has no π that is exact enough
			}
			if got, want := f.f(v), f.math(v); !same(got, want) {
				t.Errorf("%s(%g) = %g, want %g", f.name, v, got, want)
			}
		}
	}
	for _, v := range x {
		for _, w := range x {
			if got, want := Pow(v, w), math.Pow(v, w); !same(got, want) {
				t.Errorf("Pow(%g, %g) = %g, want %g", v, w, got, want)
			}
		}
	}
	for _, c := range []struct{ x, want float64 }{{0.5, 0}, {-1.5, 0}, {1, -1}, {1e15 + 1, -1}, {1 << 53, 1}, {1e300, 1}} {
		if got := CosPi(c.x); got != c.want {
			t.Errorf("CosPi(%g) = %g, want %g", c.x, got, c.want)
		}
	}
}

// TestExact asks for results that are float64s.
func TestExact(t *testing.T) {
	for e := range 23 {
		ten := math.Pow10(e)
		if got := Pow(10, float64(e)); got != ten {
			t.Errorf("Pow(10, %d) = %g", e, got)
		}
		if got := Log10(ten); got != float64(e) {
			t.Errorf("Log10(%g) = %g", ten, got)
		}
	}
	for e := -1074; e < 1024; e++ {
		if got := Pow(2, float64(e)); got != math.Ldexp(1, e) {
			t.Errorf("Pow(2, %d) = %g", e, got)
		}
	}
	for x := 1.0; x < 2000; x++ {
		if Pow(x, 2) != x*x || Pow(x, 3) != x*x*x || Pow(x*x, 0.5) != x {
			t.Errorf("powers of %g: %g, %g, %g", x, Pow(x, 2), Pow(x, 3), Pow(x*x, 0.5))
		}
	}
}

// TestMonotonic walks over neighbouring numbers.
func TestMonotonic(t *testing.T) {
	for _, f := range functions[:5] {
		for _, from := range []float64{0x1p-60, 0.0026, 0.00541, 0.01, 1. / 128, 1. / 8, 0.6875, 0.99, 1, 1.0077, 1.374, 2, 40} {
			for _, direction := range []float64{-1, 1} {
				x := from
				y := f.f(x)
				for range 2000 {
					next := math.Nextafter(x, direction*math.Inf(1))
					z := f.f(next)
					if (z-y)*direction < 0 {
						t.Fatalf("%s(%v) = %v and %s(%v) = %v", f.name, x, y, f.name, next, z)
					}
					x, y = next, z
				}
			}
		}
		if f.f(0x1p-1074) > f.f(0x1p-1022) {
			t.Errorf("%s falls among the subnormals", f.name)
		}
	}
}

// TestBits holds the bits themselves, the same on every processor.
func TestBits(t *testing.T) {
	want := map[string]uint64{
		"Exp":            0xd8ec384283666b9e,
		"Expm1":          0x995e03f4f8a4780d,
		"Log":            0xab3d3392ffb8c060,
		"Log10":          0xd4eb2a8eba9b2eb1,
		"Log1p":          0x524272be4cb10126,
		"CosPi":          0xfd4548d63398264,
		"Pow(10, x)":     0xd793c64ce45d2f0d,
		"Pow(0.9999, x)": 0x5e64aae2ac287b62,
		"Pow(x, 3)":      0xd13569034d5252b7,
		"Pow(x, -0.3)":   0x78c47af1c1f3c9b1,
	}
	for _, f := range functions {
		sum := uint64(14695981039346656037)
		for _, x := range points(2000) {
			y := f.f(x)
			if y != y {
				continue
			}
			sum = (sum ^ math.Float64bits(y)) * 1099511628211
		}
		if sum != want[f.name] {
			t.Errorf("%q: %#x, want %#x", f.name, sum, want[f.name])
		}
	}
}

func FuzzPow(f *testing.F) {
	f.Add(10.0, -3.0)
	f.Add(0.999, 1e5)
	f.Add(0x1p-1070, 0.7)
	f.Add(78.0, -162.61265432098764)
	f.Fuzz(func(t *testing.T, x, y float64) {
		if x = math.Abs(x); !positive(x) || !(math.Abs(y) < 1e20) || math.Abs(y*math.Log(x)) > 800 {
			return
		}
		if d := off(Pow(x, y), bigPow(x, y)); d > 0.52 {
			t.Errorf("Pow(%v, %v) = %v is off by %g", x, y, Pow(x, y), d)
		}
	})
}

func FuzzFunctions(f *testing.F) {
	f.Add(1.0)
	f.Add(-708.75)
	f.Fuzz(func(t *testing.T, x float64) {
		for _, g := range functions {
			if !g.in(x) {
				continue
			}
			if d := off(g.f(x), g.big(x)); d > g.ulps {
				t.Errorf("%s(%v) = %v is off by %g", g.name, x, g.f(x), d)
			}
		}
	})
}

var sink float64

func BenchmarkFunctions(b *testing.B) {
	x := make([]float64, 1024)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range x {
		x[i] = 3 * rng.Float64()
	}
	for _, f := range functions {
		for _, side := range []struct {
			name string
			f    func(float64) float64
		}{{"here", f.f}, {"math", f.math}} {
			b.Run(f.name+"/"+side.name, func(b *testing.B) {
				for i := range b.N {
					sink += side.f(x[i&1023])
				}
			})
		}
	}
}
