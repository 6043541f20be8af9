package precision

import (
	"fmt"
	"math"
)

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
// scale is zero has scale 0 and zeros.
//
// A NaN or infinity is not hidden by its scale: the scale and all values of its
// group become NaN (for NV the whole matrix, through the tensor's scale).
//
// An unscaled quantiser rounds src to values and writes no scales.
func (q Quantizer) Quantize(values, scales, src []float32, rows, cols int) {
	q.mustFit("Quantize", len(values), len(src), len(scales), rows, cols)
	if !q.Scaled() {
		q.Format.RoundSlice(values, src)
		return
	}
	q.eachGroup(values, src, scales, rows, cols, false)
}

// RoundTrip quantises src and dequantises it at once into dst, which may be
// src: the numbers a matmul with quantised operands sees. It gives the bits
// that Quantize followed by Dequantize gives, and does not allocate.
func (q Quantizer) RoundTrip(dst, src []float32, rows, cols int) {
	q.mustFit("RoundTrip", len(dst), len(src), -1, rows, cols)
	if !q.Scaled() {
		q.Format.RoundSlice(dst, src)
		return
	}
	q.eachGroup(dst, src, nil, rows, cols, true)
}

// Dequantize multiplies each value by the scale of its group, rounded to
// float32. dst may be values. An unscaled quantiser copies. Where the largest
// magnitude was within a rounding error of the largest float32, the product of
// two rounded factors may be infinite.
func (q Quantizer) Dequantize(dst, values, scales []float32, rows, cols int) {
	q.mustFit("Dequantize", len(dst), len(values), len(scales), rows, cols)
	if !q.Scaled() {
		copy(dst, values)
		return
	}
	if rows == 0 || cols == 0 {
		return
	}
	tileRows, tileCols := q.tile(rows, cols)
	perRow := ceilDiv(cols, tileCols)
	for i := range rows {
		line := scales[i/tileRows*perRow:][:perRow]
		for g, scale := range line {
			from, to := i*cols+g*tileCols, i*cols+min((g+1)*tileCols, cols)
			scaleSlice(dst[from:to], values[from:to], scale)
		}
	}
}

// mustFit panics if the slices do not match the shape. scales < 0 means that
// there is no slice of scales.
func (q Quantizer) mustFit(what string, dst, src, scales, rows, cols int) {
	if rows < 0 || cols < 0 || dst != rows*cols || src != rows*cols {
		panic(fmt.Sprintf("precision: %s: destination of %d and source of %d elements for a %d×%d matrix", what, dst, src, rows, cols))
	}
	if want := q.ScaleCount(rows, cols); scales >= 0 && scales != want {
		panic(fmt.Sprintf("precision: %s: %d scales for a %d×%d matrix; %s has %d", what, scales, rows, cols, q, want))
	}
}

// eachGroup walks over the groups that share a scale: pass 1 over a group finds
// its largest magnitude, pass 2 writes its values, multiplied by the scale
// again if restore is set. scales may be nil.
func (q *Quantizer) eachGroup(dst, src, scales []float32, rows, cols int, restore bool) {
	if rows == 0 || cols == 0 {
		return
	}
	tensor := q.tensorScale(src)
	tileRows, tileCols := q.tile(rows, cols)
	grid := q.grid()
	group := 0
	for top := 0; top < rows; top += tileRows {
		bottom := min(top+tileRows, rows)
		for left := 0; left < cols; left += tileCols {
			width := min(tileCols, cols-left)
			var amax uint32
			for i := top; i < bottom; i++ {
				amax = max(amax, maxMagnitude(src[i*cols+left:][:width]))
			}
			scale := q.scale(amax, tensor)
			if scales != nil {
				scales[group] = scale
			}
			group++
			for i := top; i < bottom; i++ {
				at := i*cols + left
				grid.divide(dst[at:at+width], src[at:at+width], scale, restore)
			}
		}
	}
}

// grid is the format of a scaled quantiser, prepared for the inner loop.
type grid struct {
	integer bool
	max     float32
	minExp  uint32 // see roundNarrow
	lift    uint32
}

// grid returns the quantiser's format.
func (q *Quantizer) grid() grid {
	f := q.Format
	return grid{f.Integer(), f.Max, f.minExp(), f.lift()}
}

// divide writes src/scale on the grid, saturated, and times scale if restore is
// set.
func (g *grid) divide(dst, src []float32, scale float32, restore bool) {
	back := float32(1)
	if restore {
		back = scale
	}
	switch {
	case scale != scale:
		// Written, not computed: which NaN a division returns depends on the CPU.
		for i := range dst {
			dst[i] = math.Float32frombits(quietNaN)
		}
	case scale == 0:
		for i, x := range src {
			dst[i] = math.Float32frombits(math.Float32bits(x) & signBit)
		}
	case g.integer:
		divideInteger(dst, src, scale, back, g.max)
	default:
		divideNarrow(dst, src, scale, back, g.minExp, g.lift, math.Float32bits(g.max))
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

// scaleSlice writes src·scale to dst.
func scaleSlice(dst, src []float32, scale float32) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] = x * scale
	}
}
