package precision

import "math"

// smallestScale is the smallest normal float32. A smaller scale would have few
// significant bits, or be zero and divide by it.
const smallestScale = 0x1p-126

// blockScale rounds the inner scales of NV.
var blockScale = E4M3.Rounder()

// scale returns the scale of a group whose largest magnitude has the float32
// pattern amax. A group of zeros has scale 1; a group with a NaN or an infinity,
// its own or its tensor's, has scale NaN.
func (p *pass) scale(amax uint32) float32 {
	if amax >= infinity || p.tensor != p.tensor {
		return math.Float32frombits(quietNaN)
	}
	if amax == 0 {
		return 1
	}
	largest := math.Float32frombits(amax)
	switch p.granularity {
	case MX:
		// 2^(⌊log2 amax⌋ - emax), OCP MX 1.0 section 6.3, by exponent fields,
		// kept within e8m0: its smallest power, 2^-127, is a float32 subnormal.
		// The upper end is out of reach.
		exponent := int(amax>>23) - (int(math.Float32bits(p.grid.top)>>23) - floatBias)
		if exponent < 1 {
			return 0x1p-127
		}
		return math.Float32frombits(uint32(exponent) << 23)
	case NV:
		// The inner scale may round to zero; so then does the block.
		return blockScale.Round(largest/p.grid.top/p.tensor) * p.tensor
	}
	return max(largest/p.grid.top, smallestScale)
}

// tensorScale returns the outer scale of NV, which puts the largest inner scale
// at the top of e4m3: amax / (6·448).
func (p *pass) tensorScale(src []float32) float32 {
	var largest [1]float32
	magnitudes(largest[:], src, len(src))
	switch amax := math.Float32bits(largest[0]); {
	case amax == 0:
		return 1
	case amax >= infinity:
		return math.Float32frombits(quietNaN)
	}
	return max(largest[0]/(p.grid.top*E4M3.Max), smallestScale)
}
