package precision

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// The bytes equal the real operator's, which testdata/asymmetric.txt keeps.
func TestAsymmetricBytes(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/asymmetric.txt"))(t)
	q, rows := mustQuantizer(t, "int8/asymmetric"), 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		var parts [4][]byte
		for i, f := range fields {
			parts[i] = must.Get(hex.DecodeString(f))(t)
		}
		src := make([]float32, len(parts[1]))
		for i := range src {
			src[i] = math.Float32frombits(binary.BigEndian.Uint32(parts[0][4*i:]))
		}
		values, scales := make([]float32, len(src)), make([]float32, 1)
		q.Quantize(values, scales, src, 1, len(src))
		got := make([]byte, len(src))
		for i, v := range values {
			got[i] = byte(int(v) + int(parts[3][0]))
		}
		if string(got) != string(parts[1]) || math.Float32bits(scales[0]) != binary.BigEndian.Uint32(parts[2]) {
			t.Errorf("%v:\n got %x, scale %v\nwant %s, scale %s", src, got, scales[0], fields[1], fields[2])
		}
		rows++
	}
	if rows != 29 {
		t.Errorf("%d rows", rows)
	}
}

func TestAsymmetricNotFinite(t *testing.T) {
	q := mustQuantizer(t, "int8/asymmetric")
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -math.MaxFloat32} {
		values, scales := make([]float32, 4), make([]float32, 2)
		q.Quantize(values, scales, []float32{math.MaxFloat32, float32(x), -1, 2}, 2, 2)
		if scales[0] == scales[0] || values[0] == values[0] || scales[1] != scales[1] || values[2] != -85 || values[3] != 170 {
			t.Errorf("%v: values %v, scales %v", x, values, scales)
		}
	}
}
