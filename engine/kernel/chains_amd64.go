//go:build !purego

package kernel

// squareRows runs a chain routine over whole registers of rows, a square of elements at a
// time and what is left of them in chains, and returns how many rows it did.
func squareRows(k chainSet, sums, a, b, c []float32, stride, rows, n int) (done int) {
	width := 8
	if CurrentPath() == PathAVX512 {
		width = 16
	}
	whole := n - n%width
	if whole == 0 {
		return 0
	}
	for ; done+width <= rows; done += width {
		if width == 16 {
			chainSquares512(k, &sums[done], &a[done*stride], &b[done*stride], &c[0], stride, whole)
		} else {
			chainSquares256(k, &sums[done], &a[done*stride], &b[done*stride], &c[0], stride, whole)
		}
		for r := done; r < done+width && whole < n; r += 8 {
			chains8(k, &sums[r], &a[r*stride+whole], &b[r*stride+whole], &c[whole], stride, n-whole)
		}
	}
	return done
}
