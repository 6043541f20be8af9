package kernel

import "math"

// fma32 returns a*b+c with one rounding to float32, the value a hardware
// fused multiply-add gives. It is the step of every canonical chain.
//
// The product of two float32 is exact in float64. Rounding the float64 sum to
// float32 would round twice, which goes wrong only where the first rounding
// lands on the midpoint of two float32, or where the result is subnormal in
// float32 and has fewer bits. Both are found by looking at the sum's bits and
// repaired by fmaOdd.
func fma32(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := p + float64(c)
	u := math.Float64bits(s)
	if u&doubleHalf == halfPattern || u>>52&0x7ff < minNormalExp {
		return fmaOdd(p, float64(c), s)
	}
	return float32(s)
}

const (
	doubleHalf   = 1<<29 - 1       // the bits of a float64 below float32's last place
	halfPattern  = 1 << 28         // exactly half of float32's last place
	minNormalExp = 1023 - 126      // biased float64 exponent of float32's least normal
	lsb          = uint64(1)       // last place of a float64
	signBit      = uint64(1) << 63 // sign of a float64
)

// fmaOdd rounds p+c to odd in float64 and then to nearest even in float32,
// which is the same as rounding once (Boldo and Melquiond 2008). s is p+c
// rounded to nearest; TwoSum recovers its error exactly.
func fmaOdd(p, c, s float64) float32 {
	bb := s - p
	err := (p - (s - bb)) + (c - bb)
	u := math.Float64bits(s)
	if err != 0 && err == err && u&lsb == 0 {
		// The exact sum lies strictly between s and a neighbour whose last bit
		// is odd: take that neighbour.
		if (err > 0) == (u&signBit == 0) {
			u++
		} else {
			u--
		}
	}
	return float32(math.Float64frombits(u))
}

// step adds a*b to the chain c: fused, or with the product rounded to float32
// first, the order of processors without fused multiply-add.
func step(a, b, c float32, unfused bool) float32 {
	if unfused {
		return float32(a*b) + c
	}
	return fma32(a, b, c)
}
