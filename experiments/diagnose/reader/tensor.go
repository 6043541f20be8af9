package reader

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// element is a type of entries: their size in bytes and how to read one.
type element struct {
	size int
	read func([]byte) float64
}

// elements are named as numpy and torch name dtypes, and as torch names storages.
var elements = func() map[string]element {
	le := binary.LittleEndian
	table := map[string]element{
		"float32": {4, func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }},
		"float64": {8, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }},
		"float16": {2, func(b []byte) float64 { return half(le.Uint16(b)) }},
		// The upper half of a float32.
		"bfloat16": {2, func(b []byte) float64 { return float64(math.Float32frombits(uint32(le.Uint16(b)) << 16)) }},
		"int64":    {8, func(b []byte) float64 { return float64(int64(le.Uint64(b))) }},
		"int32":    {4, func(b []byte) float64 { return float64(int32(le.Uint32(b))) }},
		"int16":    {2, func(b []byte) float64 { return float64(int16(le.Uint16(b))) }},
		"int8":     {1, func(b []byte) float64 { return float64(int8(b[0])) }},
		"uint8":    {1, func(b []byte) float64 { return float64(b[0]) }},
		"bool":     {1, func(b []byte) float64 { return float64(min(b[0], 1)) }},
	}
	for other, name := range map[string]string{
		"FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
		"LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool",
		"f4": "float32", "f8": "float64", "f2": "float16", "i8": "int64", "i4": "int32", "i2": "int16", "i1": "int8", "u1": "uint8", "b1": "bool",
	} {
		table[other] = table[name]
	}
	return table
}()

// half is the value of a float16.
func half(b uint16) float64 {
	exponent, mantissa := int(b>>10&31), float64(b&1023)
	x := math.Ldexp(mantissa, -24)
	switch {
	case exponent == 31 && mantissa == 0:
		x = math.Inf(1)
	case exponent == 31:
		x = math.NaN()
	case exponent > 0:
		x = math.Ldexp(1024+mantissa, exponent-25)
	}
	if b&0x8000 != 0 {
		return -x
	}
	return x
}

// tensor is an array in a file, in the order of its entries. Nothing of it is read
// before it is wanted.
type tensor struct {
	shape []int
	kind  element
	at    io.ReaderAt
	from  int64
}

// newTensor checks that the file has what the shape promises.
func newTensor(at io.ReaderAt, from, size int64, kind string, shape []int) (*tensor, error) {
	e, ok := elements[kind]
	if !ok {
		return nil, fmt.Errorf("a tensor of %q, which is not known", kind)
	}
	need := int64(e.size)
	for _, n := range shape {
		if n < 0 || n > 0 && need > size/int64(n) {
			return nil, fmt.Errorf("a tensor of shape %v in %d bytes", shape, size)
		}
		need *= int64(n)
	}
	if from < 0 || need > size {
		return nil, fmt.Errorf("a tensor of shape %v in %d bytes", shape, size)
	}
	return &tensor{shape, e, at, from}, nil
}

// entries is how many there are.
func (t *tensor) entries() int {
	n := 1
	for _, d := range t.shape {
		n *= d
	}
	return n
}

// read returns n entries from one on.
func (t *tensor) read(from, n int) ([]float64, error) {
	if n > rowTokens {
		return nil, fmt.Errorf("a column of %d entries: at most %d can be read", n, rowTokens)
	}
	raw := make([]byte, n*t.kind.size)
	if _, err := t.at.ReadAt(raw, t.from+int64(from*t.kind.size)); err != nil && err != io.EOF {
		return nil, fmt.Errorf("a tensor is cut: %w", err)
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = t.kind.read(raw[i*t.kind.size:])
	}
	return x, nil
}

// shapeOf is a tuple of sizes.
func shapeOf(v any) ([]int, error) {
	l, ok := v.(*list)
	if !ok || l.len() > 8 {
		return nil, fmt.Errorf("a tensor without a shape")
	}
	shape := make([]int, l.len())
	for i := range shape {
		n, ok := l.at(i).(int64)
		if !ok || n < 0 || n > math.MaxInt32 {
			return nil, fmt.Errorf("a tensor whose size is no whole number")
		}
		shape[i] = int(n)
	}
	return shape, nil
}
