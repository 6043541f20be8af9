package bench

import "runtime"

// reserved is what Go has taken from the system, in bytes: where nothing counts
// resident memory, the next best figure.
func reserved() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}
