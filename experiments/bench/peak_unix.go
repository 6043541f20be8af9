//go:build unix

package bench

import (
	"runtime"
	"syscall"
)

// PeakMemory is the largest resident set the process has had, in bytes.
func PeakMemory() uint64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return reserved()
	}
	if runtime.GOOS == "darwin" {
		return uint64(u.Maxrss)
	}
	return uint64(u.Maxrss) << 10 // kibibytes elsewhere
}
