package precision

import (
	"math"
	"math/big"
	"slices"
	"testing"
)

// Two definitions of rounding that share nothing with the package: a search
// through the list of all numbers of a format, and arithmetic on big integers.

// testFormats are the formats under test: all named ones, each overflow rule,
// and custom shapes at the corners of what is allowed.
func testFormats(t testing.TB) []Format {
	t.Helper()
	formats := slices.Clone(namedFormats)
	for _, name := range []string{
		"fp16:sat", "fp16:nan", "bf16:sat", "bf16:nan", "tf32:sat", "fp8_e4m3:nan", "fp8_e5m2:sat", "fp8_e5m2:nan",
		"e8m5", "e8m1", "e8m22", "e2m1:nan", "e5m7", "e6m9", "e7m22", "e7m1", "e4m11", "e2m22", "e3m1", "int2", "int3",
	} {
		if f, err := ParseFormat(name); err == nil {
			formats = append(formats, f)
		} else if name != "e2m1:nan" { // fp4 has no NaN; format_test.go checks the refusal
			t.Fatal(err)
		}
	}
	return formats
}

// step is one number of a format, in order, and whether its mantissa is even.
type step struct {
	value float64
	even  bool
}

// enumerate lists the non-negative finite numbers of f from the definition of a
// binary format, and then the one that would follow the largest if the exponent
// had no upper limit.
func enumerate(f Format) []step {
	var list []step
	add := func(significand, exponent int) {
		list = append(list, step{math.Ldexp(float64(significand), exponent), significand%2 == 0})
	}
	for s := range 1 << f.MantissaBits { // subnormals, and zero
		add(s, 1-f.Bias-f.MantissaBits)
	}
	for e := 1 - f.Bias; len(list) < 1<<20; e++ {
		for s := range 1 << f.MantissaBits {
			add(1<<f.MantissaBits+s, e-f.MantissaBits)
			if list[len(list)-1].value > float64(f.Max) {
				return list
			}
		}
	}
	panic("enumerate: too many numbers in " + f.Name)
}

// searchNearest rounds x by looking for the nearest number in the list.
func searchNearest(f Format, list []step, x float32) float32 {
	y := math.Abs(float64(x))
	if y != y {
		return x
	}
	i, exact := slices.BinarySearchFunc(list, y, func(s step, y float64) int {
		switch {
		case s.value < y:
			return -1
		case s.value > y:
			return 1
		}
		return 0
	})
	switch {
	case i == len(list):
		i-- // beyond the number after Max
	case !exact:
		// The differences are exact: neighbours and x share their last bits.
		below, above := y-list[i-1].value, list[i].value-y
		if below < above || below == above && list[i-1].even {
			i--
		}
	}
	return finish(f, list[i].value, x, NearestEven)
}

// finish applies the overflow rule and the sign of x to a rounded magnitude.
func finish(f Format, magnitude float64, x float32, mode Mode) float32 {
	r := float32(magnitude)
	if magnitude > float64(f.Max) || math.IsInf(float64(x), 0) {
		switch {
		case mode == TowardZero && !math.IsInf(float64(x), 0), f.Overflow == Saturate:
			r = f.Max
		case f.Overflow == ToInfinity:
			r = float32(math.Inf(1))
		default:
			r = float32(math.NaN())
		}
	}
	if f.Integer() && r == 0 {
		return 0
	}
	if math.Signbit(float64(x)) {
		r = math.Float32frombits(math.Float32bits(r) ^ signBit)
	}
	return r
}

// bigRound rounds x with big integers, following the words of the package
// comment: no bit of x is looked at.
func bigRound(f Format, x float32, mode Mode, u uint32) float32 {
	if x != x || f == FP32 {
		return x
	}
	if math.IsInf(float64(x), 0) {
		return finish(f, math.Inf(1), x, mode)
	}
	// |x| = units · 2^-149, and so is every step, for some whole number.
	units, accuracy := big.NewFloat(math.Ldexp(math.Abs(float64(x)), 149)).Int(nil)
	if accuracy != big.Exact {
		panic("bigRound: not a float32")
	}
	exponent := max(units.BitLen()-1-149, 1-f.Bias) // of x, or of the subnormals
	stepUnits := new(big.Int).Lsh(big.NewInt(1), uint(exponent-f.MantissaBits+149))
	count, rest := new(big.Int).QuoRem(units, stepUnits, new(big.Int))

	up := false
	switch mode {
	case NearestEven:
		c := new(big.Int).Lsh(rest, 1).Cmp(stepUnits)
		up = c > 0 || c == 0 && count.Bit(0) == 1
	case Stochastic: // u/2^32 < rest/step, the right side cut to 32 bits
		threshold := new(big.Int).Lsh(rest, 32)
		threshold.Quo(threshold, stepUnits)
		up = big.NewInt(int64(u)).Cmp(threshold) < 0
	}
	if up {
		count.Add(count, big.NewInt(1))
	}
	magnitude, _ := new(big.Float).SetInt(count.Mul(count, stepUnits)).Float64()
	return finish(f, math.Ldexp(magnitude, -149), x, mode)
}

// sameBits compares patterns, so that -0 differs from 0. Any two NaNs of one
// sign are the same here; tests that care about payloads say so.
func sameBits(a, b float32) bool {
	if a != a && b != b {
		return math.Signbit(float64(a)) == math.Signbit(float64(b))
	}
	return math.Float32bits(a) == math.Float32bits(b)
}

// adversarial are float32 patterns that break careless rounding: the edges of
// every binade region, ties, near-ties, subnormals, infinities and NaNs.
func adversarial() []uint32 {
	var bits []uint32
	for exponent := uint32(0); exponent <= 0xff; exponent++ {
		for _, m := range []uint32{0, 1, 2, 3, 0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x3001, 0x7fff, 0x8000, 0x8001,
			0x17fff, 0x18000, 0x18001, 0x07ffff, 0x080000, 0x080001, 0x0fffff, 0x100000, 0x17ffff, 0x180000, 0x180001,
			0x1fffff, 0x200000, 0x3fffff, 0x400000, 0x400001, 0x5fffff, 0x600000, 0x600001, 0x7ffffe, 0x7fffff} {
			bits = append(bits, uint32(len(bits)*5>>1&1)<<31|exponent<<23|m) // signs mixed
		}
	}
	return bits
}

// The two definitions must agree with each other before they judge anybody.
func TestOraclesAgree(t *testing.T) {
	for _, f := range testFormats(t) {
		if f.Bits() > 16 {
			continue
		}
		list := enumerate(f)
		for _, b := range adversarial() {
			x := math.Float32frombits(b)
			if s, g := searchNearest(f, list, x), bigRound(f, x, NearestEven, 0); !sameBits(s, g) {
				t.Fatalf("%s: %g (%#08x): search %g, big integers %g", f, x, b, s, g)
			}
		}
	}
}
