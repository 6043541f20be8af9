//go:build !purego

package kernel

// hasSumExpColumns reports whether the path has sumExpColumns.
func hasSumExpColumns() bool { return CurrentPath() != PathGo }

// sumExpColumns sets the maxima and sums of sumExp for the first rows of panelWidth, which are
// given column by column. The number of columns is a multiple of four, and the scale keeps the
// order.
func sumExpColumns(maxima, sums *[panelWidth]float32, columns []float32, rows, n int, scale float32) {
	_ = columns[n*panelWidth-1]
	if CurrentPath() == PathAVX512 {
		sumExps512(&sums[0], &maxima[0], &columns[0], n, scale)
		return
	}
	for r := 0; r < rows; r += panelWidth / 2 {
		sumExps256(&sums[r], &maxima[r], &columns[r], n, scale)
	}
}
