//go:build !amd64 || purego

package kernel

// decodeCall is of amd64.
type decodeCall struct{}

// decode attends the heads of one query in few calls, where the processor has a routine.
func (*attention) decode(_, _, _, _, _ []float32, _ *block, _ int) bool { return false }
