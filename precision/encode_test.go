package precision

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/precision/must"
)

// Every code of every format of at most 16 bits: it decodes to what the
// definition of the format says, and encodes back to itself, NaN payloads
// included. The numbers come in the order of the codes.
func TestEveryCodeRoundTrips(t *testing.T) {
	for _, f := range testFormats(t) {
		if f.Bits() > 16 || f.Integer() {
			continue
		}
		list := enumerate(f)
		finite := uint32(len(list) - 1)
		sign := uint32(1) << (f.Bits() - 1)
		for code := range sign {
			x := f.Decode(code)
			switch {
			case code < finite:
				if float64(x) != list[code].value || math.Signbit(float64(x)) {
					t.Fatalf("%s: code %#x decodes to %g, want %g", f, code, x, list[code].value)
				}
			case f.Specials == IEEE && code == finite:
				if !math.IsInf(float64(x), 1) {
					t.Fatalf("%s: code %#x decodes to %g, want infinity", f, code, x)
				}
			case x == x || f.Specials == FiniteOnly:
				t.Fatalf("%s: code %#x decodes to %g, want NaN", f, code, x)
			}
			negative := f.Decode(code | sign)
			if math.Float32bits(negative) != math.Float32bits(x)|signBit {
				t.Fatalf("%s: code %#x decodes to %g, with the sign to %g", f, code, x, negative)
			}
			if f.Specials == IEEE && code == finite && f.Overflow != ToInfinity {
				continue // Encode follows the overflow rule: infinity is no fixed point
			}
			for _, c := range []uint32{code, code | sign} {
				if got := f.Encode(f.Decode(c)); got != c {
					t.Fatalf("%s: code %#x decodes to %g, which encodes to %#x", f, c, f.Decode(c), got)
				}
			}
		}
	}
}

func TestIntegerCodes(t *testing.T) {
	for _, f := range []Format{INT8, INT4, integer(2)} {
		half := 1 << (f.Bits() - 1)
		for n := -half; n < half; n++ {
			code := uint32(n) & (1<<f.Bits() - 1)
			if got := f.Decode(code); got != float32(n) {
				t.Errorf("%s: code %#x decodes to %g, want %d", f, code, got, n)
			}
			if n == -half { // never produced: the grid is symmetric
				code++
			}
			if got := f.Encode(float32(n)); got != code {
				t.Errorf("%s: %d encodes to %#x, want %#x", f, n, got, code)
			}
		}
	}
}

// Codes that a reader can check against the standards' tables.
func TestSpecialCodes(t *testing.T) {
	inf := float32(math.Inf(1))
	nan := math.Float32frombits(quietNaN)
	for _, c := range []struct {
		format string
		x      float32
		code   uint32
	}{
		{"fp16", inf, 0x7c00}, {"fp16", -inf, 0xfc00}, {"fp16", nan, 0x7e00}, {"fp16", 0x1p-24, 0x0001}, {"fp16", 1, 0x3c00},
		{"bf16", inf, 0x7f80}, {"bf16", nan, 0x7fc0}, {"bf16", math.Float32frombits(0x7f800001), 0x7fc0},
		{"bf16", math.Float32frombits(0xffa00001), 0xffa0},
		{"fp8_e4m3", inf, 0x7e}, {"fp8_e4m3", -inf, 0xfe}, {"fp8_e4m3", nan, 0x7f}, {"fp8_e4m3", 1.125, 0x39}, {"fp8_e4m3", 0x1p-9, 0x01},
		{"fp8_e4m3:nan", inf, 0x7f}, {"fp8_e4m3:nan", -500, 0xff},
		{"fp8_e5m2", inf, 0x7c}, {"fp8_e5m2", nan, 0x7e}, {"fp8_e5m2:sat", inf, 0x7b}, {"fp8_e5m2:nan", 1e9, 0x7e},
		{"fp4_e2m1", inf, 0x7}, {"fp4_e2m1", -inf, 0xf}, {"fp4_e2m1", nan, 0x7}, {"fp4_e2m1", -0.5, 0x9}, {"fp4_e2m1", 3, 0x5},
		{"int8", nan, 0x7f}, {"int8", -inf, 0x81}, {"int8", -0.5, 0},
		{"fp32", -2, 0xc0000000}, {"fp32", math.Float32frombits(0x7f800001), 0x7f800001},
		{"tf32", 1 + 0x1p-10, 0x1fc01}, {"tf32", nan, 0x3fe00},
	} {
		f := must.Get(ParseFormat(c.format))(t)
		if got := f.Encode(c.x); got != c.code {
			t.Errorf("%s: Encode(%g) = %#x, want %#x", f, c.x, got, c.code)
		}
	}
}

// Encoding rounds as Round does, and ignores bits above the code when decoding.
func TestEncodeIsRound(t *testing.T) {
	bits := adversarial()
	rng := rand.New(rand.NewPCG(19, 20))
	for range 20_000 {
		bits = append(bits, rng.Uint32())
	}
	for _, f := range testFormats(t) {
		for _, b := range bits {
			x := math.Float32frombits(b)
			if x != x {
				continue
			}
			code := f.Encode(x)
			if f.Bits() < 32 && code>>f.Bits() != 0 {
				t.Fatalf("%s: Encode(%g) = %#x is wider than %d bits", f, x, code, f.Bits())
			}
			if got, want := f.Decode(code), f.Round(x); !sameBits(got, want) {
				t.Fatalf("%s: %g encodes to %#x, that is %g, but rounds to %g", f, x, code, got, want)
			}
			if f.Bits() < 32 && !sameBits(f.Decode(code|^uint32(0)<<f.Bits()), f.Decode(code)) {
				t.Fatalf("%s: Decode reads bits above %d", f, f.Bits())
			}
		}
	}
}
