//go:build !amd64 || purego

package elementary

// expsVector is of amd64.
func expsVector(_, _ []float64) int { return 0 }
