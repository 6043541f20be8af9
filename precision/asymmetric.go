package precision

import "math"

// asymmetricRows writes the values of a matrix with cols columns, row by row with a
// scale and a zero point each, and the scales unless they are nil.
func (p *pass) asymmetricRows(dst, scales, src []float32, cols int) {
	for at := 0; at < len(src); at += cols {
		scale := p.asymmetricRow(dst[at:at+cols], src[at:at+cols])
		if scales != nil {
			scales[at/cols] = scale
		}
	}
}

// asymmetricRow quantises one row and returns its scale, as onnxruntime's
// DynamicQuantizeLinear does (GetQuantizationParameter and MlasQuantizeLinear):
//
//	scale = (max - min)/255, where min is at most 0 and max at least 0
//	zero  = -min/scale, halves to even, within 0 and 255
//	q     = x/scale + zero, halves to even, within 0 and 255
//
// The values are q - zero, between -255 and 255, which is what a product of integers
// sums: kernels that take one scale for a row need not know the zero point.
func (p *pass) asymmetricRow(dst, src []float32) (scale float32) {
	var low, high float32
	for _, x := range src {
		low, high = min(low, x), max(high, x) // NaN stays
	}
	switch width := high - low; {
	case width == 0:
		clear(dst)
		return 1
	case math.Float32bits(width) >= infinity: // a number that is not finite, or two large ones of opposite sign
		scale = math.Float32frombits(quietNaN)
		fill(dst, src, scale)
		return scale
	default:
		scale = max(width/255, smallestScale)
	}
	zero := min(-low/scale, 255) + roundWhole - roundWhole
	for i, x := range src {
		q := min(max(x/scale, -zero), 255-zero) + roundWhole - roundWhole
		q += 0 // whole numbers have one zero
		if p.restore {
			q *= scale
		}
		dst[i] = q
	}
	return scale
}
