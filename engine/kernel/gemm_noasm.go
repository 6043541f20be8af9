//go:build (!amd64 && !arm64) || purego

package kernel

// tileCall is what assembly reads; there is none here.
type tileCall struct{}

// packPanels copies the first n elements of k rows, ld apart, to panels of so many columns.
func packPanels(dst, rows []float32, n, k, ld, columns, panel int) {
	for row := range k {
		for i := 0; i < n; i += columns {
			copy(dst[i/columns*panel+row*columns:], rows[row*ld+i:][:min(columns, n-i)])
		}
	}
}

// runVector reports that there is no assembly here.
func (p *product) runVector(Path, *Scratch) bool { return false }
