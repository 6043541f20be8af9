//go:build (amd64 || arm64) && !purego

package kernel

import "testing"

// Rows stand in panels, whatever is left of the last panel, and nothing else is written.
func TestPackPanels(t *testing.T) {
	const k, ld = 5, 301
	rows := normals(newRand(5), k*ld)
	for _, columns := range []int{8, 16, 32} {
		most := 70
		if columns == 32 {
			most = 32 // one panel
		}
		for n := 1; n <= most; n++ {
			panel := columns*k + 3
			got, want := newGuarded("panels", ceilDiv(n, columns)*panel), make([]float32, ceilDiv(n, columns)*panel)
			for row := range k {
				for i := range n {
					want[i/columns*panel+row*columns+i%columns] = rows[row*ld+i]
				}
			}
			packPanels(got.x, rows, n, k, ld, columns, panel)
			sameBits(t, "panels", got.x, want)
			got.intact(t)
		}
	}
}
