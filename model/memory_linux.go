package model

import (
	"math"
	"syscall"
)

// machineMemory is what the machine has, in bytes.
func machineMemory() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return math.MaxInt64
	}
	return int64(info.Totalram) * int64(info.Unit)
}
