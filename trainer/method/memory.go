package method

import (
	"bytes"
	"encoding/binary"
	"fmt"
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
// int, bool, float64, []int, []float32 and []float64.
func AppendState(dst []byte, numbers ...any) []byte {
	for _, x := range numbers {
		switch x := x.(type) {
		case int:
			dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
		case bool, float64:
			dst = appendFixed(dst, x)
		case []int:
			dst = AppendState(dst, len(x))
			for _, v := range x {
				dst = AppendState(dst, v)
			}
		case []float32:
			dst = appendFixed(AppendState(dst, len(x)), x)
		case []float64:
			dst = appendFixed(AppendState(dst, len(x)), x)
		default:
			panic(fmt.Sprintf("method: a state has no %T", x))
		}
	}
	return dst
}

// appendFixed appends values of a size that does not depend on the processor.
func appendFixed(dst []byte, x any) []byte {
	dst, err := binary.Append(dst, binary.LittleEndian, x)
	if err != nil {
		panic("method: " + err.Error()) // such a value has a size
	}
	return dst
}

// ReadState reads what AppendState wrote of the same numbers, all of it, through
// pointers to them. A pointer to a slice takes any number of values; a slice as many
// as it has.
func ReadState(state []byte, numbers ...any) error {
	s := reader{rest: bytes.NewReader(state)}
	for _, x := range numbers {
		switch x := x.(type) {
		case *int:
			var v int64
			s.read(&v)
			*x = int(v)
		case *bool, *float64:
			s.read(x)
		case *[]int:
			*x = make([]int, 0, s.rest.Len()/8)
			for _, v := range list[int64](&s, nil, -1) {
				*x = append(*x, int(v))
			}
		case []float32:
			list(&s, x, len(x))
		case *[]float32:
			*x = list[float32](&s, nil, -1)
		case []float64:
			list(&s, x, len(x))
		case *[]float64:
			*x = list[float64](&s, nil, -1)
		default:
			panic(fmt.Sprintf("method: a state is not read into a %T", x))
		}
	}
	if s.broken || s.rest.Len() > 0 {
		return fmt.Errorf("a state of %d bytes is not one of this method and these parameters", len(state))
	}
	return nil
}

// reader decodes a state, which is broken where a value is missing.
type reader struct {
	rest   *bytes.Reader
	broken bool
}

// read takes a value of a size that does not depend on the processor.
func (s *reader) read(x any) {
	s.broken = binary.Read(s.rest, binary.LittleEndian, x) != nil || s.broken
}

// list reads a slice of want values into x, of any number into new memory if want is below 0. A broken state has none.
func list[T int64 | float32 | float64](s *reader, x []T, want int) []T {
	var n uint64
	s.read(&n)
	if s.broken || n > uint64(s.rest.Len()/binary.Size(T(0))) || want >= 0 && n != uint64(want) {
		s.broken = true
		return nil
	}
	if want < 0 {
		x = make([]T, n)
	}
	s.read(x)
	return x
}
