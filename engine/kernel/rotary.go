package kernel

import (
	"fmt"

	"driftlab/precision"
)

// RotaryTable holds the cosines and sines of rotary positions (arXiv
// 2104.09864), computed in float64 and rounded once to float32. Safe for
// concurrent use.
type RotaryTable struct {
	headDim, positions int
	cos, sin           []float32 // [positions][headDim/2]
}

// NewRotaryTable tabulates the angles p·theta^(-2i/headDim) for positions
// p = 0..positions-1 and pairs i = 0..headDim/2-1. headDim must be even.
func NewRotaryTable(theta float64, headDim, positions int) *RotaryTable {
	if headDim%2 != 0 || headDim < 2 || theta <= 0 {
		panic(fmt.Sprintf("kernel: rotary table of head dimension %d and base %g", headDim, theta))
	}
	half := headDim / 2
	t := &RotaryTable{headDim: headDim, positions: positions,
		cos: make([]float32, positions*half), sin: make([]float32, positions*half)}
	logTheta := log64(theta)
	for i := range half {
		freq := exp64(float64(-float64(2*i) / float64(headDim) * logTheta))
		for p := range positions {
			s, c := sincos64(float64(float64(p) * freq))
			t.cos[p*half+i], t.sin[p*half+i] = float32(c), float32(s)
		}
	}
	return t
}

// Rotary rotates heads·headDim elements of each of rows in place, row r by position
// pos[r]; rows of x begin stride elements apart. The
// pairs are (i, i+headDim/2), Hugging Face's rotate_half, as Mixtral uses:
//
//	x1' = round(x1·cos - x2·sin)
//	x2' = round(x2·cos + x1·sin)
//
// each product rounded to float32 before the sum.
func Rotary(x []float32, stride int, pos []int32, rows, heads, headDim int, t *RotaryTable, out precision.Format) {
	t.rotate(x, stride, pos, rows, heads, headDim, false)
	for r := 0; r < rows && !exact(out); r++ {
		roundTo(out, x[r*stride:][:heads*headDim])
	}
}

// RotaryGrad turns the gradient with respect to Rotary's result into that with
// respect to its input, in place: the rotation by the opposite angle.
func RotaryGrad(dx []float32, stride int, pos []int32, rows, heads, headDim int, t *RotaryTable) {
	t.rotate(dx, stride, pos, rows, heads, headDim, true)
}

func (t *RotaryTable) rotate(x []float32, stride int, pos []int32, rows, heads, headDim int, inverse bool) {
	t.check(x, stride, pos, rows, heads, headDim)
	half := headDim / 2
	var flip uint32
	if inverse {
		flip = 1 << 31
	}
	for r := range rows {
		p := int(pos[r])
		cos, sin := t.cos[p*half:][:half], t.sin[p*half:][:half]
		row := x[r*stride:][:heads*headDim]
		if rotateHeadsVector(row, cos, sin, heads, flip) {
			continue
		}
		for ; len(row) > 0; row = row[headDim:] {
			rotatePairs(row[:half], row[half:headDim], cos, sin, inverse)
		}
	}
}

// check panics if the sizes do not go together, or a position is not in the table.
func (t *RotaryTable) check(x []float32, stride int, pos []int32, rows, heads, headDim int) {
	if headDim != t.headDim || stride < heads*headDim || rows > 0 && len(x) < (rows-1)*stride+heads*headDim || len(pos) < rows {
		panic(fmt.Sprintf("kernel: rotary of %d values, %d positions as [%d,%d,%d], %d apart, with a table of head dimension %d",
			len(x), len(pos), rows, heads, headDim, stride, t.headDim))
	}
	for _, p := range pos[:rows] {
		if p < 0 || int(p) >= t.positions {
			panic(fmt.Sprintf("kernel: position %d outside a rotary table of %d", p, t.positions))
		}
	}
}

// rotatePairs rotates the pairs (x1[i], x2[i]).
func rotatePairs(x1, x2, cos, sin []float32, inverse bool) {
	x2, cos, sin = x2[:len(x1)], cos[:len(x1)], sin[:len(x1)]
	for i, a := range x1 {
		b, c, s := x2[i], cos[i], sin[i]
		if inverse {
			s = -s
		}
		x1[i] = float32(a*c) - float32(b*s)
		x2[i] = float32(b*c) + float32(a*s)
	}
}
