package precision

import "math"

// Encode rounds x to the nearest number of the format and returns its bit
// pattern in the low Bits() bits: sign, exponent, mantissa, or two's complement
// for integers. A NaN keeps its sign and the leading bits of its payload where
// the format has several NaNs. A format without NaN gives its largest number,
// as the PTX conversion to e2m1 does; Round, unlike Encode, keeps the NaN.
func (f Format) Encode(x float32) uint32 {
	f.mustBeSet()
	b := math.Float32bits(x)
	if f.Identity() {
		return b
	}
	if b&absBits > infinity {
		return f.encodeNaN(b)
	}
	b = math.Float32bits(f.Round(x))
	if b&absBits > infinity {
		return f.encodeNaN(b) // overflow by the rule ToNaN
	}
	if f.Integer() {
		return uint32(int32(math.Float32frombits(b))) & (1<<f.Bits() - 1)
	}
	sign := b >> 31 << (f.Bits() - 1)
	a := b & absBits
	if a == infinity {
		return sign | f.topExponent()
	}
	// A magnitude is exponent field and mantissa in one number, in both
	// formats; normal ones differ by the bias and the width of the mantissa.
	if minNormal := uint32(1-f.Bias+floatBias) << 23; a >= minNormal {
		return sign | ((a-minNormal)>>(23-f.MantissaBits) + 1<<f.MantissaBits)
	}
	// Subnormal: the pattern counts the steps; the product is exact.
	steps := float64(math.Float32frombits(a)) * math.Ldexp(1, f.MantissaBits+f.Bias-1)
	return sign | uint32(steps)
}

// Decode returns the number that the low Bits() bits stand for. Higher bits are
// ignored. The integer pattern 100...0, which Encode never produces, is the
// two's complement number.
func (f Format) Decode(bits uint32) float32 {
	f.mustBeSet()
	if f.Identity() {
		return math.Float32frombits(bits)
	}
	width := f.Bits()
	if f.Integer() {
		return float32(int32(bits<<(32-width)) >> (32 - width))
	}
	sign := bits >> (width - 1) & 1 << 31
	a := bits & (1<<(width-1) - 1)
	exponent, mantissa := a>>f.MantissaBits, a&(1<<f.MantissaBits-1)
	switch {
	case f.Specials == IEEE && a >= f.topExponent():
		return math.Float32frombits(sign | infinity | mantissa<<(23-f.MantissaBits))
	case f.Specials == NaNOnly && a == 1<<(width-1)-1:
		return math.Float32frombits(sign | quietNaN)
	case exponent == 0:
		magnitude := float32(math.Ldexp(float64(mantissa), 1-f.Bias-f.MantissaBits))
		return math.Float32frombits(sign | math.Float32bits(magnitude))
	}
	exponent += uint32(floatBias - f.Bias)
	return math.Float32frombits(sign | exponent<<23 | mantissa<<(23-f.MantissaBits))
}

// topExponent is the pattern of the highest exponent and no mantissa, which in
// an IEEE-like format is infinity.
func (f *Format) topExponent() uint32 {
	return (1<<f.ExponentBits - 1) << f.MantissaBits
}

// encodeNaN packs the float32 NaN pattern b.
func (f Format) encodeNaN(b uint32) uint32 {
	width := f.Bits()
	sign := b >> 31 << (width - 1)
	switch f.Specials {
	case NaNOnly:
		return sign | (1<<(width-1) - 1)
	case FiniteOnly:
		return f.Encode(f.Max)
	}
	payload := b & fraction >> (23 - f.MantissaBits)
	if payload == 0 { // would read as infinity
		payload = 1 << (f.MantissaBits - 1)
	}
	return sign | f.topExponent() | payload
}
