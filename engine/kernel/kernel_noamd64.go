//go:build !amd64 || purego

package kernel

// The calls for several queries are of amd64.
type (
	prefillCall struct{}
	gradCall    struct{}
)

// rowsPerBlock is how many consecutive queries share a pass over the keys.
func (*attention) rowsPerBlock() int { return attentionRows }

// prefill attends consecutive queries in one call, where the processor has a routine.
func (*attention) prefill(_, _, _, _, _ []float32, _ *block) bool { return false }

// hasLanes reports whether the processor has a routine for the gradient of consecutive queries.
func (*headGrad) hasLanes(_ int) bool { return false }

func (*headGrad) inLanes(_, _ []float32, _, _ int, _ *Scratch) {}

func (*headGrad) addKeys(_, _, _ []float32, _, _ int) {}

func hasSumExpColumns() bool { return false }

func sumExpColumns(_, _ *[panelWidth]float32, _ []float32, _, _ int, _ float32) {}
