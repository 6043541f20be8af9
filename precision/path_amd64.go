//go:build !purego

package precision

import "golang.org/x/sys/cpu"

// bestPath asks the processor what it has.
func bestPath() path {
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX2:
		return pathAVX512
	case cpu.X86.HasAVX2:
		return pathAVX2
	}
	return pathGo
}
