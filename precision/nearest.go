package precision

import "math"

// Three ways to round to nearest even, one for each kind of format. Each is
// written once for a single pattern, and once more in round_slice.go with the
// constants and the common case laid open.

// roundWide rounds the float32 pattern b to a format with the exponent of
// float32, where every number, normal or not, loses the same number of low
// bits. Adding just under half of the dropped range, plus one if the kept part
// is odd, carries exactly when nearest-even rounds up. Magnitudes from limit on
// overflow and become over.
func roundWide(b uint32, drop uint, limit, over uint32) uint32 {
	a := b & absBits
	if a >= limit {
		return outside(b, over)
	}
	half := uint32(1)<<(drop-1) - 1
	return (b + half + b>>drop&1) >> drop << drop // the sign rides along
}

// roundNarrow rounds the float32 pattern b to a format of less range than
// float32 by adding and taking away a power of two so large that the sum's last
// bit is worth one step of the format: the float32 addition itself rounds to
// nearest even. The power is that of x, but at least that of the smallest
// normal number, raised by lift, the number of mantissa bits to lose.
func roundNarrow(b, minExp, lift, limit, over uint32) uint32 {
	a := b & absBits
	if a >= limit {
		return outside(b, over)
	}
	power := math.Float32frombits(max(a&infinity, minExp) + lift)
	return math.Float32bits(math.Float32frombits(a)+power-power) | b&signBit
}

// outside rounds a pattern that is not below the limit: a NaN stays, all else
// becomes over.
func outside(b, over uint32) uint32 {
	if b&absBits > infinity {
		return b
	}
	return over | b&signBit
}

// The constants of a format are methods of the pointer: copying the receiver
// would cost more than they do.

// limit is the smallest magnitude that nearest-even rounding takes beyond Max:
// the midpoint between Max and the number that would follow, or the next
// float32 if that tie goes to Max for being even.
func (f *Format) limit() uint32 {
	top, drop := math.Float32bits(f.Max), uint(23-f.MantissaBits)
	return top + 1<<(drop-1) + 1 - top>>drop&1
}

// minExp is the exponent field, in place, of the smallest normal number.
func (f *Format) minExp() uint32 { return uint32(1-f.Bias+floatBias) << 23 }

// lift is the number of mantissa bits that are lost, as an exponent field.
func (f *Format) lift() uint32 { return uint32(23-f.MantissaBits) << 23 }

// integerPower is 1.5·2^23: added to a number of magnitude below 2^22 it leaves
// no room for a fraction, so the sum is rounded to a whole number. Taking it
// away again gives +0 for every zero, the only one integers have.
const integerPower = 3 << 22

// roundInteger rounds x to a whole number of magnitude at most limit. The
// comparisons are false for a NaN, which comes back as it is.
func roundInteger(x, limit float32) float32 {
	if x > limit {
		return limit
	}
	if x < -limit {
		return -limit
	}
	if x != x {
		return x
	}
	return x + integerPower - integerPower
}
