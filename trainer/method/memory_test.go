package method

import (
	"math"
	"reflect"
	"testing"
)

// A state comes back bit for bit; one that is cut short, too long or of another
// size is refused.
func TestState(t *testing.T) {
	type numbers struct {
		n      int
		yes    bool
		x      float64
		fixed  []float32
		free   []float32
		fixed8 []float64
		free8  []float64
	}
	in := numbers{-7, true, math.Copysign(0, -1), []float32{1, float32(math.Inf(1))}, []float32{3}, []float64{0.1}, []float64{}}
	state := AppendState([]byte("x"), in.n, in.yes, in.x, in.fixed, in.free, in.fixed8, in.free8)[1:]
	read := func(state []byte, fixed int) (numbers, error) {
		out := numbers{fixed: make([]float32, fixed), fixed8: make([]float64, 1)}
		err := ReadState(state, &out.n, &out.yes, &out.x, out.fixed, &out.free, out.fixed8, &out.free8)
		return out, err
	}
	out, err := read(state, 2)
	if err != nil || !reflect.DeepEqual(in, out) || !math.Signbit(out.x) {
		t.Errorf("%+v became %+v: %v", in, out, err)
	}
	for n := range state {
		if _, err := read(state[:n], 2); err == nil {
			t.Errorf("%d of %d bytes were accepted", n, len(state))
		}
	}
	if _, err := read(append(state, 0), 2); err == nil {
		t.Error("a byte too many was accepted")
	}
	if _, err := read(state, 1); err == nil {
		t.Error("two values went into one")
	}
	huge := AppendState(nil, -1)
	if err := ReadState(huge, new([]float64)); err == nil {
		t.Error("a slice of 2^64 values was accepted")
	}
}
