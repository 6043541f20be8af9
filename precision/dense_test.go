package precision

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Long slices on every path against Round: adversarial patterns, random ones,
// and for formats of at most 16 bits every number, every midpoint between
// neighbours, and the float32 numbers next to these.
func TestRoundSliceDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	common := append(adversarial(), specials...)
	for range 1 << 15 {
		common = append(common, rng.Uint32())
	}
	for _, f := range testFormats(t) {
		bits := common
		if f.Bits() <= 16 {
			bits = append(bits[:len(bits):len(bits)], borders(f)...)
		}
		src, want, got := make([]float32, len(bits)), make([]float32, len(bits)), make([]float32, len(bits))
		for i, b := range bits {
			src[i] = math.Float32frombits(b)
			want[i] = f.Round(src[i])
		}
		for _, p := range paths() {
			onPath(p, func() { f.RoundSlice(got, src) })
			mustEqualBits(t, f.Name+", "+p.String(), got, want)
		}
	}
}

// borders lists the numbers of f and the midpoints between them, of both signs,
// each with the float32 patterns before and after.
func borders(f Format) []uint32 {
	list := enumerate(f)
	var bits []uint32
	add := func(y float64) {
		b := math.Float32bits(float32(y))
		for _, a := range []uint32{b, b + 1, max(b, 1) - 1} {
			bits = append(bits, a, a|signBit)
		}
	}
	for i, s := range list[:len(list)-1] {
		add(s.value)
		if middle := (s.value + list[i+1].value) / 2; middle < 0x1p128 {
			add(middle)
		}
	}
	return bits
}
