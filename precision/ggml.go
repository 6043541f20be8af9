package precision

import "math"

// ggmlBlock is the number of consecutive elements of a row that share a scale in
// ggml's Q8_0 and Q4_0 (QK8_0 and QK4_0 in ggml-common.h).
const ggmlBlock = 32

// roundWhole rounds small numbers to whole ones, halves to even, when it is added and
// subtracted: quotients here are at most a rounding error above 127.
const roundWhole = float32(1.5 * (1 << 23))

// ggml reports whether the granularity is one of ggml's blocks with fp16 scales.
func (g Granularity) ggml() bool { return g >= Q8_0 && g <= Q4_0 }

// ggmlRows writes the values of a matrix with cols columns in ggml's blocks, and
// the scales unless they are nil. A row whose length is not a multiple of 32 ends
// in a short block; ggml has none.
func (p *pass) ggmlRows(dst, scales, src []float32, cols int) {
	for at := 0; at < len(src); at += cols {
		for from := at; from < at+cols; from += ggmlBlock {
			to := min(from+ggmlBlock, at+cols)
			scale := p.ggmlBlock(dst[from:to], src[from:to])
			if scales != nil {
				scales[0], scales = scale, scales[1:]
			}
		}
	}
}

// ggmlBlock quantises one block and returns its scale, rounded to fp16. The
// values come from the scale before that rounding, as in the real code:
//
//	Q8_0      d = amax/127, q = x·(1/d), halves away from zero    quantize_row_q8_0_ref, ggml-quants.c
//	Q8_0X86   d = amax/127, q = x·(127/amax), halves to even      quantize_row_q8_0, ggml-cpu/arch/x86/quants.c
//	Q4_0      d = x_m/-8 with x_m the first of largest magnitude,
//	          q = min(trunc(x·(1/d) + 8.5), 15) - 8               quantize_row_q4_0_ref, ggml-quants.c
//
// Where 1/d overflows, the scale rounds to zero and the conversion of the real
// code is undefined: the values are zero here. A scale beyond fp16's largest
// number would be an infinity that multiplies zeros: the whole block is NaN here.
func (p *pass) ggmlBlock(dst, src []float32) (scale float32) {
	amax := maxMagnitude(src)
	largest := math.Float32frombits(amax)
	if amax >= infinity {
		fill(dst, src, float32(math.NaN()))
		return math.Float32frombits(quietNaN)
	}
	d, inverse := largest/127, float32(0)
	switch {
	case p.granularity == Q4_0:
		d = firstOf(src, largest) / -8
		fallthrough
	case p.granularity == Q8_0:
		if d != 0 {
			inverse = 1 / d
		}
	case largest != 0:
		inverse = 127 / largest
	}
	scale = FP16.Round(d)
	if math.IsInf(float64(scale), 0) {
		scale = math.Float32frombits(quietNaN)
		fill(dst, src, scale)
		return scale
	}
	switch {
	case math.IsInf(float64(inverse), 0):
		clear(dst)
	case p.granularity == Q8_0:
		for i, x := range src {
			dst[i] = float32(math.Round(float64(float32(x * inverse))))
		}
	case p.granularity == Q8_0X86:
		for i, x := range src {
			dst[i] = float32(x*inverse) + roundWhole - roundWhole
		}
	default:
		for i, x := range src {
			dst[i] = float32(min(int32(float32(x*inverse)+8.5), 15) - 8)
		}
	}
	for i, q := range dst {
		q += 0 // whole numbers have one zero
		if p.restore {
			q *= scale
		}
		dst[i] = q
	}
	return scale
}

// firstOf is the first element of that magnitude, with its sign; 0 for 0, whatever its sign.
func firstOf(xs []float32, magnitude float32) float32 {
	for _, x := range xs {
		if magnitude > 0 && (x == magnitude || x == -magnitude) {
			return x
		}
	}
	return 0
}
