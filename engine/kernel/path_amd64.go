package kernel

import "golang.org/x/sys/cpu"

// bestPath asks the processor what it has.
func bestPath() Path {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasFMA && x.HasAVX2:
		return PathAVX512
	case x.HasAVX2 && x.HasFMA:
		return PathAVX2
	}
	return PathGo
}
