package precision

import "math"

// Quantize splits the row-major rows×cols matrix src into numbers on the
// format's grid and scales, so that src is about value times scale. It writes
// rows·cols values and ScaleCount(rows, cols) scales. values may be src.
//
// The scale of a group is its largest magnitude divided by the format's largest
// number (448 for e4m3, 127 for int8, ...) in float32, but at least 2^-126; for
// MX 2^(⌊log2 amax⌋ - emax), at least 2^-127; for NV the e4m3 rounding of
// amax/6/t, times t = tensor amax/(6·448). The value is x/scale in float32, a
// division and not a product with the reciprocal, rounded to nearest even and
// saturated. A group of zeros has scale 1. An NV block so small that its e4m3
// scale is zero has scale 0 and zeros. Q8_0 and Q4_0 do what ggml does: ggmlBlock
// has the formulas; their zero blocks have scale 0. Asymmetric does what
// onnxruntime does: asymmetricRow has the formulas.
//
// A NaN or infinity is not hidden by its scale: the scale and all values of its
// group become NaN (for NV the whole matrix, through the tensor's scale).
//
// An unscaled quantiser rounds src to values and writes no scales.
func (q Quantizer) Quantize(values, scales, src []float32, rows, cols int) {
	g := q.mustFit("Quantize", len(values), len(src), len(scales), rows, cols)
	if q.Granularity == None {
		q.Format.RoundSlice(values, src)
		return
	}
	var p pass
	p.set(&q, src, false)
	p.matrix(values, scales, src, &g, cols)
}

// RoundTrip quantises src and dequantises it at once into dst, which may be
// src: the numbers a matmul with quantised operands sees. It gives the bits
// that Quantize followed by Dequantize gives, and does not allocate.
func (q Quantizer) RoundTrip(dst, src []float32, rows, cols int) {
	g := q.mustFit("RoundTrip", len(dst), len(src), -1, rows, cols)
	if q.Granularity == None {
		q.Format.RoundSlice(dst, src)
		return
	}
	var p pass
	p.set(&q, src, true)
	p.matrix(dst, nil, src, &g, cols)
}

// Dequantize multiplies each value by the scale of its group, rounded to
// float32. dst may be values. An unscaled quantiser copies. Where the largest
// magnitude was within a rounding error of the largest float32, the product of
// two rounded factors may be infinite.
func (q Quantizer) Dequantize(dst, values, scales []float32, rows, cols int) {
	g := q.mustFit("Dequantize", len(dst), len(values), len(scales), rows, cols)
	switch {
	case q.Granularity == None:
		copy(dst, values)
	case len(values) == 0:
	case g.inRuns(cols):
		eachRun(dst, values, scales, g.cols*g.rows)
	default:
		for i := range rows {
			line := scales[i/g.rows*g.across:][:g.across]
			eachRun(dst[i*cols:][:cols], values[i*cols:][:cols], line, g.cols)
		}
	}
}

// eachRun multiplies runs of n numbers by their scales. The last may be short.
func eachRun(dst, values, scales []float32, n int) {
	full := len(scales)
	if full*n > len(values) {
		full--
	}
	multiply(dst, values, scales[:full], n)
	if at := full * n; at < len(values) {
		multiply(dst[at:], values[at:], scales[full:], len(values)-at)
	}
}

// The loops of a Quantizer over runs: stretches of n numbers that share a
// scale, one after the other, as many as there are scales. This is the plain Go
// that assembly is held to.

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
		to, from := dst[i*n:][:n], src[i*n:][:n]
		if r.kind == narrow {
			divideNarrow(to, from, scale, back, r.normal, r.lift, math.Float32bits(r.top))
			continue
		}
		top := r.top
		for j, x := range from {
			q := x / scale
			if q > top {
				q = top
			} else if q < -top {
				q = -top
			}
			to[j] = (q + integerPower - integerPower) * back
		}
	}
}

// divideNarrow writes the number of the format nearest to src/scale, times
// back. It is roundSliceNarrow saturating, for finite numbers: cutting at the
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

func multiplyGo(dst, src, scales []float32, n int) {
	for i, scale := range scales {
		to, from := dst[i*n:][:n], src[i*n:][:n]
		for j, x := range from {
			to[j] = x * scale
		}
	}
}
