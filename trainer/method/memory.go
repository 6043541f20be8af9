package method

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Memory is implemented by whatever remembers something from step to step in addition to
// weights: a dual variable, an adapted coefficient, a history. An interrupted run
// saves the state, and what is resumed with it goes on with the same bits. A test
// of every registry asks that nothing remembers without it.
type Memory interface {
	// AppendState appends the state to dst.
	AppendState(dst []byte) []byte
	// SetState takes what AppendState appended. After an error the method is not
	// to be used.
	SetState(state []byte) error
}

// AppendState appends numbers bit for bit, slices after their lengths. It takes
// int, bool, float64, []float32 and []float64.
func AppendState(dst []byte, numbers ...any) []byte {
	for _, x := range numbers {
		switch x := x.(type) {
		case int:
			dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
		case bool:
			if x {
				dst = append(dst, 1)
			} else {
				dst = append(dst, 0)
			}
		case float64:
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		case []float32:
			dst = binary.LittleEndian.AppendUint64(dst, uint64(len(x)))
			for _, v := range x {
				dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
			}
		case []float64:
			dst = AppendState(dst, len(x))
			for _, v := range x {
				dst = AppendState(dst, v)
			}
		default:
			panic(fmt.Sprintf("method: a state has no %T", x))
		}
	}
	return dst
}

// ReadState reads what AppendState wrote of the same numbers, all of it, through
// pointers to them. A pointer to a slice takes any number of values; a slice as many
// as it has.
func ReadState(state []byte, numbers ...any) error {
	s := reader{rest: state}
	for _, x := range numbers {
		switch x := x.(type) {
		case *int:
			*x = int(s.word())
		case *bool:
			*x = s.bytes(1)[0] != 0
		case *float64:
			*x = math.Float64frombits(s.word())
		case []float32:
			read32(x, s.counted(len(x), 4))
		case *[]float32:
			data := s.counted(-1, 4)
			*x = make([]float32, len(data)/4)
			read32(*x, data)
		case []float64:
			read64(x, s.counted(len(x), 8))
		case *[]float64:
			data := s.counted(-1, 8)
			*x = make([]float64, len(data)/8)
			read64(*x, data)
		default:
			panic(fmt.Sprintf("method: a state is not read into a %T", x))
		}
	}
	if s.broken || len(s.rest) > 0 {
		return fmt.Errorf("a state of %d bytes is not one of this method and these parameters", len(state))
	}
	return nil
}

// reader decodes a state. Once broken it gives zeroes.
type reader struct {
	rest   []byte
	broken bool
}

func (s *reader) bytes(n int) []byte {
	if s.broken || n > len(s.rest) {
		s.broken = true
		return make([]byte, n)
	}
	data := s.rest[:n]
	s.rest = s.rest[n:]
	return data
}

func (s *reader) word() uint64 { return binary.LittleEndian.Uint64(s.bytes(8)) }

// counted returns the bytes of a slice of values of that size: want of them, any
// number if that is below 0. A broken state has none.
func (s *reader) counted(want, size int) []byte {
	n := s.word()
	if s.broken || n > uint64(len(s.rest)/size) || want >= 0 && n != uint64(want) {
		s.broken = true
		return nil
	}
	return s.bytes(int(n) * size)
}

func read32(dst []float32, data []byte) {
	for ; len(data) > 0; data, dst = data[4:], dst[1:] {
		dst[0] = math.Float32frombits(binary.LittleEndian.Uint32(data))
	}
}

func read64(dst []float64, data []byte) {
	for ; len(data) > 0; data, dst = data[8:], dst[1:] {
		dst[0] = math.Float64frombits(binary.LittleEndian.Uint64(data))
	}
}
