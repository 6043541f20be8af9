package task

import (
	"math"
	"testing"
)

// TestChaptersFollowTheirLaw: without noise and tail every word is the first of
// the class that follows the one before; with both, classes, ranks and the
// entropy come as declared.
func TestChaptersFollowTheirLaw(t *testing.T) {
	c := &Chapters{Difficulty: Range{3, 3}, Words: 8, Vocabulary: 64, Zipf: 1}
	demo := c.Demonstration(nil, Draw(c, seeded(1)), seeded(1))
	want := tokens(t, c.Vocab(), "b c d a b c d a : 0 0 2 b c d a b c d a : 0 0 1 b c d a b c d a # 0 0 3 <eos>")
	if got := Text(c.Vocab(), demo); got != Text(c.Vocab(), want) {
		t.Errorf("got %s", got)
	}

	const n = 4000
	c = &Chapters{Difficulty: Range{10, 10}, Words: 5, Vocabulary: 45, Tail: 0.4, Zipf: 1, Noise: 0.2}
	rng := seeded(2)
	count := map[[2]int]float64{} // how often a class was off by so much, at that rank
	words := 0.0
	for range n {
		demo = c.Demonstration(demo[:0], Draw(c, rng), rng)
		last := 0
		for _, id := range demo {
			if !c.isWord(id) {
				last = 0
				continue
			}
			word := int(id - marker0)
			class := word % wordClasses
			count[[2]int{(class - last - 1 + 2*wordClasses) % wordClasses, word / wordClasses}]++
			last = class
			words++
		}
	}
	// 25 words: seven of the first class, six of the others. The tail of a class
	// of R words has ln(1+1/r)/ln(1+R) at rank r = 1 … R.
	rank := func(r, all int) float64 {
		share := 0.4 * math.Log(1+1/float64(r)) / math.Log(1+float64(all))
		if r == 1 {
			share += 0.6
		}
		return share
	}
	for off, classShare := range []float64{0.85, 0.05, 0.05, 0.05} {
		for r := 1; r <= 6; r++ {
			low, high := classShare*rank(r, 7), classShare*rank(r, 6)
			got, sd := count[[2]int{off, r - 1}]/words, math.Sqrt(high/words)
			if got < min(low, high)-5*sd || got > max(low, high)+5*sd {
				t.Errorf("class off by %d, rank %d: %.5f, want %.5f to %.5f", off, r, got, low, high)
			}
		}
	}
	want1 := 0.0
	for _, p := range []float64{0.85, 0.05, 0.05, 0.05} {
		want1 -= p * math.Log(p)
	}
	for _, all := range []int{7, 6, 6, 6} {
		for r := 1; r <= all; r++ {
			want1 -= rank(r, all) * math.Log(rank(r, all)) / 4
		}
	}
	if got := c.Entropy(); math.Abs(got-want1) > 1e-12 {
		t.Errorf("entropy %v, want %v", got, want1)
	}
	c.Zipf, c.Tail, c.Noise = 0, 1, 0
	if got, want := c.Entropy(), (math.Log(7)+3*math.Log(6))/4; math.Abs(got-want) > 1e-12 {
		t.Errorf("uniform words have entropy %v, want %v", got, want)
	}
}

// TestChaptersForm: what is not counted down, or not in chapters, lacks the form
// but may have the answer.
func TestChaptersForm(t *testing.T) {
	c := &Chapters{Difficulty: Range{2, 2}, Words: 2, Vocabulary: 32}
	p := Prompt{Tokens: tokens(t, c.Vocab(), "<bos> d b a c : 0 0 2"), Answer: tokens(t, c.Vocab(), "0 0 2")}
	for text, want := range map[string][2]bool{
		"a b : 0 0 1 c d # 0 0 2 <eos>":             {true, true},
		"a b : 0 0 7 c d # 0 0 2 <eos>":             {true, true}, // a step that is not valid
		"a b c : 0 0 1 c d # 0 0 2 <eos>":           {true, false},
		"a b # 0 0 2 <eos>":                         {true, false},
		"# 0 0 2 <eos>":                             {true, false},
		"a b : 0 0 1 c d : 0 0 0 e f # 0 0 2 <eos>": {true, false},
		"a b : 0 0 1 c d # 0 0 3 <eos>":             {false, true},
		"a b : 0 0 1 c d # 2 <eos>":                 {false, false},
		"a b : 0 0 1 c d":                           {false, false},
	} {
		v := c.Verify(p, tokens(t, c.Vocab(), text))
		if got := [2]bool{v.Correct, v.Format}; got != want {
			t.Errorf("%q: correct and form %v, want %v", text, got, want)
		}
		if steps := v.Steps(); len(steps) > 0 {
			if counted := text[6:11] == "0 0 1"; steps[0] != (Step{End: 5, Valid: counted, Exact: counted}) {
				t.Errorf("%q: steps %+v", text, steps)
			}
		}
	}
}

// TestChaptersSlip: with the declared chance a chapter has a word more or fewer,
// equally often, no answer is longer than the task says, and one with a slip lacks
// the form but has the answer.
func TestChaptersSlip(t *testing.T) {
	c := &Chapters{Difficulty: Range{4, 4}, Words: 3, Vocabulary: 64, Zipf: 1, Slip: 0.3}
	const n = 5000
	rng := seeded(3)
	var demo []int32
	lengths := map[int]float64{}
	for range n {
		p := Draw(c, rng)
		demo = c.Demonstration(demo[:0], p, rng)
		if len(demo) > c.MaxResponse() {
			t.Fatalf("%d tokens, at most %d: %s", len(demo), c.MaxResponse(), Text(c.Vocab(), demo))
		}
		slipped, words := false, 0
		for _, id := range demo {
			if c.isWord(id) {
				words++
			} else if words > 0 {
				lengths[words]++
				slipped = slipped || words != c.Words
				words = 0
			}
		}
		if v := c.Verify(p, demo); !v.Correct || v.Format == slipped {
			t.Fatalf("correct %v, form %v: %s", v.Correct, v.Format, Text(c.Vocab(), demo))
		}
	}
	for words, want := range map[int]float64{2: 0.15, 3: 0.7, 4: 0.15} {
		if got := lengths[words] / (4 * n); math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/(4*n)) {
			t.Errorf("%d words in %.4f of the chapters, want %.4f", words, got, want)
		}
	}
	if len(lengths) != 3 {
		t.Errorf("chapters of %v words", lengths)
	}
}
