package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// file frames a header and data.
func file(header, data string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+data...)
}

func write(t *testing.T, tensors []Tensor, metadata map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Write(&b, tensors, metadata))
	return b.Bytes()
}

// The bytes that the reference implementation writes for the same tensors.
// Source: the expected values of test_empty and
// test_serialization_forced_alignement in safetensors/src/tensor.rs of
// huggingface/safetensors at 000a16f.
func TestWriteMatchesReference(t *testing.T) {
	if got, want := write(t, nil, nil), file("{}      ", ""); !bytes.Equal(got, want) {
		t.Errorf("empty file: %q, want %q", got, want)
	}
	if got, want := write(t, nil, map[string]string{"framework": "pt"}), file(`{"__metadata__":{"framework":"pt"}}     `, ""); !bytes.Equal(got, want) {
		t.Errorf("metadata alone: %q, want %q", got, want)
	}
	data := "\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40\x00\x00\xa0\x40"
	want := file(`{"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}}       `, data)
	if got := write(t, []Tensor{Float32("attn0", []int{1, 1, 2, 3}, []float32{0, 1, 2, 3, 4, 5})}, nil); !bytes.Equal(got, want) {
		t.Errorf("one tensor: %q, want %q", got, want)
	}
}

// The order of the arguments does not matter; wider formats come first.
func TestWriteOrder(t *testing.T) {
	a := Float32("a", []int{2}, []float32{1, 2})
	b := Tensor{Name: "b", DType: F64, Shape: []int{1}, Data: make([]byte, 8)}
	c := Tensor{Name: "c", DType: F16, Shape: nil, Data: []byte{0, 0x3c}}
	one, two := write(t, []Tensor{a, b, c}, nil), write(t, []Tensor{c, b, a}, nil)
	if !bytes.Equal(one, two) {
		t.Error("the order of the arguments changes the file")
	}
	f := must.Get(Parse(one))(t)
	var names []string
	for _, x := range f.Tensors {
		names = append(names, x.Name)
	}
	if want := []string{"b", "a", "c"}; !slices.Equal(names, want) {
		t.Errorf("stored %v, want %v", names, want)
	}
	if x := f.Tensor("c"); x.Len() != 1 || f.Tensor("d") != nil {
		t.Errorf("scalar has %d values", x.Len())
	}
}

func TestWriteRefuses(t *testing.T) {
	a := Float32("a", []int{1}, []float32{1})
	for name, tensors := range map[string][]Tensor{
		"is there twice":     {a, a},
		"reserved name":      {Float32("__metadata__", nil, []float32{1})},
		"do not hold shape":  {{Name: "a", DType: F32, Shape: []int{2}, Data: make([]byte, 4)}},
		"hold shape [1] of ": {{Name: "a", DType: "F7", Shape: []int{1}, Data: make([]byte, 4)}},
		"5 bytes do not":     {{Name: "a", DType: F32, Shape: []int{1}, Data: make([]byte, 5)}},
	} {
		if err := Write(&bytes.Buffer{}, tensors, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	full := errors.New("no space left")
	for after := range 3 {
		if err := Write(&brokenWriter{after, full}, []Tensor{a}, nil); !errors.Is(err, full) {
			t.Errorf("write %d fails: got %v", after, err)
		}
	}
}

// brokenWriter fails after a number of writes.
type brokenWriter struct {
	left int
	err  error
}

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left == 0 {
		return 0, w.err
	}
	w.left--
	return len(p), nil
}

func TestParseAccepts(t *testing.T) {
	for name, data := range map[string][]byte{
		"blanks after the object": file("{}\r \t\n", ""),
		"scalar":                  file(`{"test":{"dtype":"I32","shape":[],"data_offsets":[0,4]}}`, "\x00\x00\x00\x00"),
		"no values":               file(`{"test":{"dtype":"I32","shape":[2,0],"data_offsets":[0, 0]}}`, ""),
		"any order of fields":     file(`{"b":{"data_offsets":[1,2],"shape":[1],"dtype":"U8"},"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}}`, "xy"),
	} {
		if _, err := Parse(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each fault gives one line that says what is wrong and where.
func TestParseRefuses(t *testing.T) {
	good := `"dtype":"I32","shape":[2,2],"data_offsets":[0,16]`
	sixteen := strings.Repeat("\x00", 16)
	deep := strings.Repeat("[", 20000)
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "0 bytes are too few"},
		{"header length", append([]byte{0, 0, 0, 0, 0, 255, 255, 255}, good...), "above the limit of 100000000"},
		{"no header", file("", ""), "does not start with '{'"},
		{"cut in the header", file("{"+good, "")[:20], "the file is truncated"},
		{"not UTF-8", file("{\"\xff\":1}", ""), "not UTF-8"},
		{"not JSON", file("{", ""), "damaged header"},
		{"leading blank", file(" {}", ""), "does not start with '{'"},
		{"second object", file("{}{}", ""), "text follows"},
		{"list", file("[]", ""), "does not start with '{'"},
		{"deep", file(`{"a":`+deep, ""), "damaged header"},
		{"deep shape", file(`{"a":{"shape":`+deep, ""), "damaged header"},
		{"duplicate", file(`{"test":{`+good+`},"test":{`+good+`}}`, sixteen), `"test" is there twice`},
		{"duplicate metadata", file(`{"__metadata__":{},"__metadata__":{}}`, ""), `"__metadata__" is there twice`},
		{"duplicate metadata key", file(`{"__metadata__":{"a":"1","a":"2"}}`, ""), `metadata "a" is there twice`},
		{"metadata number", file(`{"__metadata__":{"a":1}}`, ""), `metadata "a" is not a string`},
		{"metadata null", file(`{"__metadata__":{"a":null}}`, ""), `metadata "a" is not a string`},
		{"duplicate field", file(`{"test":{"shape":[4],`+good+`}}`, sixteen), `tensor "test": shape is there twice`},
		{"unknown field", file(`{"test":{"stride":1,`+good+`}}`, sixteen), `unknown field "stride"`},
		{"missing field", file(`{"test":{"dtype":"I32","shape":[4]}}`, sixteen), "are required"},
		{"null", file(`{"test":null}`, ""), "where an object must be"},
		{"format", file(`{"test":{"dtype":"F33","shape":[4],"data_offsets":[0,16]}}`, sixteen), `unknown number format "F33"`},
		{"negative", file(`{"test":{"dtype":"I32","shape":[-4],"data_offsets":[0,16]}}`, sixteen), `dimension "-4" is not a size`},
		{"fraction", file(`{"test":{"dtype":"I32","shape":[4.0],"data_offsets":[0,16]}}`, sixteen), `dimension "4.0"`},
		{"string", file(`{"test":{"dtype":"I32","shape":["4"],"data_offsets":[0,16]}}`, sixteen), `is not a size`},
		{"overflow", file(`{"test":{"dtype":"I32","shape":[2,18446744073709551614],"data_offsets":[0,16]}}`, sixteen), `is not a size`},
		{"product overflow", file(`{"test":{"dtype":"I32","shape":[4294967296,4294967296],"data_offsets":[0,16]}}`, sixteen), "do not hold shape"},
		{"size overflow", file(`{"test":{"dtype":"I32","shape":[4611686018427387904],"data_offsets":[0,16]}}`, sixteen), "do not hold shape"},
		{"three offsets", file(`{"test":{"dtype":"I32","shape":[4],"data_offsets":[0,16,16]}}`, sixteen), "are required"},
		{"offset", file(`{"test":{"dtype":"I32","shape":[4],"data_offsets":[0,1e1]}}`, sixteen), `offset "1e1" is not a position`},
		{"backwards", file(`{"test":{"dtype":"I32","shape":[4],"data_offsets":[16,0]}}`, sixteen), "do not hold shape"},
		{"wrong size", file(`{"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0,4]}}`, "\x00\x00\x00\x00"), "bytes 0 to 4 do not hold shape [2 2] of I32"},
		{"cut in the data", file(`{"test":{`+good+`}}`, sixteen[:14]), `tensor "test" ends at byte 16 of 14: the file is truncated`},
		{"more data", file(`{"test":{`+good+`}}`, sixteen+"polyglot"), "8 bytes after the last tensor"},
		{"overlap", file(`{"a":{`+good+`},"b":{`+good+`}}`, sixteen), `tensor "b" overlaps tensor "a"`},
		{"hole", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, "ab"), `bytes 0 to 1 before tensor "a" belong to no tensor`},
		{"long name", file(`{"`+strings.Repeat("x", 1000)+`":1}`, ""), `xxx"...`},
		{"name of lines", file(`{"a\nb":1}`, ""), `"a\nb"`},
	}
	for _, tt := range tests {
		_, err := Parse(tt.data)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		} else if strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
			t.Errorf("%s: not one short line: %q", tt.name, err)
		}
	}
}

// Every half and every bfloat16 is converted to its exact value; an
// independent definition: sign · significand · 2^exponent.
func TestFloat32sExhaustive(t *testing.T) {
	data := make([]byte, 2<<16)
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(data[2*i:], uint16(i))
	}
	value := func(bits, mantissaBits, exponentBits int) float64 {
		mantissa, exponent := bits&(1<<mantissaBits-1), bits>>mantissaBits&(1<<exponentBits-1)
		bias, v := 1<<(exponentBits-1)-1, 0.0
		switch {
		case exponent == 1<<exponentBits-1 && mantissa != 0:
			return math.NaN()
		case exponent == 1<<exponentBits-1:
			v = math.Inf(1)
		case exponent == 0:
			v = math.Ldexp(float64(mantissa), 1-bias-mantissaBits)
		default:
			v = math.Ldexp(float64(mantissa+1<<mantissaBits), exponent-bias-mantissaBits)
		}
		if bits>>15 == 1 {
			v = math.Copysign(v, -1)
		}
		return v
	}
	got := make([]float32, 1<<16)
	for _, format := range []struct {
		dtype              DType
		mantissa, exponent int
	}{{F16, 10, 5}, {BF16, 7, 8}} {
		x := Tensor{Name: "x", DType: format.dtype, Shape: []int{1 << 16}, Data: data}
		must.Do(t, x.Float32s(got))
		for i, g := range got {
			want := value(i, format.mantissa, format.exponent)
			if want != want && g != g {
				continue
			}
			if float64(g) != want || math.Signbit(float64(g)) != math.Signbit(want) {
				t.Fatalf("%s %#04x is %v, want %v", format.dtype, i, g, want)
			}
		}
	}
	x := Tensor{Name: "x", DType: F64, Shape: []int{1}, Data: make([]byte, 8)}
	if err := x.Float32s(got[:1]); err == nil || !strings.Contains(err.Error(), `tensor "x" has format F64`) {
		t.Errorf("F64: %v", err)
	}
}

func TestFloat32RoundTrip(t *testing.T) {
	values := []float32{0, float32(math.Copysign(0, -1)), 1, -math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Inf(1)), math.Float32frombits(0x7fc12345)}
	f := must.Get(Parse(write(t, []Tensor{Float32("x", []int{7}, values)}, map[string]string{"a": "ä\n", "format": "pt"})))(t)
	got := make([]float32, 7)
	must.Do(t, f.Tensor("x").Float32s(got))
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(values[i]) {
			t.Errorf("value %d: %v, want %v", i, got[i], values[i])
		}
	}
	if f.Metadata["a"] != "ä\n" || f.Metadata["format"] != "pt" {
		t.Errorf("metadata %q", f.Metadata)
	}
}

// A large length in a small file must not make the reader allocate.
func TestParseAllocatesLittle(t *testing.T) {
	data := file(`{"a":{"dtype":"F32","shape":[1000000000],"data_offsets":[0,4000000000]}}`, "")
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Parse(data); err == nil {
				b.Fatal("accepted")
			}
		}
	})
	if n := result.AllocedBytesPerOp(); n > 1<<16 {
		t.Errorf("%d bytes allocated for a file of %d", n, len(data))
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file("{}      ", ""))
	f.Add(file(`{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, "\x00\x00\x80\x3f"))
	f.Add(file(`{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"b":{"dtype":"F16","shape":[],"data_offsets":[4,6]}}`, "abcdef"))
	f.Add(file(`{"a":{"dtype":"I32","shape":[2,18446744073709551614],"data_offsets":[0,16]}}`, "0123456789abcdef"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parsed, err := Parse(data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("error of more than one line: %q", err)
			}
			return
		}
		// What was accepted covers the data exactly, and survives a round trip.
		total := 0
		for i := range parsed.Tensors {
			x := &parsed.Tensors[i]
			total += len(x.Data)
			if uint64(len(x.Data)) != uint64(x.Len())*x.DType.size() {
				t.Fatalf("tensor %q: %d bytes for %v", x.Name, len(x.Data), x.Shape)
			}
			if x.DType == F32 || x.DType == F16 || x.DType == BF16 {
				must.Do(t, x.Float32s(make([]float32, x.Len())))
			}
		}
		if header := binary.LittleEndian.Uint64(data); total != len(data)-8-int(header) {
			t.Fatalf("tensors cover %d bytes of %d", total, len(data)-8-int(header))
		}
		var b bytes.Buffer
		must.Do(t, Write(&b, parsed.Tensors, parsed.Metadata))
		again := must.Get(Parse(b.Bytes()))(t)
		for _, x := range parsed.Tensors {
			y := again.Tensor(x.Name)
			if y == nil || y.DType != x.DType || !slices.Equal(y.Shape, x.Shape) || !bytes.Equal(y.Data, x.Data) {
				t.Fatalf("tensor %q changed in a round trip: %+v", x.Name, y)
			}
		}
	})
}
