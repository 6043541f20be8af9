//go:build unix

package bench

import (
	"runtime"
	"syscall"
	"time"
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

// ProcessorTime is the processor time that the process has used, by itself and by the
// system for it; 0 where the system does not tell.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
