//go:build !purego

package kernel

// toldCache asks the processor.
func toldCache() int {
	if most, _ := cpuid(0x80000000); most < 0x80000006 {
		return 0
	}
	_, c := cpuid(0x80000006)
	return int(c>>16) << 10
}

// cpuid returns what the instruction leaves in EAX and ECX.
//
//go:noescape
func cpuid(leaf uint32) (a, c uint32)
