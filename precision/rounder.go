package precision

import "math"

// Rounder is a Format prepared for rounding: its constants, worked out once.
// It gives the bits that the Format gives. Take one from Format.Rounder; the
// zero Rounder is not valid. It is a small value without pointers.
//
// Use it where numbers are rounded one by one inside a loop, as an accumulator
// of few bits is:
//
//	r := f.Rounder()
//	for i, w := range weights {
//		sum = r.Round(sum + r.Round(w*x[i]))
//	}
type Rounder struct {
	kind roundKind
	// Magnitudes below normal are rounded by adding and taking away magic, those
	// from there to limit by dropping low bits, and those from limit on become
	// over.
	normal, limit, over uint32
	drop                uint32  // number of low bits to lose
	half                uint32  // just under half of what they can hold
	keep                uint32  // the other bits
	lift                uint32  // drop, as an exponent field
	last                uint32  // the largest magnitude below limit
	magic               float32 // so large that its last bit is a step below normal
	sign                uint32  // the sign bit, or 0 where there is no negative zero
	top                 float32 // the largest finite value
}

// roundKind says which of the rounding routines a format takes.
type roundKind uint32

const (
	_            roundKind = iota
	keepAll                // every float32 is a number of the format
	wideInfinite           // the exponent of float32, and overflow to infinity
	wide                   // the exponent of float32, other overflow
	narrow                 // less range than float32
	whole                  // an integer grid
)

// Rounder returns the format prepared for rounding.
func (f Format) Rounder() Rounder {
	var r Rounder
	r.set(&f)
	return r
}

// set makes r round to f. It asks for the fields and not for Identity and
// Integer: those copy the Format, which costs as much as rounding a short row.
func (r *Rounder) set(f *Format) {
	f.mustBeSet()
	drop := uint32(23-f.MantissaBits) & 31
	r.drop, r.lift, r.keep = drop, drop<<23, math.MaxUint32<<drop
	r.half = 1<<(drop-1&31) - 1
	r.sign, r.over, r.top = signBit, f.overflowBits(), f.Max
	switch {
	case f.ExponentBits == 8 && drop == 0:
		// Adding nothing below a NaN, and nothing at all to a NaN.
		r.kind, r.normal = keepAll, infinity+1
		return
	case f.ExponentBits == 0:
		// All numbers are below normal. Those from Max up are cut.
		top := math.Float32bits(f.Max)
		r.kind, r.normal, r.limit, r.last = whole, top, top, top-1
		r.magic, r.sign = integerPower, 0
		return
	case f.ExponentBits < 8:
		r.kind, r.normal = narrow, f.minExp()
		// Half as much again as the power in roundSliceNarrow, so that one sum serves
		// both signs: it stays in the same binade.
		r.magic = math.Float32frombits(r.normal + r.lift | 1<<22)
	case f.Overflow == ToInfinity:
		r.kind = wideInfinite
	default:
		r.kind = wide
	}
	r.limit = f.limit()
	r.last = r.limit - 1
}

// Round returns the number of the format nearest to x, ties to even, with the
// bits of Format.Round. It is made for the compiler to put into the caller's
// loop and just fits the size it allows; the branches follow the magnitude of
// x, which changes seldom.
func (r *Rounder) Round(x float32) float32 {
	b := math.Float32bits(x)
	if b&absBits < r.normal {
		b = math.Float32bits(x+r.magic-r.magic) | b&r.sign
	} else if b&absBits < r.limit {
		b = (b + r.half + b>>(r.drop&31)&1) & r.keep
	} else if x == x {
		b = b&signBit | r.over
	}
	return math.Float32frombits(b)
}

// RoundSlice rounds src into dst as Format.RoundSlice does.
func (r *Rounder) RoundSlice(dst, src []float32) {
	mustMatch("RoundSlice", len(dst), len(src))
	r.slice(dst, src)
}

func (r *Rounder) sliceGo(dst, src []float32) {
	switch r.kind {
	case keepAll:
		copy(dst, src)
	case narrow:
		roundSliceNarrow(dst, src, r.normal, r.lift, r.limit, r.over)
	case wideInfinite, wide, whole:
		if r.kind == wideInfinite && r.drop == 16 {
			roundSliceBF16(dst, src)
			return
		}
		dst, local := dst[:len(src)], *r // in registers
		for i, x := range src {
			dst[i] = local.Round(x)
		}
	default:
		panic("precision: the zero Rounder does not round; take one from Format.Rounder")
	}
}
