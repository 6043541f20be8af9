//go:build !purego

package precision

// assembled: no arm64 processor that Go runs on is without NEON.
func assembled() []path { return []path{pathNEON} }
