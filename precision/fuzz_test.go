package precision

import (
	"math"
	"testing"
)

// FuzzRound compares all paths with arithmetic on big integers, for any format
// of any shape, any float32 and any random bits.
func FuzzRound(f *testing.F) {
	for i, b := range []uint32{0, 1, signBit | 1, 0x3f800000, 0x3f808000, 0x3f818000, 0x477fefff, 0x477ff000, 0x7f7fffff,
		0x7f800000, 0xff800000, 0x7f800001, 0x7fc00000, 0x00400000, 0x33000000, 0x33000001, 0x43e80000, 0x43e80001} {
		f.Add(b, uint8(i), uint8(i*3), uint8(i), uint32(b*2654435761))
	}
	f.Fuzz(func(t *testing.T, b uint32, exponentBits, mantissaBits, rule uint8, u uint32) {
		formats := append([]Format{ieee("fuzz", 2+int(exponentBits)%7, 1+int(mantissaBits)%22)}, namedFormats...)
		formats[0].Overflow = Overflow(rule % 3)
		x := math.Float32frombits(b)
		for _, g := range formats {
			checkNearest(t, g, x, bigRound(g, x, NearestEven, 0))
			for _, mode := range []Mode{TowardZero, Stochastic} {
				if got, want := g.RoundMode(x, mode, u), bigRound(g, x, mode, u); !sameBits(got, want) {
					t.Fatalf("%s: RoundMode(%g = %#08x, %s, %#x) = %g, want %g", g, x, b, mode, u, got, want)
				}
			}
			if x == x {
				if back := g.Decode(g.Encode(x)); !sameBits(back, g.Round(x)) {
					t.Fatalf("%s: Decode(Encode(%g)) = %g, Round gives %g", g, x, back, g.Round(x))
				}
			}
		}
	})
}

// FuzzParseQuantizer checks that any text either fails with an error or reads
// as a valid quantiser whose own text reads back as the same.
func FuzzParseQuantizer(f *testing.F) {
	for _, text := range append([]string{"", "/", "e8m5", "e9m1", "int8/0x1", "bf16:sat", "fp8_e4m3:nan/tensor", "fp8_e4m3/1x", "e3m4/7x9"}, quantizerForms...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := ParseQuantizer(text)
		if err != nil {
			return
		}
		if err := q.Validate(); err != nil {
			t.Fatalf("%q parses but is invalid: %v", text, err)
		}
		back, err := ParseQuantizer(q.String())
		if err != nil || back != q {
			t.Fatalf("%q reads as %+v, but its text %q as %+v (%v)", text, q, q.String(), back, err)
		}
	})
}
