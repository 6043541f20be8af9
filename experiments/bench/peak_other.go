//go:build !unix

package bench

// PeakMemory is the memory the process has taken from the system, in bytes.
func PeakMemory() uint64 { return reserved() }
