//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// assembled asks the processor which of the assembly it can run.
func assembled() []Path {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA:
		return nil
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL:
		return []Path{PathAVX2, PathAVX512}
	}
	return []Path{PathAVX2}
}
