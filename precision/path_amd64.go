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
