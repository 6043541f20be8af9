package kernel

import (
	"fmt"
	"math"
)

// RMSNorm sets dst[rows,d] = round(x·inv·gain), inv[row] = 1/sqrt(mean(x²)+eps),
// each product rounded to float32 in that order (arXiv 1910.07467). The sum of
// squares follows num.Accumulator and num.Reduction, where tensor-parallel means
// canonical: ranks hold whole rows here. inv is kept for the backward pass.
func RMSNorm(dst, inv, x, gain []float32, rows, d int, eps float32, num Numerics) {
	if len(dst) < rows*d || len(inv) < rows || len(x) < rows*d || len(gain) != d {
		panic(fmt.Sprintf("kernel: RMSNorm dst %d, inv %d, x %d, gain %d as [%d,%d]", len(dst), len(inv), len(x), len(gain), rows, d))
	}
	num.Reduction = num.Reduction.At(rows).local()
	for r := range rows {
		row := x[r*d:][:d]
		mean := sumSquares(row, num) / float32(d)
		inv[r] = 1 / float32(math.Sqrt(float64(mean+eps)))
		scaleGain(dst[r*d:][:d], row, gain, inv[r])
	}
	roundTo(num.Output, dst[:rows*d])
}

// scaleGain sets dst = x·inv·gain.
func scaleGain(dst, x, gain []float32, inv float32) {
	dst, gain = dst[:len(x)], gain[:len(x)]
	for i, v := range x {
		dst[i] = float32(v*inv) * gain[i]
	}
}

// sumSquares returns the sum of x² under a resolved reduction.
func sumSquares(x []float32, num Numerics) float32 {
	red := num.Reduction
	segs, size := red.segments(len(x), 1), red.chunk(len(x), 1)
	if segs == 1 {
		return squareChain(x, num)
	}
	var few [32]float32
	planes := few[:]
	if segs > len(few) {
		planes = make([]float32, segs)
	}
	for g := range segs {
		planes[g] = squareChain(x[min(g*size, len(x)):min((g+1)*size, len(x))], num)
	}
	combine(planes, segs, 1, 1, 0, 1, red, num.Accumulator)
	return planes[0]
}

// squareChain is one chain of x² from +0.
func squareChain(x []float32, num Numerics) float32 {
	var acc float32
	narrow := !exact(num.Accumulator)
	for _, v := range x {
		acc = step(v, v, acc, num.Reduction.Unfused)
		if narrow {
			acc = num.Accumulator.Round(acc)
		}
	}
	return acc
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
	for r := range rows {
		xr, dyr, dxr := x[r*d:][:d], dy[r*d:][:d], dx[r*d:][:d]
		var c float32
		for i, v := range xr {
			c += float32(float32(dyr[i]*gain[i]) * v)
		}
		s := inv[r]
		m := float32(float32(float32(s*s)*s)*c) / float32(d)
		normInputGrad(dxr, dyr, xr, gain, s, m, add)
	}
}

// normInputGrad is the elementwise part of one row.
func normInputGrad(dx, dy, x, gain []float32, s, m float32, add bool) {
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

// normGainGrad adds one row's part.
func normGainGrad(dgain, dy, x []float32, inv float32) {
	for i, v := range x {
		dgain[i] += float32(dy[i] * float32(v*inv))
	}
}
