//go:build !purego

package kernel

// softRowsVector runs softRows if the path has it.
func softRowsVector(scores, maxima []float32, ld, m, n, causal int, scale float32) bool {
	path := CurrentPath()
	if path == PathGo || m == 0 || n == 0 {
		return false
	}
	_, _ = maxima[m-1], scores[(m-1)*ld+n+(m-1)*causal-1]
	if path == PathAVX512 {
		softRows512(&scores[0], &maxima[0], ld, m, n, causal, scale)
	} else {
		softRows256(&scores[0], &maxima[0], ld, m, n, causal, scale)
	}
	return true
}

// tailRowsVector runs tailRows for a whole block, if the path has it.
func tailRowsVector(out, probs, values []float32, ldo, ldp, ldv, m, n int) bool {
	path := CurrentPath()
	if path == PathGo || m != attentionRows || n == 0 {
		return false
	}
	_, _, _ = out[(m-1)*ldo+n-1], probs[(m-1)*ldp+m-2], values[(m-2)*ldv+n-1]
	if path == PathAVX512 {
		tailRows512(&out[0], &probs[0], &values[0], ldo, ldp, ldv, n)
	} else {
		tailRows256(&out[0], &probs[0], &values[0], ldo, ldp, ldv, n)
	}
	return true
}

// transposeVector transposes as many columns as fill registers, if the path can,
// and returns their number.
func transposeVector(dst, src []float32, rows, n, stride, ld int) int {
	path, width := CurrentPath(), 8
	if path == PathAVX512 && n >= 16 {
		width = 16
	}
	if path == PathGo || n < width || rows < 3 { // a row or two are quicker by hand
		return 0
	}
	n -= n % width
	_, _ = dst[(n-1)*ld+rows-1], src[(rows-1)*stride+n-1]
	for r := 0; r < rows; r += width {
		for c := 0; c < n; c += width {
			if width == 16 {
				transposeTile512(&dst[c*ld+r], &src[r*stride+c], ld, stride, min(width, rows-r))
			} else {
				transposeTile256(&dst[c*ld+r], &src[r*stride+c], ld, stride, min(width, rows-r))
			}
		}
	}
	return n
}

// rotateHeadsVector turns the heads of a row by their angles, if the path can.
func rotateHeadsVector(x, cos, sin []float32, heads int, flip uint32) bool {
	path, half := CurrentPath(), len(cos)
	if path == PathGo || heads == 0 || half == 0 {
		return false
	}
	_, _ = x[2*heads*half-1], sin[half-1]
	if half == 4 {
		rotateEights256(&x[0], &cos[0], &sin[0], heads, flip)
	} else if path == PathAVX512 && half%16 != 8 { // eight lanes are whole registers of AVX2
		rotateHeads512(&x[0], &cos[0], &sin[0], heads, half, flip)
	} else {
		rotateHeads256(&x[0], &cos[0], &sin[0], heads, half, flip)
	}
	return true
}
