//go:build !purego

package kernel

// softRowsVector runs softRows if the path has it.
func softRowsVector(scores, maxima []float32, ld, m, n, causal int, scale float32) bool {
	if CurrentPath() == PathGo || m == 0 || n == 0 {
		return false
	}
	_, _ = maxima[m-1], scores[(m-1)*ld+n+(m-1)*causal-1]
	softRowsNEON(&scores[0], &maxima[0], ld, m, n, causal, scale)
	return true
}

// tailRowsVector runs tailRows for a whole block, if the path has it.
func tailRowsVector(out, probs, values []float32, ldo, ldp, ldv, m, n int) bool {
	if CurrentPath() == PathGo || m != attentionRows || n == 0 {
		return false
	}
	_, _, _ = out[(m-1)*ldo+n-1], probs[(m-1)*ldp+m-2], values[(m-2)*ldv+n-1]
	tailRowsNEON(&out[0], &probs[0], &values[0], ldo, ldp, ldv, n)
	return true
}

// transposeVector transposes as many columns as fill registers, if the path can,
// and returns their number: four rows at a time, and those that are left by hand.
func transposeVector(dst, src []float32, rows, n, stride, ld int) int {
	const width = 4
	if CurrentPath() == PathGo || n < width || rows < width {
		return 0
	}
	n -= n % width
	_, _ = dst[(n-1)*ld+rows-1], src[(rows-1)*stride+n-1]
	r := 0
	for ; r+width <= rows; r += width {
		transposeStripNEON(&dst[r], &src[r*stride], ld, stride, n)
	}
	for ; r < rows; r++ {
		for i, x := range src[r*stride:][:n] {
			dst[i*ld+r] = x
		}
	}
	return n
}

// rotateHeadsVector turns the heads of a row by their angles, if the path can.
func rotateHeadsVector(x, cos, sin []float32, heads int, flip uint32) bool {
	half := len(cos)
	if CurrentPath() == PathGo || heads == 0 || half == 0 {
		return false
	}
	_, _ = x[2*heads*half-1], sin[half-1]
	rotateHeadsNEON(&x[0], &cos[0], &sin[0], heads, half, flip)
	return true
}
