package kernel

import (
	"fmt"

	"driftlab/precision"
)

// ShortConv is a causal convolution along a sequence, channel by channel, over width
// positions (arXiv:2412.06464, section 3.4): with x_t zero before the sequence,
//
//	dst_t[c] = Σ_j w[c·width+j]·x_{t-width+1+j}[c]
//
// products rounded to float32 and added in the order of j. x has rows of n channels, stride
// apart; dst is [rows, n]. tail holds the width-1 rows before the first, [width-1, n], and
// then those before the row after the last.
func ShortConv(dst, x, tail, w []float32, rows, n, stride, width int) {
	before := width - 1
	if len(dst) < rows*n || rows > 0 && len(x) < (rows-1)*stride+n || len(tail) < before*n || len(w) < n*width {
		panic(fmt.Sprintf("kernel: ShortConv dst %d, x %d, tail %d, w %d: %d rows of %d channels, %d apart", len(dst), len(x), len(tail), len(w), rows, n, stride))
	}
	at := func(t int) []float32 {
		if t < 0 {
			return tail[(t+before)*n:][:n]
		}
		return x[t*stride:][:n]
	}
	for t := range rows {
		y := dst[t*n : (t+1)*n]
		clear(y)
		for j := range width {
			for c, v := range at(t - before + j) {
				y[c] += float32(w[c*width+j] * v)
			}
		}
	}
	for j := range before { // in time order: what is read has not been written yet
		copy(tail[j*n:(j+1)*n], at(rows-before+j))
	}
}

// ShortConvGrad sets dx from dy over a whole sequence, [rows, n] with rows of dx stride apart:
//
//	dx_t[c] = Σ_j w[c·width+j]·dy_{t+width-1-j}[c]
func ShortConvGrad(dx, dy, w []float32, rows, n, stride, width int) {
	for t := range rows {
		x := dx[t*stride:][:n]
		clear(x)
		for j := range width {
			u := t + width - 1 - j
			if u >= rows {
				continue
			}
			for c, g := range dy[u*n:][:n] {
				x[c] += float32(w[c*width+j] * g)
			}
		}
	}
}

// ShortConvWeightGrad adds Σ_t dy_t·x_{t-width+1+j} of a whole sequence to dw, rows in order.
func ShortConvWeightGrad(dw, dy, x []float32, rows, n, stride, width int) {
	for t := range rows {
		for j := max(width-1-t, 0); j < width; j++ {
			for c, v := range x[(t-width+1+j)*stride:][:n] {
				dw[c*width+j] += float32(dy[t*n+c] * v)
			}
		}
	}
}

// SiLU sets dst = round(x/(1+exp(-x))). dst may be x.
func SiLU(dst, x []float32, out precision.Format) {
	silu(dst, x[:len(dst)])
	roundTo(out, dst)
}

// SiLUGrad sets dx from dy, the derivative with respect to SiLU's result, straight through its
// rounding: dy·s·(1 + x·(1-s)) with s = 1/(1+exp(-x)). dx may be dy.
func SiLUGrad(dx, dy, x []float32) {
	for i, v := range x {
		s := 1 / (1 + Exp32(-v))
		dx[i] = float32(dy[i]*s) * (1 + float32(v*(1-s)))
	}
}

// DeltaGates computes the write strength and the log of the decay of each row and head from
// their projections (arXiv:2412.06464; the decay is Mamba-2's, arXiv:2405.21060):
//
//	beta = 1/(1+exp(-b)),  decay = -exp(decayLog)·softplus(a + bias)
//
// in float32, the softplus in float64 and rounded once. Rows of x begin with b and a of the
// heads, [2·heads], stride apart; beta and decay are [rows, heads].
func DeltaGates(beta, decay, x, decayLog, bias []float32, rows, heads, stride int) {
	for r := range rows {
		b, a := x[r*stride:][:heads], x[r*stride+heads:][:heads]
		for h := range heads {
			beta[r*heads+h] = 1 / (1 + Exp32(-b[h]))
			z := float64(a[h] + bias[h])
			plus := max(z, 0) + log64(1+float64(Exp32(float32(-max(z, -z)))))
			decay[r*heads+h] = -Exp32(decayLog[h]) * float32(plus)
		}
	}
}

// DeltaGatesGrad sets the gradients of the projections, in rows of dx as those of x, from those
// of beta and decay.
func DeltaGatesGrad(dx, dbeta, ddecay, x, beta, decayLog, bias []float32, rows, heads, stride int) {
	for r := range rows {
		db, da, a := dx[r*stride:][:heads], dx[r*stride+heads:][:heads], x[r*stride+heads:][:heads]
		for h := range heads {
			b := beta[r*heads+h]
			db[h] = float32(dbeta[r*heads+h]*b) * (1 - b)
			s := 1 / (1 + Exp32(-(a[h] + bias[h])))
			da[h] = -float32(ddecay[r*heads+h]*Exp32(decayLog[h])) * s
		}
	}
}

// DeltaGatesParamGrad adds the gradients of decayLog and bias, rows in order: Σ ddecay·decay
// and Σ da, where da are the entries after heads in rows of dx, stride apart.
func DeltaGatesParamGrad(dlog, dbias, ddecay, decay, dx []float32, rows, heads, stride int) {
	for r := range rows {
		for h := range heads {
			dlog[h] += float32(ddecay[r*heads+h] * decay[r*heads+h])
			dbias[h] += dx[r*stride+heads+h]
		}
	}
}
