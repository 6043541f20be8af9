//go:build (amd64 || arm64) && !purego

package kernel

// runChains runs a chain routine over as many rows as fill a register, where the path
// can, then eight rows at a time, then four, then one. c is one row for all.
func runChains(k chainSet, sums, a, b, c []float32, stride, rows, n int) bool {
	if CurrentPath() == PathGo || n == 0 || rows == 0 {
		return false
	}
	r := squareRows(k, sums, a, b, c, stride, rows, n)
	for ; r+8 <= rows; r += 8 {
		chains8(k, &sums[r], &a[r*stride], &b[r*stride], &c[0], stride, n)
	}
	for ; r+4 <= rows; r += 4 {
		chains4(k, &sums[r], &a[r*stride], &b[r*stride], &c[0], stride, n)
	}
	for ; r < rows; r++ {
		chains1(k, &sums[r], &a[r*stride], &b[r*stride], &c[0], stride, n)
	}
	return true
}
