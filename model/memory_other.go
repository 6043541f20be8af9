//go:build !linux

package model

import (
	"math"
	"runtime"
)

// machineMemory is what a program in a browser can address; other systems are not asked.
func machineMemory() int64 {
	if runtime.GOARCH == "wasm" {
		return 4 << 30
	}
	return math.MaxInt64
}
