//go:build !amd64 || purego

package kernel

// hasSumExpColumns reports whether the path has sumExpColumns.
func hasSumExpColumns() bool { return false }

func sumExpColumns(_, _ *[panelWidth]float32, _ []float32, _, _ int, _ float32) {}
