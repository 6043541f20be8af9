//go:build (!amd64 && !arm64) || purego

package kernel

// tileCall is what assembly reads; there is none here.
type tileCall struct{}

// packPanels copies the first n elements of k rows, ld apart, to panels of the given number of columns.
func packPanels(dst, rows []float32, n, k, ld, columns, panel int) {
	for row := range k {
		for i := 0; i < n; i += columns {
			copy(dst[i/columns*panel+row*columns:], rows[row*ld+i:][:min(columns, n-i)])
		}
	}
}

func (p *product) runVector(Path, *Scratch) bool { return false }

// decodeCall is what assembly reads; there is none here.
type decodeCall struct{}

// decode attends the heads of one query in few calls, where the processor has a routine.
func (*attention) decode(_, _, _, _, _ []float32, _ *block, _ int) bool { return false }

func softRowsVector(scores, maxima []float32, ld, m, n, causal int, scale float32) bool { return false }

func tailRowsVector(out, probs, values []float32, ldo, ldp, ldv, m, n int) bool { return false }

func transposeVector(dst, src []float32, rows, n, stride, ld int) int { return 0 }

func rotateHeadsVector(x, cos, sin []float32, heads int, flip uint32) bool { return false }

func runChains(chainSet, []float32, []float32, []float32, []float32, int, int, int) bool {
	return false
}

func assembled() []Path { return nil }
