package reader

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// unpacker reads msgpack from front to back. It builds no values: the caller says what belongs where, and the rest is
// passed over without being held.
//
// Source: the specification of msgpack, spec.md of github.com/msgpack/msgpack.
type unpacker struct {
	in   *bufio.Reader
	pos  int64
	size int64
	left int // numbers that may still be read
	most int // of a micro batch
}

func newUnpacker(at io.ReaderAt, size int64, most bounds) *unpacker {
	return &unpacker{in: bufio.NewReaderSize(io.NewSectionReader(at, 0, size), 1<<16), size: size, left: most.numbers, most: most.numbers}
}

// packed is the beginning of a value: what it is, and its length or its number.
type packed struct {
	kind byte // of kinds
	n    int64
	x    float64
}

// The kinds of values; parts is a list of n, pairs a map of n, plain n bytes, and word n bytes of text.
const (
	packedNil = iota
	packedNumber
	packedWord
	packedPlain
	packedParts
	packedPairs
)

// take reads n bytes, at most eight, as a number.
func (m *unpacker) take(n int) (uint64, error) {
	var b [8]byte
	if _, err := io.ReadFull(m.in, b[8-n:]); err != nil {
		return 0, fmt.Errorf("it is cut at byte %d", m.size)
	}
	m.pos += int64(n)
	return binary.BigEndian.Uint64(b[:]), nil
}

// next reads the beginning of a value.
func (m *unpacker) next() (packed, error) {
	tag, err := m.take(1)
	if err != nil {
		return packed{}, err
	}
	sized := func(kind byte, bytes, more int) (packed, error) {
		n, err := m.take(bytes)
		size := int64(n) + int64(more)
		if err == nil && size > m.size-m.pos {
			err = fmt.Errorf("byte %d: %d entries or bytes in a file that has %d more", m.pos, n, m.size-m.pos)
		}
		return packed{kind: kind, n: size}, err
	}
	whole := func(bytes int, signed bool) (packed, error) {
		n, err := m.take(bytes)
		x := float64(n)
		if shift := 64 - 8*bytes; signed {
			x = float64(int64(n<<shift) >> shift)
		}
		return packed{kind: packedNumber, x: x}, err
	}
	switch {
	case tag < 0x80:
		return packed{kind: packedNumber, x: float64(tag)}, nil
	case tag < 0x90:
		return packed{kind: packedPairs, n: int64(tag & 0xf)}, nil
	case tag < 0xa0:
		return packed{kind: packedParts, n: int64(tag & 0xf)}, nil
	case tag < 0xc0:
		return packed{kind: packedWord, n: int64(tag & 0x1f)}, nil
	case tag >= 0xe0:
		return packed{kind: packedNumber, x: float64(int8(tag))}, nil
	}
	switch tag {
	case 0xc0:
		return packed{}, nil
	case 0xc2, 0xc3:
		return packed{kind: packedNumber, x: float64(tag & 1)}, nil
	case 0xc4, 0xc5, 0xc6:
		return sized(packedPlain, 1<<(tag-0xc4), 0)
	case 0xc7, 0xc8, 0xc9: // a type stands before the bytes
		return sized(packedPlain, 1<<(tag-0xc7), 1)
	case 0xca:
		n, err := m.take(4)
		return packed{kind: packedNumber, x: float64(math.Float32frombits(uint32(n)))}, err
	case 0xcb:
		n, err := m.take(8)
		return packed{kind: packedNumber, x: math.Float64frombits(n)}, err
	case 0xcc, 0xcd, 0xce, 0xcf:
		return whole(1<<(tag-0xcc), false)
	case 0xd0, 0xd1, 0xd2, 0xd3:
		return whole(1<<(tag-0xd0), true)
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return packed{kind: packedPlain, n: 1 + 1<<(tag-0xd4)}, nil
	case 0xd9, 0xda, 0xdb:
		return sized(packedWord, 1<<(tag-0xd9), 0)
	case 0xdc, 0xdd:
		return sized(packedParts, 2<<(tag-0xdc), 0)
	case 0xde, 0xdf:
		return sized(packedPairs, 2<<(tag-0xde), 0)
	}
	return packed{}, fmt.Errorf("byte %d: %#x begins no value", m.pos-1, tag)
}

// list reads the beginning of a list, and says how many entries it has.
func (m *unpacker) list() (int, error) {
	v, err := m.next()
	if err == nil && v.kind != packedParts {
		err = fmt.Errorf("byte %d: no list where one belongs", m.pos)
	}
	return int(v.n), err
}

// numbers reads a list of numbers and truth values, nil for nil.
func (m *unpacker) numbers() ([]float64, error) {
	v, err := m.next()
	if err != nil || v.kind == packedNil {
		return nil, err
	}
	if v.kind != packedParts {
		return nil, fmt.Errorf("byte %d: no list where one belongs", m.pos)
	}
	if m.left -= int(v.n); m.left < 0 {
		return nil, fmt.Errorf("more than %d numbers: raise --max-memory", m.most)
	}
	x := make([]float64, v.n)
	for i := range x {
		v, err := m.next()
		switch {
		case err != nil:
			return nil, err
		case v.kind == packedNil:
			v.x = nan
		case v.kind != packedNumber:
			return nil, fmt.Errorf("entry %d is no number", i)
		}
		x[i] = v.x
	}
	return x, nil
}

// texts reads a list of texts, of which equal ones follow each other.
func (m *unpacker) texts(list []namedFrom) ([]namedFrom, error) {
	n, err := m.list()
	if err != nil {
		return list, err
	}
	for i := range n {
		v, err := m.next()
		if err != nil {
			return list, err
		}
		if v.kind != packedWord || v.n > longestEnv {
			return list, fmt.Errorf("entry %d is no text of at most %d bytes", i, longestEnv)
		}
		word, err := m.in.Peek(int(v.n))
		if err != nil {
			return list, fmt.Errorf("it is cut at byte %d", m.size)
		}
		if len(list) == 0 || list[len(list)-1].text != string(word) {
			if m.left -= longestEnv / 8; m.left < 0 {
				return list, fmt.Errorf("more than %d numbers: raise --max-memory", m.most)
			}
			list = append(list, namedFrom{i, string(word)})
		}
		m.pass(v.n)
	}
	return list, nil
}

// pass goes over n bytes.
func (m *unpacker) pass(n int64) error {
	for n > 0 {
		k, err := m.in.Discard(int(min(n, math.MaxInt32)))
		m.pos, n = m.pos+int64(k), n-int64(k)
		if err != nil {
			return fmt.Errorf("it is cut at byte %d", m.size)
		}
	}
	return nil
}

// skip goes over a value.
func (m *unpacker) skip(depth int) error {
	v, err := m.next()
	if err != nil {
		return err
	}
	if depth > deepest {
		return fmt.Errorf("more than %d levels deep", deepest)
	}
	entries := v.n
	switch v.kind {
	case packedPairs:
		entries *= 2
	case packedWord, packedPlain:
		return m.pass(v.n)
	case packedNil, packedNumber:
		return nil
	}
	for range entries {
		if err := m.skip(depth + 1); err != nil {
			return err
		}
	}
	return nil
}
