package kernel

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// Path is an implementation of the kernels. All give the same bits; of those that a processor has, the higher is the faster.
type Path int32

const (
	// PathGo is plain Go, the definition; every processor has it.
	PathGo Path = iota
	// PathAVX2 is assembly for amd64 with AVX2 and FMA.
	PathAVX2
	// PathAVX512 is assembly for amd64 with AVX-512 F, BW, DQ and VL.
	PathAVX512
	// PathNEON is assembly for arm64, with the vectors that every such processor has.
	PathNEON
)

// String returns "go", "avx2", "avx512" or "neon".
func (p Path) String() string {
	if names := [...]string{"go", "avx2", "avx512", "neon"}; p >= 0 && int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("path(%d)", int32(p))
}

// current is the path in use.
var current atomic.Int32

func init() { current.Store(int32(slices.Max(Paths()))) }

// Paths returns the paths that this processor has, the fastest last.
func Paths() []Path { return append([]Path{PathGo}, assembled()...) }

// CurrentPath returns the path in use: the fastest this processor has, unless
// SetPath chose another.
func CurrentPath() Path { return Path(current.Load()) }

// SetPath chooses a path, for tests and benchmarks, and returns the one before.
// It is an error if this processor does not have it. Calls that are running
// finish as they began.
func SetPath(p Path) (before Path, err error) {
	before = CurrentPath()
	if all := Paths(); !slices.Contains(all, p) {
		return before, fmt.Errorf("kernel: path %s is not available here; there are %v", p, all)
	}
	current.Store(int32(p))
	return before, nil
}
