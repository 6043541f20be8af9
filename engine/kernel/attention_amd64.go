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
