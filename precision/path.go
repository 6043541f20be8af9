package precision

// path is an implementation of the loops over slices. All give the same bits:
// plain Go is the definition, and the tests hold the others to it.
type path uint8

const (
	pathGo     path = iota // every processor has it
	pathAVX2               // assembly for amd64 with AVX2
	pathAVX512             // assembly for amd64 with AVX-512 F
	pathNEON               // assembly for arm64
)

// String returns "go", "avx2", "avx512" or "neon".
func (p path) String() string { return [...]string{"go", "avx2", "avx512", "neon"}[p] }

// paths returns those that this processor has, the fastest last.
func paths() []path { return append([]path{pathGo}, assembled()...) }

// current is the path in use: the fastest that this processor has. Tests change
// it, between calls.
var current = func() path { all := paths(); return all[len(all)-1] }()
