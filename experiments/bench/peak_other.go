//go:build !unix

package bench

import "time"

// PeakMemory is the memory the process has taken from the system, in bytes.
func PeakMemory() uint64 { return reserved() }

// ProcessorTime is the processor time that the process has used: unknown here, 0.
func ProcessorTime() time.Duration { return 0 }
