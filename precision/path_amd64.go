//go:build !purego

package precision

import "golang.org/x/sys/cpu"

// assembled asks the processor which of the assembly it can run.
func assembled() []path {
	switch {
	case !cpu.X86.HasAVX2:
		return nil
	case cpu.X86.HasAVX512F:
		return []path{pathAVX2, pathAVX512}
	}
	return []path{pathAVX2}
}

// The routines of AVX-512, which those of AVX2 go on to.
func roundWideInfinite512(dst, src *float32, n int, r *Rounder)
func roundWide512(dst, src *float32, n int, r *Rounder)
func roundNarrow512(dst, src *float32, n int, r *Rounder)
func roundWhole512(dst, src *float32, n int, r *Rounder)
func magnitudes512(amax, src *float32, n, runs int)
func divideNarrow512(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)
func divideWhole512(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)
func multiply512(dst, src *float32, n, runs int, scales *float32)

// Go calls none of them.
var _ = [...]any{roundWideInfinite512, roundWide512, roundNarrow512, roundWhole512, magnitudes512, divideNarrow512, divideWhole512, multiply512}
