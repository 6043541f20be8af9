package gguf

import (
	"encoding/binary"
	"fmt"

	"driftlab/precision"
)

// Type is the type of a tensor's numbers in the file.
type Type uint32

// The types, with their numbers in the file (enum ggml_type in ggml.h).
const (
	F32  Type = 0
	F16  Type = 1
	Q4_0 Type = 2
	Q8_0 Type = 8
	BF16 Type = 30
)

// blockLength is the number of elements of a block of Q8_0 and Q4_0.
const blockLength = 32

// types are the types by their names on the command line.
var types = []struct {
	name string
	t    Type
}{{"f32", F32}, {"f16", F16}, {"bf16", BF16}, {"q8_0", Q8_0}, {"q4_0", Q4_0}}

// Types lists the names that ParseType reads, from the finest to the coarsest.
func Types() []string {
	var names []string
	for _, x := range types {
		names = append(names, x.name)
	}
	return names
}

// ParseType reads a type's name.
func ParseType(name string) (Type, error) {
	for _, x := range types {
		if x.name == name {
			return x.t, nil
		}
	}
	return 0, fmt.Errorf("unknown type %q; did you mean %q?", name, precision.NearestName(name, Types()))
}

// String is the name that ParseType reads.
func (t Type) String() string {
	for _, x := range types {
		if x.t == t {
			return x.name
		}
	}
	return fmt.Sprintf("type(%d)", uint32(t))
}

// encode appends the numbers of a matrix with cols columns.
func (t Type) encode(dst []byte, x []float32, cols int) []byte {
	switch t {
	case F32:
		dst, _ = binary.Append(dst, binary.LittleEndian, x) // numbers of a fixed size
		return dst
	case F16, BF16:
		f := precision.FP16
		if t == BF16 {
			f = precision.BF16
		}
		for _, v := range x {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(f.Encode(v)))
		}
		return dst
	}
	q := precision.Quantizer{Format: precision.INT8, Granularity: precision.Q8_0}
	if t == Q4_0 {
		q = precision.Quantizer{Format: precision.INT4, Granularity: precision.Q4_0}
	}
	values, scales := make([]float32, len(x)), make([]float32, len(x)/blockLength)
	q.Quantize(values, scales, x, len(x)/cols, cols)
	for i, scale := range scales {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(precision.FP16.Encode(scale)))
		block := values[i*blockLength:][:blockLength]
		if t == Q8_0 {
			for _, v := range block {
				dst = append(dst, byte(int8(v)))
			}
			continue
		}
		for j := range blockLength / 2 { // -8..7 stored as 0..15
			dst = append(dst, byte(block[j]+8)|byte(block[j+blockLength/2]+8)<<4)
		}
	}
	return dst
}
