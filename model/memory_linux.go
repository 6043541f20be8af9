package model

import (
	"math"
	"syscall"
)

// MachineMemory is the memory of the machine, in bytes; the largest number where the system is
// not asked.
func MachineMemory() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return math.MaxInt64
	}
	return int64(info.Totalram) * int64(info.Unit)
}
