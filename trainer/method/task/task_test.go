package task

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"driftlab/precision/must"
	"driftlab/trainer/method"
)

// seeded returns a random source of its own for every test.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 99)) }

// each runs a test on every task of the table with its defaults.
func each(t *testing.T, f func(t *testing.T, k Task)) {
	for _, e := range Table {
		t.Run(e.Name, func(t *testing.T) { f(t, e.New()) })
	}
}

// setNoise changes the noise of any task.
func setNoise(k Task, q float64) {
	reflect.ValueOf(k).Elem().FieldByName("Noise").SetFloat(q)
}

func TestVocabularies(t *testing.T) {
	each(t, func(t *testing.T, k Task) {
		vocab := k.Vocab()
		if vocab[PAD] != "<pad>" || vocab[BOS] != "<bos>" || vocab[EOS] != "<eos>" {
			t.Errorf("special tokens are %q", vocab[:3])
		}
		if !slices.Equal(vocab[:sharedSize], sharedVocab) {
			t.Error("the shared part differs from the other tasks")
		}
		sorted := slices.Sorted(slices.Values(vocab))
		if len(slices.Compact(sorted)) != len(vocab) {
			t.Error("a word occurs twice")
		}
		all := make([]int32, len(vocab))
		for i := range all {
			all[i] = int32(i)
		}
		back, err := Parse(vocab, Text(vocab, all))
		if err != nil || !slices.Equal(back, all) {
			t.Errorf("Parse(Text(x)) = %v, %v", back, err)
		}
	})
	if len(sharedVocab) != 32 || len(fillerVocab) != 64 || len(lookupVocab) != 64 {
		t.Errorf("sizes %d, %d and %d, want 32, 64 and 64", len(sharedVocab), len(fillerVocab), len(lookupVocab))
	}
	if got := Text(sharedVocab, []int32{-1, 99, digit(3)}); got != "<?> <?> 3" {
		t.Errorf("Text of foreign ids: %q", got)
	}
	if _, err := Parse(sharedVocab, "a 10"); err == nil || !strings.Contains(err.Error(), `word 2, "10"`) {
		t.Errorf("Parse of a foreign word: %v", err)
	}
}

// thorough makes lookup's demonstrations call for every hidden operand, and those of search try every number.
func thorough(k Task) {
	switch k := k.(type) {
	case *Lookup:
		k.Guess = 0
	case *Search:
		k.Patience = 1
	}
}

// TestPrompts checks what holds for every prompt: it is reproducible, within
// bounds, and its noiseless demonstration is right in every respect.
func TestPrompts(t *testing.T) {
	each(t, func(t *testing.T, k Task) {
		setNoise(k, 0)
		thorough(k)
		rng := seeded(1)
		for i := range 2000 {
			p, stream := Draw(k, rng), int64(training)
			if i%2 == 1 {
				p, stream = DrawHeldOut(k, rng), evaluation
			}
			if p.ID < 0 || p.ID >= 1<<53 || p.ID&1 != stream {
				t.Fatalf("id %d in stream %d", p.ID, stream)
			}
			if again := k.Reproduce(p.ID); !reflect.DeepEqual(p, again) {
				t.Fatalf("Reproduce gave %v, not %v", again, p)
			}
			if p.Tokens[0] != BOS || len(p.Tokens) > k.MaxPrompt() {
				t.Fatalf("prompt %s with a bound of %d", Text(k.Vocab(), p.Tokens), k.MaxPrompt())
			}
			demo := k.Demonstration(nil, p, rng)
			v := k.Verify(p, demo)
			if !v.Correct || !v.Format || len(demo) > k.MaxResponse() {
				t.Fatalf("%s | %s: %v %v, %d tokens of %d", Text(k.Vocab(), p.Tokens), Text(k.Vocab(), demo),
					v.Correct, v.Format, len(demo), k.MaxResponse())
			}
			for _, s := range v.Steps() {
				if !s.Valid || !s.Exact {
					t.Fatalf("%s: step ending at %d is faulty", Text(k.Vocab(), demo), s.End)
				}
			}
			if len(v.Steps()) == 0 {
				t.Fatalf("%s: no steps", Text(k.Vocab(), demo))
			}
		}
	})
}

// TestBoundsAreReached: the bounds are lengths that occur, not just bounds.
func TestBoundsAreReached(t *testing.T) {
	each(t, func(t *testing.T, k Task) {
		rng := seeded(2)
		thorough(k)
		prompt, response := 0, 0
		if f, ok := k.(*Filler); ok {
			f.Continue = 1
		}
		for range 1000 {
			p := Draw(k, rng)
			prompt = max(prompt, len(p.Tokens))
			response = max(response, len(k.Demonstration(nil, p, rng)))
		}
		if prompt != k.MaxPrompt() || response != k.MaxResponse() {
			t.Errorf("longest %d and %d, bounds %d and %d", prompt, response, k.MaxPrompt(), k.MaxResponse())
		}
	})
}

func TestDeterminism(t *testing.T) {
	each(t, func(t *testing.T, k Task) {
		run := func() (all []int32) {
			rng := seeded(3)
			for range 200 {
				p := Draw(k, rng)
				all = append(all, p.Tokens...)
				all = k.Demonstration(all, p, rng)
			}
			return all
		}
		if !slices.Equal(run(), run()) {
			t.Error("two runs from one seed differ")
		}
	})
}

// smallest returns each task with as few distinct prompts as its parameters
// allow, where the two streams are most likely to meet.
func smallest() []Task {
	return []Task{
		&Chain{Difficulty: Range{1, 1}},
		&Addition{Difficulty: Range{1, 1}},
		&Search{Difficulty: Range{1, 10}, Operations: 2},
		&Filler{Difficulty: Range{1, 1}},
		&Lookup{Difficulty: Range{1, 1}, Calls: Range{0, 1}, MaxCalls: 1, Output: 1},
		&Chapters{Difficulty: Range{1, 1}, Words: 2, Vocabulary: 32},
	}
}

func TestStreamsAreDisjoint(t *testing.T) {
	for i, k := range smallest() {
		t.Run(Table[i].Name, func(t *testing.T) {
			rng := seeded(4)
			trained := map[string]bool{}
			for range 5000 {
				trained[Text(k.Vocab(), Draw(k, rng).Tokens)] = true
			}
			held := map[string]bool{}
			for range 5000 {
				text := Text(k.Vocab(), DrawHeldOut(k, rng).Tokens)
				if trained[text] {
					t.Fatalf("prompt %q is in both streams", text)
				}
				held[text] = true
			}
			share := float64(len(held)) / float64(len(held)+len(trained))
			if share < 0.35 || share > 0.65 {
				t.Errorf("%d texts in training, %d held out", len(trained), len(held))
			}
		})
	}
}

// TestDifficultyIsUniform: within five standard deviations for every value.
func TestDifficultyIsUniform(t *testing.T) {
	const n = 6000
	for _, k := range []Task{NewChain(), NewAddition(), NewSearch(), NewFiller(), NewLookup(), NewChapters()} {
		r := reflect.ValueOf(k).Elem().FieldByName("Difficulty").Interface().(Range)
		rng := seeded(5)
		count := map[int]int{}
		for range n {
			count[Draw(k, rng).Difficulty]++
		}
		p := 1 / float64(r[1]-r[0]+1)
		sd := math.Sqrt(n * p * (1 - p))
		for d := r[0]; d <= r[1]; d++ {
			if math.Abs(float64(count[d])-n*p) > 5*sd {
				t.Errorf("%T: difficulty %d came %d times, expected %.0f +- %.0f", k, d, count[d], n*p, sd)
			}
			delete(count, d)
		}
		if len(count) != 0 {
			t.Errorf("%T: difficulties outside the range: %v", k, count)
		}
	}
}

func TestVerifyAndDemonstrateWithoutAllocation(t *testing.T) {
	each(t, func(t *testing.T, k Task) {
		rng := seeded(6)
		p := Draw(k, rng)
		buf := make([]int32, 0, k.MaxResponse())
		demo := k.Demonstration(nil, p, rng)
		var sink Verdict
		if n := testing.AllocsPerRun(200, func() { sink = k.Verify(p, demo) }); n != 0 {
			t.Errorf("Verify allocates %v times", n)
		}
		if n := testing.AllocsPerRun(200, func() { buf = k.Demonstration(buf[:0], p, rng) }); n != 0 {
			t.Errorf("Demonstration allocates %v times", n)
		}
		_ = sink
	})
}

// TestForeignPrompts: a prompt of no known form is answered by an empty verdict.
func TestForeignPrompts(t *testing.T) {
	each(t, func(t *testing.T, k Task) {
		p := Draw(k, seeded(7))
		demo := k.Demonstration(nil, p, seeded(7))
		for cut := range p.Tokens {
			broken := p
			broken.Tokens = p.Tokens[:cut]
			if v := k.Verify(broken, demo); v != (Verdict{}) {
				t.Errorf("prompt cut at %d gives %+v", cut, v)
			}
			broken.Tokens = slices.Clone(p.Tokens)
			broken.Tokens[cut] = PAD
			if v := k.Verify(broken, demo); v != (Verdict{}) {
				t.Errorf("prompt with padding at %d gives %+v", cut, v)
			}
		}
	})
}

func TestLookupCallsAreChecked(t *testing.T) {
	err := method.Check(&Lookup{Difficulty: Range{3, 4}, Calls: Range{0, 4}, MaxCalls: 3})
	want := "calls: 4 operands to hide, difficulty begins with 3 operations\nmax_calls 3: must be at least the operands hidden, 4"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestRecipeFields: recipes set fields by their yaml names and keep the other
// defaults; a range takes exactly two numbers.
func TestRecipeFields(t *testing.T) {
	s := NewSearch()
	must.Do(t, yaml.Unmarshal([]byte("{difficulty: [2, 5], patience: 0.5}"), s))
	if want := (Search{Difficulty: Range{2, 5}, Operations: 2, Noise: 0.05, Patience: 0.5}); *s != want {
		t.Errorf("got %+v, want %+v", *s, want)
	}
	for _, bad := range []string{"{difficulty: [2]}", "{difficulty: [2, 3, 4]}", "{difficulty: 3}", "{difficulty: [2.5, 3]}"} {
		if err := yaml.Unmarshal([]byte(bad), NewSearch()); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// TestSpecExamples runs every worked example: the first line is a prompt, the
// others are responses with the verdict after three spaces.
func TestSpecExamples(t *testing.T) {
	for _, e := range Table {
		k := e.New()
		lines := strings.Split(e.Example, "\n")
		text, _, _ := strings.Cut(strings.TrimPrefix(lines[0], "prompt    "), "   ")
		p := Prompt{Tokens: tokens(t, k.Vocab(), text)}
		if len(lines) != 3 {
			t.Errorf("%s: the example has %d lines", e.Name, len(lines))
		}
		for _, line := range lines[1:] {
			words, verdict, _ := strings.Cut(strings.TrimPrefix(line, "response  "), "   ")
			verdict = strings.TrimSpace(verdict)
			response := tokens(t, k.Vocab(), words)
			if strings.HasPrefix(verdict, "correct") {
				p.Answer, _ = splitAnswer(response) // checked against brute force elsewhere
			}
			v := k.Verify(p, response)
			if v.Correct != strings.HasPrefix(verdict, "correct") || !v.Format {
				t.Errorf("%s: %q gives %v, format %v", e.Name, line, v.Correct, v.Format)
			}
			for _, s := range v.Steps() {
				if v.Correct && !s.Exact {
					t.Errorf("%s: %q has a faulty step ending at %d", e.Name, line, s.End)
				}
			}
		}
	}
}
