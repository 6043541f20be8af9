package guard

import (
	"encoding/binary"
	"fmt"
	"math"
)

// wantLength is the check of a saved state's size.
func wantLength(state []byte, want int) error {
	if len(state) != want {
		return fmt.Errorf("guard: saved state has %d bytes, want %d", len(state), want)
	}
	return nil
}

// appendFloat appends a float64, little endian.
func appendFloat(dst []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
}

// takeFloat reads what appendFloat wrote and returns the rest.
func takeFloat(state []byte) (float64, []byte) {
	return math.Float64frombits(binary.LittleEndian.Uint64(state)), state[8:]
}
