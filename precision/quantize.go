package precision

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
