package safetensors

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
)

// MaxHeader is the longest header that is accepted, in bytes: the limit of the
// reference implementation.
const MaxHeader = 100_000_000

// Metadata is the header's key for the free-form strings.
const metadataKey = "__metadata__"

// DType is the number format of a tensor, under the name of the header.
type DType string

// The formats that hold real numbers of the kinds models are stored in.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
)

// sizes are the bytes per value of the formats a file may contain.
var sizes = map[DType]uint64{
	F64: 8, F32: 4, F16: 2, BF16: 2, "F8_E5M2": 1, "F8_E4M3": 1, "F8_E8M0": 1,
	"I64": 8, "U64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1,
}

// size is the number of bytes per value, 0 for an unknown format.
func (d DType) size() uint64 { return sizes[d] }

// Tensor is one named array, row-major, little-endian.
type Tensor struct {
	// Name is unique in its file.
	Name string
	// DType is the number format.
	DType DType
	// Shape is the length of each dimension; empty for a scalar.
	Shape []int
	// Data is the raw values; after Parse, a view of the file's bytes. Tensors of
	// Open have none, nor have those of Float32.
	Data []byte

	values []float32 // of Float32
	source io.ReaderAt
	at     int64 // of the data in source
}

// Float32 makes an F32 tensor of the values, which must stay as they are until
// it is written. It panics if their number does not match the shape.
func Float32(name string, shape []int, values []float32) Tensor {
	if n, ok := elements(shape); !ok || n != uint64(len(values)) {
		panic(fmt.Sprintf("safetensors: tensor %q of shape %v with %d values", name, shape, len(values)))
	}
	return Tensor{Name: name, DType: F32, Shape: shape, values: values}
}

func (t *Tensor) size() int {
	if t.values != nil {
		return 4 * len(t.values)
	}
	return len(t.Data)
}

// part is the number of bytes that are converted at a time: a multiple of every width.
const part = 1 << 15

// write writes the raw values, without a second copy of them all.
func (t *Tensor) write(w io.Writer) error {
	if t.values == nil {
		_, err := w.Write(t.Data)
		return err
	}
	buf := make([]byte, 0, part)
	for chunk := range slices.Chunk(t.values, part/4) {
		buf, _ = binary.Append(buf[:0], binary.LittleEndian, chunk) // numbers of a fixed size
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

// Bytes returns the raw values; of a tensor of Open it reads them.
func (t *Tensor) Bytes() ([]byte, error) {
	if t.source == nil {
		return t.Data, nil
	}
	data := make([]byte, t.Len()*int(t.DType.size()))
	return data, readAt(t.source, data, t.at)
}

// Len is the number of values.
func (t *Tensor) Len() int {
	n, _ := elements(t.Shape)
	return int(n)
}

// Float32s writes the values to dst, of length Len. F32, F16 and BF16 are
// converted exactly; other formats are an error.
func (t *Tensor) Float32s(dst []float32) error {
	if len(dst) != t.Len() {
		panic(fmt.Sprintf("safetensors: tensor %q of shape %v into %d values", t.Name, t.Shape, len(dst)))
	}
	if t.source == nil {
		return t.convert(dst, t.Data)
	}
	width := int(t.DType.size())
	buf := make([]byte, min(part, width*len(dst)))
	at := t.at
	for chunk := range slices.Chunk(dst, part/width) {
		raw := buf[:width*len(chunk)]
		if err := readAt(t.source, raw, at); err != nil {
			return fmt.Errorf("tensor %s: %w", quote(t.Name), err)
		}
		if err := t.convert(chunk, raw); err != nil {
			return err
		}
		at += int64(len(raw))
	}
	return nil
}

func (t *Tensor) convert(dst []float32, raw []byte) error {
	switch t.DType {
	case F32:
		_, err := binary.Decode(raw, binary.LittleEndian, dst)
		return err
	case F16:
		for i := range dst {
			dst[i] = FromHalf(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	case BF16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16)
		}
	default:
		return fmt.Errorf("tensor %s has format %s: convert it to F32, F16 or BF16", quote(t.Name), t.DType)
	}
	return nil
}

// FromHalf is the value of an IEEE 754 half: 1 sign, 5 exponent, 10 mantissa bits.
func FromHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent, mantissa := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exponent {
	case 0x1f: // infinity and NaN, payload kept
		return math.Float32frombits(sign | 0x7f800000 | mantissa<<13)
	case 0: // zero and subnormals: mantissa * 2^-24, exact in float32
		return math.Float32frombits(sign | math.Float32bits(float32(mantissa)*(1.0/(1<<24))))
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | mantissa<<13)
}

// elements is the product of the dimensions; false if it is not representable.
func elements(shape []int) (uint64, bool) {
	n := uint64(1)
	for _, s := range shape {
		if s < 0 {
			return 0, false
		}
		high, low := bits.Mul64(n, uint64(s))
		if high != 0 || low > math.MaxInt64 {
			return 0, false
		}
		n = low
	}
	return n, true
}

// quote prints a name that may come from a damaged file: on one line, not too long.
func quote(name string) string {
	const limit = 120
	if len(name) > limit {
		return fmt.Sprintf("%q...", name[:limit])
	}
	return fmt.Sprintf("%q", name)
}
