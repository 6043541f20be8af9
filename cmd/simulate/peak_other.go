//go:build !unix

package main

// peakMemory is the memory the process has taken from the system, in bytes.
func peakMemory() uint64 { return reserved() }
