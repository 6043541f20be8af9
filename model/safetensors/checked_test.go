package safetensors

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/precision/must"
)

// TestChecked writes and opens a file with a checksum: any bit that differs is
// noticed. The values are read one tensor at a time, in parts.
func TestChecked(t *testing.T) {
	values := make([]float32, 3*part/4+5)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range values {
		values[i] = math.Float32frombits(rng.Uint32())
	}
	tensors := []Tensor{
		{Name: "memory", DType: "U8", Shape: []int{3}, Data: []byte{1, 2, 3}}, {Name: "none", DType: "U8", Shape: []int{0}},
		Float32("weights", []int{len(values)}, values), Float32("empty", []int{0}, nil),
	}
	var b bytes.Buffer
	must.Do(t, WriteChecked(&b, tensors, map[string]string{"step": "4"}))
	whole := b.Bytes()
	open := func(data []byte) (*File, error) { return OpenChecked(bytes.NewReader(data), int64(len(data))) }
	f := must.Get(open(whole))(t)
	got := make([]float32, len(values))
	must.Do(t, f.Tensor("weights").Float32s(got))
	same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	if !slices.EqualFunc(got, values, same) || f.Metadata["step"] != "4" {
		t.Error("not what was written")
	}
	if data, err := f.Tensor("memory").Bytes(); err != nil || !bytes.Equal(data, []byte{1, 2, 3}) {
		t.Errorf("bytes %v, %v", data, err)
	}
	if data, err := f.Tensor("none").Bytes(); err != nil || len(data) != 0 {
		t.Errorf("no bytes: %v, %v", data, err)
	}
	// Other readers see a plain file.
	plain, err := Parse(whole)
	if err != nil || plain.Tensor("weights").Float32s(got) != nil || !slices.EqualFunc(got, values, same) {
		t.Errorf("read as a plain file: %v", err)
	}
	for i := 0; i < len(whole); i += 1 + len(whole)/200 {
		for _, bad := range [][]byte{slices.Concat(whole[:i], []byte{whole[i] ^ 64}, whole[i+1:]), whole[:i], slices.Concat(whole[:i], whole[i+1:])} {
			if _, err := open(bad); err == nil {
				t.Fatalf("damage at byte %d of %d is not noticed", i, len(whole))
			}
		}
	}
	if err := WriteChecked(&b, []Tensor{{Name: "~~", DType: "U8", Shape: []int{0}}}, nil); err == nil {
		t.Error("a tensor behind the checksum")
	}
}
