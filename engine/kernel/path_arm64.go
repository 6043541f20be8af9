//go:build !purego

package kernel

// assembled: no arm64 processor that Go runs on is without NEON.
func assembled() []Path { return []Path{PathNEON} }
