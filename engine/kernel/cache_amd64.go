//go:build !purego

package kernel

// toldFirstLevel asks the processor: Intel's in one place, AMD's in another of the same
// layout.
func toldFirstLevel() int {
	for _, of := range [...]struct{ highest, leaf uint32 }{{0, 4}, {0x80000000, 0x8000001d}} {
		if most, _, _ := cpuid(of.highest); most < of.leaf {
			continue
		}
		const dataCache = 1
		kind, b, sets := cpuid(of.leaf)
		if kind&0x1f == dataCache {
			ways, partitions, line := b>>22+1, b>>12&0x3ff+1, b&0xfff+1
			return int(ways * partitions * line * (sets + 1))
		}
	}
	return 0
}

func toldSecondLevel() int {
	if most, _, _ := cpuid(0x80000000); most < 0x80000006 {
		return 0
	}
	_, _, c := cpuid(0x80000006)
	return int(c>>16) << 10
}

// cpuid returns what the instruction leaves in EAX, EBX and ECX, for the first subleaf.
//
//go:noescape
func cpuid(leaf uint32) (a, b, c uint32)
