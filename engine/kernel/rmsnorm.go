package kernel

import (
	"fmt"
	"math"
	"math/bits"

	"driftlab/precision"
)

// RMSNorm sets dst[rows,d] = round(x·inv·gain), inv[row] = 1/sqrt(mean(x²)+eps),
// each product rounded to float32 in that order (arXiv 1910.07467). The sum of
// squares follows num.Accumulator and num.Reduction, where tensor-parallel means
// canonical: ranks hold whole rows here. Nothing is promoted. inv is kept for the backward pass.
func RMSNorm(dst, inv, x, gain []float32, rows, d int, eps float32, num Numerics) {
	if len(dst) < rows*d || len(inv) < rows || len(x) < rows*d || len(gain) != d {
		panic(fmt.Sprintf("kernel: RMSNorm dst %d, inv %d, x %d, gain %d as [%d,%d]", len(dst), len(inv), len(x), len(gain), rows, d))
	}
	num.Reduction = num.Reduction.At(rows).Local()
	rowSquares(inv[:rows], x, d, num)
	for r, sum := range inv[:rows] {
		inv[r] = 1 / float32(math.Sqrt(float64(sum/float32(d)+eps)))
	}
	RMSNormAgain(dst, inv, x, gain, rows, d, num)
}

// RMSNormAgain sets dst as RMSNorm does, with the inv that RMSNorm left.
func RMSNormAgain(dst, inv, x, gain []float32, rows, d int, num Numerics) {
	for r, inv := range inv[:rows] {
		if num.Eager {
			eagerScaleGain(dst[r*d:][:d], x[r*d:][:d], gain, inv, num.Output)
		} else {
			scaleGain(dst[r*d:][:d], x[r*d:][:d], gain, inv)
		}
	}
	roundTo(num.Output, dst[:rows*d])
}

// scaleGain sets dst = x·inv·gain.
func scaleGain(dst, x, gain []float32, inv float32) {
	dst, gain = dst[:len(x)], gain[:len(x)]
	if scaleGainVector(dst, x, gain, inv) {
		return
	}
	for i, v := range x {
		dst[i] = float32(v*inv) * gain[i]
	}
}

// rowSquares sets sums[r] to the sum of squares of row r under a resolved reduction.
func rowSquares(sums, x []float32, d int, num Numerics) {
	rows := len(sums)
	switch {
	case num.Reduction.Kind != Canonical || !exact(num.Accumulator):
		for r := range sums {
			sums[r] = sumSquares(x[r*d:][:d], num)
		}
	case num.Reduction.Unfused:
		clear(sums)
		dotChain.add(sums, x, x, x, d, rows, d)
	default:
		clear(sums)
		squareChain.add(sums, x, x, x, d, rows, d)
	}
}

// sumSquares returns the sum of x² under a resolved reduction.
func sumSquares(x []float32, num Numerics) float32 {
	red := num.Reduction
	var narrow *precision.Rounder // nil where sums are not rounded
	if !exact(num.Accumulator) {
		r := num.Accumulator.Rounder()
		narrow = &r
	}
	return squareTree(x, red.chunk(len(x), 1), 0, red.segments(len(x), 1), red, narrow)
}

// squareTree adds the chains of segments lo..hi-1 in the order that combine has
// for planes, by recursion instead of in memory.
func squareTree(x []float32, size, lo, hi int, red Reduction, narrow *precision.Rounder) float32 {
	if hi-lo == 1 {
		return squares(x[min(lo*size, len(x)):min(hi*size, len(x))], red.Unfused, narrow)
	}
	mid := hi - 1 // SplitK: the last part is added last
	switch red.Kind {
	case Pairwise:
		mid = lo + ceilDiv(hi-lo, 2)
	case Tree: // neighbours first: the left subtree is the largest full one
		mid = lo + 1<<(bits.Len(uint(hi-lo-1))-1)
	}
	sum := squareTree(x, size, lo, mid, red, narrow) + squareTree(x, size, mid, hi, red, narrow)
	if narrow != nil {
		sum = narrow.Round(sum)
	}
	return sum
}

// squares is one chain of x² from +0.
func squares(x []float32, unfused bool, narrow *precision.Rounder) (sum float32) {
	for _, v := range x {
		sum = step(v, v, sum, unfused)
		if narrow != nil {
			sum = narrow.Round(sum)
		}
	}
	return sum
}

// RMSNormInputGrad sets, or with add adds to, dx[rows,d]: with h = dy·gain and
// c = Σ h·x (one unfused chain),
//
//	dx = inv·h - x·(inv³·c/d)
func RMSNormInputGrad(dx, dy, x, inv, gain []float32, rows, d int, add bool) {
	if len(dx) < rows*d || len(dy) < rows*d || len(x) < rows*d || len(inv) < rows || len(gain) != d {
		panic(fmt.Sprintf("kernel: RMSNormInputGrad dx %d, dy %d, x %d, inv %d, gain %d as [%d,%d]",
			len(dx), len(dy), len(x), len(inv), len(gain), rows, d))
	}
	var c [panelWidth]float32
	for from := 0; from < rows; from += len(c) {
		n := min(len(c), rows-from)
		clear(c[:])
		weightedChain.add(c[:n], dy[from*d:], x[from*d:], gain, d, n, d)
		for r := from; r < from+n; r++ {
			s := inv[r]
			m := float32(float32(float32(s*s)*s)*c[r-from]) / float32(d)
			normInputGrad(dx[r*d:][:d], dy[r*d:][:d], x[r*d:][:d], gain, s, m, add)
		}
	}
}

// normInputGrad is the elementwise part of one row.
func normInputGrad(dx, dy, x, gain []float32, s, m float32, add bool) {
	gain = gain[:len(dx)]
	if add && normInputGradAddVector(dx, dy, x, gain, s, m) || !add && normInputGradVector(dx, dy, x, gain, s, m) {
		return
	}
	for i, v := range x {
		g := float32(s*float32(dy[i]*gain[i])) - float32(v*m)
		if add {
			g += dx[i]
		}
		dx[i] = g
	}
}

// RMSNormGainGrad adds Σ dy·(x·inv) to dgain[d], rows in order, each product
// rounded before it is added. The caller clears dgain.
func RMSNormGainGrad(dgain, dy, x, inv []float32, rows, d int) {
	if len(dgain) != d || len(dy) < rows*d || len(x) < rows*d || len(inv) < rows {
		panic(fmt.Sprintf("kernel: RMSNormGainGrad dgain %d, dy %d, x %d, inv %d as [%d,%d]",
			len(dgain), len(dy), len(x), len(inv), rows, d))
	}
	for r := range rows {
		normGainGrad(dgain, dy[r*d:][:d], x[r*d:][:d], inv[r])
	}
}

func normGainGrad(dgain, dy, x []float32, inv float32) {
	if normGainGradVector(dgain, dy, x, inv) {
		return
	}
	for i, v := range x {
		dgain[i] += float32(dy[i] * float32(v*inv))
	}
}
