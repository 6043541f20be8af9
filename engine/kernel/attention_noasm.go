//go:build (!amd64 && !arm64) || purego

package kernel

func softRowsVector(scores, maxima []float32, ld, m, n, causal int, scale float32) bool { return false }

func tailRowsVector(out, probs, values []float32, ldo, ldp, ldv, m, n int) bool { return false }

func transposeVector(dst, src []float32, rows, n, stride, ld int) int { return 0 }

func rotateHeadsVector(x, cos, sin []float32, heads int, flip uint32) bool { return false }
