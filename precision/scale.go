package precision

import (
	"fmt"
	"math"
)

// smallestScale is the smallest normal float32. A smaller scale would have few
// significant bits, or be zero and divide by it.
const smallestScale = 0x1p-126

// blockScale rounds the inner scales of NV, ggmlScale those of ggml's blocks.
var blockScale, ggmlScale = E4M3.Rounder(), FP16.Rounder()

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

// grouping is how a matrix falls into groups that share a scale: tiles in a
// grid, cut off at the right and lower edge. Without scales, or without
// elements, there are no groups.
type grouping struct {
	rows, cols   int // of a tile
	down, across int // tiles in the grid
}

func (g *grouping) count() int { return g.down * g.across }

// inRuns reports whether the elements of each group follow each other in
// memory, and the groups do too; only the last may be short.
func (g *grouping) inRuns(cols int) bool {
	return g.across == 1 || g.rows == 1 && g.across*g.cols == cols
}

func (q *Quantizer) group(rows, cols int) grouping {
	if q.Granularity == None || rows == 0 || cols == 0 {
		return grouping{}
	}
	switch q.Granularity {
	case PerTensor:
		return grouping{rows, cols, 1, 1}
	case PerChannel, Asymmetric:
		return grouping{1, cols, rows, 1}
	case MX:
		return grouping{1, min(mxBlock, cols), rows, (cols + mxBlock - 1) / mxBlock}
	case NV:
		return grouping{1, min(nvBlock, cols), rows, (cols + nvBlock - 1) / nvBlock}
	case Q8_0, Q8_0X86, Q4_0:
		return grouping{1, min(ggmlBlock, cols), rows, (cols + ggmlBlock - 1) / ggmlBlock}
	case Block:
		r, c := q.BlockRows, q.BlockCols
		if r < 1 || c < 1 {
			panic(fmt.Sprintf("precision: blocks of %d×%d elements", r, c))
		}
		g := grouping{r, min(c, cols), rows, 1}
		if r > 1 {
			g.down = (rows + r - 1) / r
		}
		if c < cols { // spares short rows a division
			g.across = (cols + c - 1) / c
		}
		return g
	}
	panic(fmt.Sprintf("precision: granularity %d has no scales", q.Granularity))
}

// ScaleCount returns the number of scales of a rows×cols matrix: none for an
// unscaled quantiser, 1 per tensor, rows per channel and asymmetric, ⌈rows/R⌉·⌈cols/C⌉ for
// blocks of R×C, rows·⌈cols/32⌉ for MX, Q8_0 and Q4_0, rows·⌈cols/16⌉ for NV. Scales are stored
// row-major over the grid of groups.
func (q Quantizer) ScaleCount(rows, cols int) int {
	g := q.group(rows, cols)
	return g.count()
}

// mustFit returns the grouping of a matrix and panics if the slices do not
// match it. scales < 0 means that there is no slice of scales.
func (q *Quantizer) mustFit(what string, dst, src, scales, rows, cols int) grouping {
	if rows < 0 || cols < 0 || dst != rows*cols || src != rows*cols {
		panic(fmt.Sprintf("precision: %s: destination of %d and source of %d elements for a %d×%d matrix", what, dst, src, rows, cols))
	}
	g := q.group(rows, cols)
	if want := g.count(); scales >= 0 && scales != want {
		panic(fmt.Sprintf("precision: %s: %d scales for a %d×%d matrix; %s has %d", what, scales, rows, cols, *q, want))
	}
	return g
}

// blocks writes the values of a matrix with cols columns in blocks of n numbers of a row, the last of
// which may be shorter, and the scales unless they are nil.
func (p *pass) blocks(dst, scales, src []float32, cols, n int) {
	for at := 0; at < len(src); at += cols {
		for from := at; from < at+cols; from += n {
			to := min(from+n, at+cols)
			block := dst[from:to]
			scale := p.block(block, src[from:to])
			if scales != nil {
				scales[0], scales = scale, scales[1:]
			}
			for i := 0; i < len(block) && scale == scale; i++ {
				block[i] += 0 // whole numbers have one zero
				if p.restore {
					block[i] *= scale
				}
			}
		}
	}
}

// block leaves the whole numbers of a block in dst, or NaNs, and returns its scale.
func (p *pass) block(dst, src []float32) (scale float32) {
	if p.granularity == Asymmetric {
		return asymmetricRow(dst, src)
	}
	return p.ggmlBlock(dst, src)
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
func asymmetricRow(dst, src []float32) (scale float32) {
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
		dst[i] = min(max(x/scale, -zero), 255-zero) + roundWhole - roundWhole
	}
	return scale
}

// ggmlBlock is the number of consecutive elements of a row that share a scale in
// ggml's Q8_0 and Q4_0 (QK8_0 and QK4_0 in ggml-common.h).
const ggmlBlock = 32

// roundWhole rounds small numbers to whole ones, halves to even, when it is added and
// subtracted: quotients here are at most a rounding error above 127.
const roundWhole = float32(1.5 * (1 << 23))

// ggml reports whether the granularity is one of ggml's blocks with fp16 scales.
func (g Granularity) ggml() bool { return g >= Q8_0 && g <= Q4_0 }

// ggmlBlock quantises one block and returns its scale, rounded to fp16. A row whose length is not a
// multiple of 32 ends in a short block; ggml has none. The
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
	scale = ggmlScale.Round(d)
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
