package kernel

import "math"

// fma32 returns a*b+c with one rounding to float32, the value a hardware
// fused multiply-add gives. It is the step of every canonical chain.
//
// The product of two float32 is exact in float64 (48 bits, and its exponent is far
// inside the range). s is the exact sum rounded to 53 bits, and rounding that to
// float32 is a second rounding. Between two neighbouring midpoints of float32, which
// are float64s, the first rounding leaves the sum on its side of both, for it is
// monotone; so the second gives what one alone would have, unless s itself is a
// midpoint. In float32's normal range the low 29 bits of a midpoint are a one and 28
// zeros. Below 2^-126, where the last place stays 2^-149, a midpoint is a multiple
// of 2^-150 and the last place of a float64 at most 2^-179: 29 zeros or more. Where
// overflow begins, 2^128-2^103, the bits are like any other midpoint's, and NaN
// remains NaN. So 28 zeros, which among ordinary numbers come by chance once in
// 2^28, are the one test; odd then decides.
func fma32(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := p + float64(c)
	if settled(s) {
		return float32(s)
	}
	return float32(odd(p, float64(c), s))
}

// settled reports that s is not the midpoint of two float32, nor of the last
// finite one and infinity. Of a float32 itself it is not sure.
func settled(s float64) bool { return uint32(math.Float64bits(s))&(1<<28-1) != 0 }

// odd returns p+c, which is s when rounded to nearest, rounded to odd: of the two
// float64 around an inexact sum the one with an odd last bit. Rounding that to
// nearest in float32 is the same as rounding once (Boldo and Melquiond 2008).
func odd(p, c, s float64) float64 {
	// The error of s, exactly: TwoSum (Knuth, The Art of Computer Programming,
	// volume 2, 4.2.2).
	t := s - p
	err := (p - (s - t)) + (c - t)
	if err == 0 || err != err {
		return s
	}
	// A midpoint's last bit is 0. The neighbour on the side of the exact sum is one
	// away from zero where error and sum have one sign.
	u := math.Float64bits(s)
	if (err > 0) == (s > 0) {
		return math.Float64frombits(u + 1)
	}
	return math.Float64frombits(u - 1)
}

// step adds a*b to the chain c: fused, or with the product rounded to float32
// first, the order of processors without fused multiply-add.
func step(a, b, c float32, unfused bool) float32 {
	if unfused {
		return float32(a*b) + c
	}
	return fma32(a, b, c)
}
