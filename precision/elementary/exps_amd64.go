//go:build !purego

package elementary

import "golang.org/x/sys/cpu"

// expsVector sets the first exponentials, as many as fill registers and are normal numbers, and
// returns how many.
func expsVector(dst []float64, src []float32) int {
	if len(src) < expsTogether {
		return 0
	}
	_ = dst[len(src)-1]
	switch vectors {
	case wide:
		return exps512(&dst[0], &src[0], len(src))
	case half:
		return exps256(&dst[0], &src[0], len(src))
	}
	return 0
}

// Registers of 512 and of 256 bits.
const (
	none = iota
	half
	wide
)

// vectors is what the processor has of them. Tests change it.
var vectors = func() int {
	switch x := &cpu.X86; {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL:
		return wide
	case x.HasAVX2:
		return half
	}
	return none
}()
