//go:build !linux

package model

import (
	"math"
	"runtime"
)

// MachineMemory is the memory of the machine, in bytes: what a program in a browser can address,
// and the largest number elsewhere, where the system is not asked.
func MachineMemory() int64 {
	if runtime.GOARCH == "wasm" {
		return 4 << 30
	}
	return math.MaxInt64
}
