package column

import (
	"reflect"
	"testing"
)

// A state brings every column back, what is nil as nil, and leaves what follows it.
func TestState(t *testing.T) {
	some := fill(three(), sampled, three())
	some.Support[1], some.LogpRoll, some.DistRoll = nil, nil, []float32{}
	some.Vocab = 0
	for _, want := range []*Sampled{fill(three(), sampled, three()), some, {Offsets: []int{0}}} {
		var got Sampled
		rest, err := got.ReadState(append(want.AppendState(nil), 7, 8))
		if err != nil || len(rest) != 2 || rest[0] != 7 || !reflect.DeepEqual(want, &got) {
			t.Errorf("error %v, rest %v\n got %+v\nwant %+v", err, rest, got, *want)
		}
	}
}

// A state that ends early is refused, and so are columns that do not fit each other;
// no byte makes the reader panic.
func TestBrokenState(t *testing.T) {
	state := fill(three(), sampled, three()).AppendState(nil)
	var got Sampled
	for n := range state {
		if _, err := got.ReadState(state[:n]); err == nil {
			t.Fatalf("%d bytes of %d are taken", n, len(state))
		}
	}
	for i := range state {
		for _, flip := range []byte{1, 0x40, 0xff} {
			bent := append([]byte{}, state...)
			bent[i] ^= flip
			if _, err := got.ReadState(bent); err == nil && !got.whole() {
				t.Fatalf("byte %d: columns of wrong lengths are taken", i)
			}
		}
	}
	short := fill(three(), sampled, three())
	short.Version = short.Version[1:]
	if _, err := got.ReadState(short.AppendState(nil)); err == nil {
		t.Error("a column without its last entry is taken")
	}
}
