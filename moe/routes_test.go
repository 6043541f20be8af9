package moe

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Layer by layer in, token by token stored, layer by layer out.
func TestRoutesRecordRead(t *testing.T) {
	r := Routes{Layers: 2, TopK: 2}
	r.Resize(3)
	if r.Tokens() != 3 || r.At(2, 1)[1] != NoRoute {
		t.Fatalf("fresh routes are %v", r.IDs)
	}
	r.Record(0, 0, []uint8{0, 1, 2, 3, 4, 5})
	r.Record(1, 1, []uint8{6, 7, 0, 2})
	want := []uint8{0, 1, NoRoute, NoRoute, 2, 3, 6, 7, 4, 5, 0, 2}
	if !slices.Equal(r.IDs, want) {
		t.Errorf("stored %v, want %v", r.IDs, want)
	}
	got := make([]uint8, 4)
	if r.Read(got, 1, 1); !slices.Equal(got, []uint8{6, 7, 0, 2}) {
		t.Errorf("read %v", got)
	}
	counts := make([]int, 2*8)
	r.Load(counts, 8)
	if want := []int{1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1}; !slices.Equal(counts, want) {
		t.Errorf("load %v, want %v", counts, want)
	}
	before := &r.IDs[0]
	if r.Resize(2); r.Tokens() != 2 || &r.IDs[0] != before {
		t.Error("a smaller size did not reuse the memory")
	}
	if (&Routes{}).Tokens() != 0 {
		t.Error("the zero value has tokens")
	}
}

func TestRoutesValidate(t *testing.T) {
	for _, tt := range []struct {
		name string
		ids  []uint8
		want string
	}{
		{"good", []uint8{0, 1, 2, 3, NoRoute, NoRoute, 3, 0}, ""},
		{"partial token", []uint8{0, 1, 2}, "3 ids are not whole tokens of 2 layers, top 2"},
		{"out of range", []uint8{0, 1, 2, 3, 0, 1, 4, 3}, "token 1, layer 1: expert 4, there are 4"},
		{"twice", []uint8{0, 1, 2, 2}, "token 0, layer 1: expert 2 twice"},
		{"half recorded", []uint8{0, NoRoute, 2, 1}, "token 0, layer 0: only some of the experts [0 255] are recorded"},
	} {
		r := Routes{Layers: 2, TopK: 2, IDs: tt.ids}
		err := r.Validate(4)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if err := (&Routes{IDs: []uint8{1}}).Validate(4); err == nil {
		t.Error("routes without a shape are valid")
	}
}

// Worked by hand: two sequences of two tokens, two layers, top 2.
func TestCompare(t *testing.T) {
	a := Routes{Layers: 2, TopK: 2, IDs: []uint8{
		0, 1, 2, 3, // same set, other order
		0, 1, 2, 3, // layer 1 flips one expert
		0, 1, 2, 3, // both layers flip, layer 0 both experts
		0, 1, 2, 3, // not recorded in b
	}}
	b := Routes{Layers: 2, TopK: 2, IDs: []uint8{
		1, 0, 2, 3,
		0, 1, 4, 3,
		4, 5, 2, 0,
		NoRoute, NoRoute, 2, 3,
	}}
	flipped := []bool{true, false, false, true}
	f := Compare(a, b, []int{0, 2, 4}, nil, flipped)
	want := Flips{Tokens: 3, Sequences: 2, Layer: []int{1, 2}, Replaced: 4, FlippedTokens: 2, FlippedSequences: 2}
	if f.Tokens != want.Tokens || f.Sequences != want.Sequences || !slices.Equal(f.Layer, want.Layer) || f.Replaced != want.Replaced ||
		f.FlippedTokens != want.FlippedTokens || f.FlippedSequences != want.FlippedSequences {
		t.Errorf("%+v, want %+v", f, want)
	}
	if !slices.Equal(flipped, []bool{false, true, true, false}) {
		t.Errorf("flipped tokens %v", flipped)
	}
	if f.TokenLayerRate() != 0.5 || f.TokenRate() != 2./3 || f.SequenceRate() != 1 || f.LayerRate(0) != 1./3 {
		t.Errorf("rates %v %v %v %v", f.TokenLayerRate(), f.TokenRate(), f.SequenceRate(), f.LayerRate(0))
	}

	if f := Compare(b, a, nil, nil, nil); f.Tokens != 3 {
		t.Errorf("compared the other way, %d tokens, want 3: a hole counts on either side", f.Tokens)
	}
	f = Compare(a, b, []int{0, 2, 4}, []bool{true, false, false, true}, nil)
	if f.Tokens != 1 || f.Sequences != 1 || f.FlippedTokens != 0 || f.TokenLayerRate() != 0 {
		t.Errorf("masked: %+v", f)
	}
	if f := Compare(Routes{Layers: 1, TopK: 2}, Routes{Layers: 1, TopK: 2}, nil, nil, nil); f.TokenRate() != 0 || f.SequenceRate() != 0 {
		t.Errorf("nothing compared: %+v", f)
	}
}

// Comparison is symmetric, zero with oneself, and blind to the order of ranks.
func TestCompareProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers, topK, tokens := rapid.IntRange(1, 3).Draw(t, "layers"), rapid.IntRange(1, 3).Draw(t, "topK"), rapid.IntRange(0, 8).Draw(t, "tokens")
		draw := func() Routes {
			r := Routes{Layers: layers, TopK: topK}
			for range tokens * layers {
				r.IDs = append(r.IDs, rapid.Permutation([]uint8{0, 1, 2, 3}).Draw(t, "ids")[:topK]...)
			}
			return r
		}
		a, b := draw(), draw()
		ab, ba := Compare(a, b, nil, nil, nil), Compare(b, a, nil, nil, nil)
		if !slices.Equal(ab.Layer, ba.Layer) || ab.Replaced != ba.Replaced || ab.FlippedTokens != ba.FlippedTokens {
			t.Fatalf("not symmetric: %+v %+v", ab, ba)
		}
		reversed := Routes{Layers: layers, TopK: topK, IDs: slices.Clone(a.IDs)}
		for i := 0; i < len(reversed.IDs); i += topK {
			slices.Reverse(reversed.IDs[i : i+topK])
		}
		if f := Compare(a, reversed, nil, nil, nil); f.Replaced != 0 || f.FlippedTokens != 0 || f.Tokens != tokens {
			t.Fatalf("the order of ranks counts as a flip: %+v", f)
		}
		if r := ab.TokenRate(); r < ab.TokenLayerRate() || r > float64(layers)*ab.TokenLayerRate()+1e-12 {
			t.Fatalf("token rate %v, token-layer rate %v", r, ab.TokenLayerRate())
		}
	})
}
