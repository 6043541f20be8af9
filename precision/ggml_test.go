package precision

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
)

var ggmlQuantizers = []string{"int8/q8_0", "int8/q8_0-x86", "int4/q4_0"}

// The bytes equal the real code's, which testdata/ggml.txt keeps.
func TestGGMLBytes(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/ggml.txt"))(t)
	blocks := 0 // whose scale is finite
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		words := must.Get(hex.DecodeString(fields[1]))(t)
		src := make([]float32, len(words)/4)
		for i := range src {
			src[i] = math.Float32frombits(binary.BigEndian.Uint32(words[4*i:]))
		}
		q := mustQuantizer(t, fields[0])
		values, scales := make([]float32, len(src)), make([]float32, 1)
		q.Quantize(values, scales, src, 1, len(src))
		if scale := fields[2][:4]; scale == "007c" || scale == "00fc" {
			if scales[0] == scales[0] || values[0] == values[0] {
				t.Errorf("%s: a scale beyond fp16 is %v, its values %v", q, scales[0], values)
			}
			continue
		}
		if got := hex.EncodeToString(ggmlBytes(q, values, scales[0])); got != fields[2] {
			t.Errorf("%s of %v:\n got %s\nwant %s", q, src, got, fields[2])
		}
		blocks++
	}
	if blocks != 83 {
		t.Errorf("%d blocks with finite scales", blocks)
	}
}

// ggmlBytes is one block as ggml stores it: the scale, then int8 or pairs of
// nibbles, element i below element i+16.
func ggmlBytes(q Quantizer, values []float32, scale float32) []byte {
	out := binary.LittleEndian.AppendUint16(nil, uint16(FP16.Encode(scale)))
	if q.Format == INT8 {
		for _, v := range values {
			out = append(out, byte(int8(v)))
		}
		return out
	}
	for i := range 16 {
		out = append(out, byte(values[i]+8)|byte(values[i+16]+8)<<4)
	}
	return out
}

// slowGGML is the definition in float64, where products and quotients of float32 are
// exact or rounded so finely that rounding them again to float32 is the same.
func slowGGML(q Quantizer, src []float32) (values []float32, scale float32) {
	first := 0.0
	for _, x := range src {
		if math.Abs(float64(x)) > math.Abs(first) || x != x {
			first = float64(x)
		}
		if first != first {
			break
		}
	}
	nan := math.Float32frombits(quietNaN)
	all := func(v float32) (values []float32) {
		for range src {
			values = append(values, v)
		}
		return values
	}
	d := float32(math.Abs(first) / 127)
	inverse := float32(1 / float64(d))
	switch q.Granularity {
	case Q4_0:
		d = float32(first / -8)
		inverse = float32(1 / float64(d))
	case Q8_0X86:
		inverse = float32(127 / float64(float32(math.Abs(first))))
	}
	scale = bigRound(FP16, d, NearestEven, 0)
	switch {
	case first != first, math.IsInf(first, 0), math.IsInf(float64(scale), 0):
		return all(nan), nan
	case first == 0 || d == 0 && q.Granularity != Q8_0X86 || math.IsInf(float64(inverse), 0):
		return all(0), scale
	}
	for _, x := range src {
		y := float64(float32(float64(x) * float64(inverse)))
		switch q.Granularity {
		case Q8_0:
			y = math.Copysign(math.Floor(math.Abs(y)+0.5), y)
		case Q8_0X86:
			y = math.RoundToEven(y)
		default:
			y = math.Min(math.Floor(float64(float32(y+8.5))), 15) - 8
		}
		values = append(values, float32(y)+0)
	}
	return values, scale
}

// FuzzGGML compares the quantisers with the definition for rows of any bit patterns, and
// the round trip in place with quantising and dequantising separately.
func FuzzGGML(f *testing.F) {
	for i, b := range []uint32{0, 1, signBit, 0x00000040, 0x007fffff, 0x3f000000, 0x42fe0000, 0xc2fe0000, 0x4a7fffff, 0x4afdff00, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x33000001} {
		f.Add(b, uint64(i)*0x9e3779b97f4a7c15, uint8(i))
	}
	f.Fuzz(func(t *testing.T, b uint32, seed uint64, spread uint8) {
		src := make([]float32, 2*45) // rows that end in a short block
		for i := range src {
			seed = seed*6364136223846793005 + 1442695040888963407
			// Magnitudes near the first one's, down to 2^-(spread mod 32) of it, or zero.
			exponent := min(b>>23&0xff, 254) - min(uint32(seed>>40)%(uint32(spread%32)+1), min(b>>23&0xff, 254))
			src[i] = math.Float32frombits(uint32(seed>>63)<<31 | exponent<<23 | uint32(seed>>20)&fraction)
		}
		src[int(seed>>33)%len(src)] = math.Float32frombits(b)
		for _, text := range ggmlQuantizers {
			q := mustQuantizer(t, text)
			values, scales, back := make([]float32, len(src)), make([]float32, 4), make([]float32, len(src))
			q.Quantize(values, scales, src, 2, 45)
			var wantValues, wantScales []float32
			for _, at := range [][2]int{{0, 32}, {32, 45}, {45, 77}, {77, 90}} {
				v, s := slowGGML(q, src[at[0]:at[1]])
				wantValues, wantScales = append(wantValues, v...), append(wantScales, s)
			}
			mustEqualBits(t, text+" scales", scales, wantScales)
			mustEqualBits(t, text+" values", values, wantValues)
			q.Dequantize(back, values, scales, 2, 45)
			in := slices.Clone(src)
			q.RoundTrip(in, in, 2, 45)
			mustEqualBits(t, text+" there and back", in, back)
		}
	})
}
