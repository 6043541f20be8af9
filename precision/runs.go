package precision

import "math"

// The loops of a Quantizer over runs: stretches of n numbers that share a
// scale, one after the other, as many as there are scales. This is the plain Go
// that assembly is held to.

// magnitudesGo writes the largest magnitude of each run.
func magnitudesGo(amax, src []float32, n int) {
	for i := range amax {
		amax[i] = math.Float32frombits(maxMagnitude(src[i*n:][:n]))
	}
}

// maxMagnitude returns the largest magnitude of xs as a float32 pattern, or a
// pattern from infinity upwards if any is infinite or NaN: patterns of
// magnitudes are ordered as the magnitudes are, and those of NaNs come last.
func maxMagnitude(xs []float32) uint32 {
	var even, odd uint32 // two chains, since each step waits for the last
	for len(xs) >= 2 {
		even = max(even, math.Float32bits(xs[0])&absBits)
		odd = max(odd, math.Float32bits(xs[1])&absBits)
		xs = xs[2:]
	}
	if len(xs) > 0 {
		even = max(even, math.Float32bits(xs[0])&absBits)
	}
	return max(even, odd)
}

// divideGo writes the numbers of the grid nearest to src/scale, saturated, and
// times scale again if restore is set. Scales are positive and no quotient is a
// NaN.
func (r *Rounder) divideGo(dst, src, scales []float32, n int, restore bool) {
	for i, scale := range scales {
		back := float32(1)
		if restore {
			back = scale
		}
		if r.kind == whole {
			divideInteger(dst[i*n:][:n], src[i*n:][:n], scale, back, r.top)
		} else {
			divideNarrow(dst[i*n:][:n], src[i*n:][:n], scale, back, r.normal, r.lift, math.Float32bits(r.top))
		}
	}
}

// divideInteger writes the whole number nearest to src/scale, times back.
func divideInteger(dst, src []float32, scale, back, limit float32) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] = roundInteger(x/scale, limit) * back
	}
}

// divideNarrow writes the number of the format nearest to src/scale, times
// back. It is roundNarrow saturating, for finite numbers: cutting at the
// largest before rounding is the same as after, since that one is on the grid.
func divideNarrow(dst, src []float32, scale, back float32, minExp, lift, top uint32) {
	dst = dst[:len(src)]
	for i, x := range src {
		b := math.Float32bits(x / scale)
		a := min(b&absBits, top)
		power := math.Float32frombits(max(a&infinity, minExp) + lift)
		r := math.Float32bits(math.Float32frombits(a) + power - power)
		dst[i] = math.Float32frombits(r|b&signBit) * back
	}
}

// multiplyGo writes src times the scale of its run.
func multiplyGo(dst, src, scales []float32, n int) {
	for i, scale := range scales {
		to, from := dst[i*n:][:n], src[i*n:][:n]
		for j, x := range from {
			to[j] = x * scale
		}
	}
}
