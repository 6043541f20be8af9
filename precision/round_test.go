package precision

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/precision/must"

	"github.com/x448/float16"
	"pgregory.net/rapid"
)

// checkNearest compares every path to nearest-even with want.
func checkNearest(t *testing.T, f Format, x, want float32) {
	t.Helper()
	var slice [1]float32
	f.RoundSlice(slice[:], []float32{x})
	rounder := f.Rounder()
	for _, got := range []struct {
		path  string
		value float32
	}{{"Round", f.Round(x)}, {"RoundMode", f.RoundMode(x, NearestEven, 0)}, {"RoundSlice", slice[0]}, {"Rounder.Round", rounder.Round(x)}} {
		if !sameBits(got.value, want) {
			t.Fatalf("%s: %s(%g = %#08x) = %g, want %g", f, got.path, x, math.Float32bits(x), got.value, want)
		}
	}
}

// Every number of every format of at most 16 bits, every midpoint between
// neighbours (and between the largest and the one that is missing above it),
// and the float32 numbers next to all of these, against the search.
func TestRoundExhaustive(t *testing.T) {
	for _, f := range testFormats(t) {
		if f.Bits() > 16 {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			list := enumerate(f)
			check := func(y float64) {
				x := float32(y)
				if float64(x) != y {
					t.Fatalf("%g is not a float32", y)
				}
				for _, z := range []float32{x, math.Nextafter32(x, -1), math.Nextafter32(x, float32(math.Inf(1)))} {
					checkNearest(t, f, z, searchNearest(f, list, z))
					checkNearest(t, f, -z, searchNearest(f, list, -z))
				}
			}
			for i, s := range list[:len(list)-1] {
				if got := f.Round(float32(s.value)); float64(got) != s.value {
					t.Fatalf("%g is a number of %s but rounds to %g", s.value, f, got)
				}
				check(s.value)
				if middle := (s.value + list[i+1].value) / 2; middle < 0x1p128 {
					check(middle)
				}
			}
		})
	}
}

func TestRoundAdversarial(t *testing.T) {
	bits := adversarial()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		bits = append(bits, rng.Uint32())
	}
	for _, f := range testFormats(t) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			for i, b := range bits {
				x := math.Float32frombits(b)
				checkNearest(t, f, x, bigRound(f, x, NearestEven, 0))
				u := uint32(i) * 2654435761
				for _, mode := range []Mode{TowardZero, Stochastic} {
					if got, want := f.RoundMode(x, mode, u), bigRound(f, x, mode, u); !sameBits(got, want) {
						t.Fatalf("%s: RoundMode(%g, %s, %#x) = %g, want %g", f, x, mode, u, got, want)
					}
				}
			}
		})
	}
}

// A second implementation, written by others, for all random patterns and every
// half with its neighbours.
func TestRoundAgainstFloat16Module(t *testing.T) {
	check := func(b uint32) {
		x := math.Float32frombits(b)
		if want := float16.Fromfloat32(x).Float32(); !sameBits(FP16.Round(x), want) {
			t.Fatalf("fp16: Round(%g = %#08x) = %g, want %g", x, b, FP16.Round(x), want)
		}
	}
	for h := range uint32(1 << 16) {
		b := math.Float32bits(float16.Frombits(uint16(h)).Float32())
		for _, offset := range []uint32{0, 1, ^uint32(0), 0xfff, 0x1000, 0x1001} {
			check(b + offset)
		}
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for range 1_000_000 {
		check(rng.Uint32())
	}
}

var everyFloat32 = flag.Bool("every", false, "let TestEveryFloat32 try all 2^32 patterns (one or two minutes per format)")

// The fast slices, on every path, and the prepared Rounder against RoundMode,
// which works another way, over the whole of float32: a sample of 2^19 patterns,
// or all of them with -every.
func TestEveryFloat32(t *testing.T) {
	const chunk = 1 << 12
	stride := uint64(8191) // prime, so that the sample is spread over all bits
	if *everyFloat32 {
		stride = 1
	}
	src, want, got := make([]float32, chunk), make([]float32, chunk), make([]float32, chunk)
	for _, f := range []Format{TF32, BF16, FP16, E4M3, E5M2, E3M2, E2M3, E2M1, INT8} {
		r := f.Rounder()
		for next := uint64(0); next < 1<<32; {
			for i := range src {
				src[i] = math.Float32frombits(uint32(next))
				next += stride
				want[i] = f.RoundMode(src[i], NearestEven, 0)
				got[i] = r.Round(src[i])
			}
			mustEqualBits(t, f.Name+" Rounder.Round", got, want)
			for _, p := range paths() {
				onPath(p, func() { f.RoundSlice(got, src) })
				mustEqualBits(t, f.Name+" "+p.String(), got, want)
			}
		}
	}
}

// What each overflow rule does at the two numbers that decide, and beyond.
func TestOverflow(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		format      string
		x           float32
		even, trunc float32 // nearest-even, toward-zero
	}{
		{"fp16", 65519.996, 65504, 65504}, // below the midpoint 65520
		{"fp16", 65520, inf, 65504},
		{"fp16", 1e30, inf, 65504},
		{"fp16", inf, inf, inf},
		{"fp16:sat", 65520, 65504, 65504},
		{"fp16:sat", inf, 65504, 65504},
		{"fp16:nan", 65520, nan, 65504},
		{"fp16:nan", inf, nan, nan},
		{"bf16", 0x1.fe8p127, 0x1.fep127, 0x1.fep127}, // a quarter of a step above Max
		{"bf16", 0x1.ffp127, inf, 0x1.fep127},         // the midpoint
		{"bf16", math.MaxFloat32, inf, 0x1.fep127},
		{"fp8_e4m3", 464, 448, 448}, // midpoint of 448 and 480: 448 is even
		{"fp8_e4m3", 464.00003, 448, 448},
		{"fp8_e4m3", inf, 448, 448},
		{"fp8_e4m3:nan", 464, 448, 448},
		{"fp8_e4m3:nan", 464.00003, nan, 448},
		{"fp8_e4m3:nan", inf, nan, nan},
		{"fp8_e5m2", 61439.996, 57344, 57344},
		{"fp8_e5m2", 61440, inf, 57344},
		{"fp8_e5m2:sat", 61440, 57344, 57344},
		{"fp4_e2m1", 7, 6, 6},
		{"fp4_e2m1", inf, 6, 6},
		{"int8", 127.5, 127, 127},
		{"int8", inf, 127, 127},
	} {
		f := must.Get(ParseFormat(c.format))(t)
		for _, sign := range []uint32{0, signBit} {
			signed := func(y float32) float32 { return math.Float32frombits(math.Float32bits(y) ^ sign) }
			checkNearest(t, f, signed(c.x), signed(c.even))
			if got := f.RoundMode(signed(c.x), TowardZero, 0); !sameBits(got, signed(c.trunc)) {
				t.Errorf("%s: toward zero %g gives %g, want %g", f, signed(c.x), got, signed(c.trunc))
			}
		}
	}
}

// A NaN comes back bit for bit, quiet or signalling, on every path.
func TestNaNKeepsItsBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, f := range testFormats(t) {
		r := f.Rounder()
		for _, b := range []uint32{0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff, 0x7fa5a5a5} {
			x := math.Float32frombits(b)
			random := []float32{x}
			f.RoundSliceStochastic(random, random, rng)
			results := []float32{f.Round(x), random[0], r.Round(x),
				f.RoundMode(x, NearestEven, 0), f.RoundMode(x, TowardZero, 0), f.RoundMode(x, Stochastic, 1)}
			for _, p := range paths() {
				row := make([]float32, 19) // whole vectors and a tail
				for i := range row {
					row[i] = x
				}
				onPath(p, func() { f.RoundSlice(row, row) })
				results = append(results, row...)
			}
			for i, got := range results {
				if math.Float32bits(got) != b {
					t.Errorf("%s: result %d turns NaN %#08x into %#08x", f, i, b, math.Float32bits(got))
				}
			}
		}
	}
}

func TestRoundProperties(t *testing.T) {
	formats := testFormats(t)
	number := rapid.Custom(func(t *rapid.T) float32 {
		b := rapid.Uint32().Draw(t, "bits")
		if x := math.Float32frombits(b); x == x {
			return x
		}
		return rapid.Float32().Draw(t, "value")
	})
	for _, f := range formats {
		rapid.Check(t, func(t *rapid.T) { roundProperties(t, f, number) })
	}
}

// roundProperties checks, for two numbers: order is kept, rounding twice is
// rounding once, the sign does not matter, and every mode gives a neighbour.
func roundProperties(t *rapid.T, f Format, number *rapid.Generator[float32]) {
	x, y := number.Draw(t, "x"), number.Draw(t, "y")
	if x > y {
		x, y = y, x
	}
	rx, ry := f.Round(x), f.Round(y)
	if rx > ry {
		t.Fatalf("%s: %g <= %g but rounds above: %g > %g", f, x, y, rx, ry)
	}
	if !sameBits(f.Round(rx), rx) && rx == rx {
		t.Fatalf("%s: rounding %g twice: %g, then %g", f, x, rx, f.Round(rx))
	}
	if minus := f.Round(-x); !sameBits(minus, -rx) && (rx != 0 || !f.Integer()) {
		t.Fatalf("%s: Round(-%g) = %g, Round(%g) = %g", f, x, minus, x, rx)
	}
	down := f.RoundMode(x, TowardZero, 0)
	if finite := x-x == 0; finite && math.Abs(float64(down)) > math.Abs(float64(x)) {
		t.Fatalf("%s: toward zero %g gives %g", f, x, down)
	}
	// Stochastic rounding picks one of the two neighbours, and so does
	// nearest-even; u = 0 rounds up whenever anything is dropped.
	random := f.RoundMode(x, Stochastic, rapid.Uint32().Draw(t, "u"))
	up := f.RoundMode(x, Stochastic, 0)
	if !sameBits(random, down) && !sameBits(random, up) || !sameBits(rx, down) && !sameBits(rx, up) && x-x == 0 &&
		math.Abs(float64(x)) < math.Abs(float64(f.Max)) && tinyFraction(f, x) {
		t.Fatalf("%s: %g: nearest %g, stochastic %g, neighbours %g and %g", f, x, rx, random, down, up)
	}
}

// tinyFraction reports whether x is at least 2^-32 steps from zero, so that
// u = 0 does round it up.
func tinyFraction(f Format, x float32) bool {
	return math.Abs(float64(x)) >= math.Ldexp(1, 1-f.Bias-f.MantissaBits-32)
}

func TestZeroFormatPanics(t *testing.T) {
	for name, call := range map[string]func(){
		"Round":      func() { Format{}.Round(1) },
		"RoundMode":  func() { Format{}.RoundMode(1, NearestEven, 0) },
		"RoundSlice": func() { Format{}.RoundSlice(nil, nil) },
		"Rounder":    func() { Format{}.Rounder() },
		"rounder":    func() { new(Rounder).RoundSlice(make([]float32, 20), make([]float32, 20)) },
		"Stochastic": func() { Format{}.RoundSliceStochastic(nil, nil, nil) },
		"Encode":     func() { Format{}.Encode(1) },
		"Decode":     func() { Format{}.Decode(1) },
		"mode":       func() { BF16.RoundMode(0.1, 77, 0) },
		"lengths":    func() { BF16.RoundSlice(make([]float32, 2), make([]float32, 3)) },
	} {
		must.Panic(t, name, call)
	}
}
