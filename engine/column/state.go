package column

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// AppendState appends the responses to dst, with every column that has been
// recorded: whatever waits for its turn when a run is interrupted.
func (s *Sampled) AppendState(dst []byte) []byte {
	for _, n := range s.sizes() {
		dst = binary.AppendUvarint(dst, uint64(*n))
	}
	dst = appendSlice(dst, s.Offsets)
	for _, c := range sampled {
		dst = c.write(dst, s)
	}
	return dst
}

// ReadState reads what AppendState appended, in memory of its own, and returns
// what stands after it. After an error the responses are not to be used.
func (s *Sampled) ReadState(state []byte) (rest []byte, err error) {
	r := reader{rest: state}
	for _, n := range s.sizes() {
		*n = r.count()
	}
	s.Offsets = readSlice[int](&r)
	for _, c := range sampled {
		c.read(s, &r)
	}
	if r.broken || !s.whole() {
		return nil, fmt.Errorf("a state of %d bytes does not begin with responses", len(state))
	}
	return r.rest, nil
}

// sizes are the lengths of the wide columns' rows.
func (s *Sampled) sizes() [5]*int {
	return [5]*int{&s.Layers, &s.TopK, &s.Vocab, &s.KVPlanes, &s.KVWords}
}

// whole reports whether every column is nil or has all its entries.
func (s *Sampled) whole() bool {
	if len(s.Offsets) == 0 || s.Offsets[0] != 0 || !slices.IsSorted(s.Offsets) {
		return false
	}
	return !slices.ContainsFunc(sampled, func(c column[Sampled]) bool { return !c.full(s, s) })
}

// appendSlice appends a slice after its length plus one; nil has 0.
func appendSlice[T any](dst []byte, x []T) []byte {
	if x == nil {
		return binary.AppendUvarint(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(x))+1)
	switch x := any(x).(type) {
	case [][]int32:
		return appendAll(dst, x)
	case [][]uint8:
		return appendAll(dst, x)
	case [][]float32:
		return appendAll(dst, x)
	case [][]uint64:
		return appendAll(dst, x)
	case []int:
		for _, v := range x {
			dst = binary.AppendVarint(dst, int64(v))
		}
		return dst
	}
	dst, err := binary.Append(dst, binary.LittleEndian, x)
	if err != nil {
		panic(err) // the columns' types are these and numbers of a fixed size
	}
	return dst
}

func appendAll[T any](dst []byte, x [][]T) []byte {
	for _, part := range x {
		dst = appendSlice(dst, part)
	}
	return dst
}

// reader decodes a state. Once broken it gives zeroes.
type reader struct {
	rest   []byte
	broken bool
}

// number reads with a function of encoding/binary.
func number[T int64 | uint64](r *reader, read func([]byte) (T, int)) T {
	x, n := read(r.rest)
	if r.broken = r.broken || n <= 0; r.broken {
		return 0
	}
	r.rest = r.rest[n:]
	return x
}

// count reads a number of things, each of which takes a byte at least.
func (r *reader) count() int {
	n := number(r, binary.Uvarint)
	if n > 1<<40 {
		r.broken = true
		return 0
	}
	return int(n)
}

func readSlice[T any](r *reader) []T {
	n := r.count() - 1
	if n < 0 || n > len(r.rest) {
		r.broken = r.broken || n >= 0
		return nil
	}
	x := make([]T, n)
	switch x := any(x).(type) {
	case [][]int32:
		readAll(r, x)
	case [][]uint8:
		readAll(r, x)
	case [][]float32:
		readAll(r, x)
	case [][]uint64:
		readAll(r, x)
	case []int:
		for i := range x {
			x[i] = int(number(r, binary.Varint))
		}
	default:
		// Decode takes bytes of the slice's size and no more.
		size := binary.Size(x)
		if r.broken = r.broken || size > len(r.rest); !r.broken {
			binary.Decode(r.rest[:size], binary.LittleEndian, x)
			r.rest = r.rest[size:]
		}
	}
	return x
}

func readAll[T any](r *reader, x [][]T) {
	for i := range x {
		x[i] = readSlice[T](r)
	}
}
