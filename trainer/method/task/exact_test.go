package task

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// The oracles below read prompts as text, word by word, and share no code with
// the tasks.

// evaluate runs "c + 3 b * 4" on a value, modulo ten.
func evaluate(t *testing.T, words []string, value int) int {
	t.Helper()
	for ; len(words) >= 3; words = words[3:] {
		d := must.Get(strconv.Atoi(words[2]))(t)
		switch words[1] {
		case "+":
			value += d
		case "-":
			value -= d
		case "*":
			value *= d
		default:
			t.Fatalf("operator %q", words[1])
		}
		value = ((value % 10) + 10) % 10
	}
	return value
}

// oracle returns the words of the one right answer to a prompt.
func oracle(t *testing.T, k Task, p Prompt) string {
	t.Helper()
	words := strings.Fields(Text(k.Vocab(), p.Tokens))[1:]
	last := len(words) - 1
	if _, ok := k.(*Lookup); ok {
		for i := 2; i < last; i += 3 {
			if words[i] == "?" {
				words[i] = strconv.Itoa(table(p.Tokens, p.Tokens[i-1]))
			}
		}
	}
	switch k.(type) {
	case *Chain, *Tagged, *Filler, *Lookup:
		start, _ := strconv.Atoi(words[last])
		if len(words) != 3*p.Difficulty+2 {
			t.Fatalf("%d words for difficulty %d", len(words), p.Difficulty)
		}
		return strconv.Itoa(evaluate(t, words[:last-1], start))
	case *Search:
		target, _ := strconv.Atoi(words[last])
		var hits []string
		for x := range 10 {
			if evaluate(t, words[:last-1], x) == target {
				hits = append(hits, strconv.Itoa(x))
			}
		}
		if len(hits) != 1 || hits[0] != strconv.Itoa(p.Difficulty-1) {
			t.Fatalf("%q has the answers %q at difficulty %d", words, hits, p.Difficulty)
		}
		return hits[0]
	case *Addition:
		var x, y string // digits, highest first
		for i := 0; i < last; i += 4 {
			x, y = words[i+1]+x, words[i+3]+y
		}
		a, _ := strconv.Atoi(x)
		b, _ := strconv.Atoi(y)
		sum := strconv.Itoa(a + b)
		sum = strings.Repeat("0", len(x)+1-len(sum)) + sum
		answer := sum[:1]
		for i := 1; i < len(sum); i++ {
			answer += " " + words[4*(len(sum)-1-i)] + " " + sum[i:i+1]
		}
		if len(x) != p.Difficulty {
			t.Fatalf("%s has difficulty %d", x, p.Difficulty)
		}
		return answer
	case *Chapters:
		n, _ := strconv.Atoi(strings.Join(words[last-2:], ""))
		if n != p.Difficulty {
			t.Fatalf("%q asks for %d chapters at difficulty %d", words, n, p.Difficulty)
		}
		return strings.Join(words[last-2:], " ")
	}
	t.Fatalf("no oracle for %T", k)
	return ""
}

// table is the digit that the lookup tool has for a prompt and a marker: FNV-1a
// over the prompt's ids, combined with the marker's, finished as SplitMix64 is.
func table(prompt []int32, marker int32) int {
	h := uint64(14695981039346656037)
	for _, id := range prompt {
		h ^= uint64(id)
		h *= 1099511628211
	}
	h ^= uint64(marker)
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return int((h ^ h>>31) % 10)
}

func TestAnswersAgainstOracle(t *testing.T) {
	each(t, func(t *testing.T, k Task) {
		rng := seeded(10)
		for range 2000 {
			p := DrawHeldOut(k, rng)
			if got, want := Text(k.Vocab(), p.Answer), oracle(t, k, p); got != want {
				t.Fatalf("%s: answer %q, want %q", Text(k.Vocab(), p.Tokens), got, want)
			}
		}
	})
}

// TestVerifyByBruteForce checks every response of up to four tokens, and every
// answer of the right length after a mark: accepted are exactly those that
// read "working # answer <eos>".
func TestVerifyByBruteForce(t *testing.T) {
	for i, k := range smallest() {
		t.Run(Table[i].Name, func(t *testing.T) {
			vocab := len(k.Vocab())
			longest := 4
			if vocab > 32 {
				longest = 3
			}
			p := Draw(k, seeded(11))
			end := " # " + oracle(t, k, p) + " <eos>"
			accepted, wanted := 0, 0
			for length := range longest + 1 {
				response := make([]int32, length)
				for more := true; more; more = increment(response, vocab) {
					if k.Verify(p, response).Correct {
						accepted++
						if got := " " + Text(k.Vocab(), response); !strings.HasSuffix(got, end) {
							t.Fatalf("accepts %q", got)
						}
					}
				}
				// Free working of the remaining length: anything but pad, bos, eos and the mark.
				if free := length - len(strings.Fields(end)); free >= 0 {
					n := 1
					for range free {
						n *= vocab - 4
					}
					wanted += n
				}
			}
			if accepted != wanted {
				t.Errorf("accepts %d responses of up to %d tokens, want %d", accepted, longest, wanted)
			}
			answer := make([]int32, len(p.Answer))
			accepted = 0
			for more := true; more; more = increment(answer, vocab) {
				if k.Verify(p, slices.Concat([]int32{answerMark}, answer, []int32{EOS})).Correct {
					accepted++
				}
			}
			if accepted != 1 {
				t.Errorf("accepts %d answers of %d tokens, want 1", accepted, len(answer))
			}
		})
	}
}

// increment counts tokens up like an odometer; it returns false after the last value.
func increment(tokens []int32, vocab int) bool {
	for i := range tokens {
		tokens[i]++
		if int(tokens[i]) < vocab {
			return true
		}
		tokens[i] = 0
	}
	return false
}

// TestCorrectResponsesAreFragile: dropping any token after the mark, or
// adding any token there, makes a correct response wrong.
func TestCorrectResponsesAreFragile(t *testing.T) {
	each(t, func(t *testing.T, k Task) {
		setNoise(k, 0)
		thorough(k)
		rng := seeded(12)
		for range 50 {
			p := Draw(k, rng)
			demo := k.Demonstration(nil, p, rng)
			mark := slices.Index(demo, answerMark)
			for i := mark; i < len(demo); i++ {
				if cut := slices.Delete(slices.Clone(demo), i, i+1); k.Verify(p, cut).Correct {
					t.Fatalf("accepts %s", Text(k.Vocab(), cut))
				}
				for id := range int32(len(k.Vocab())) {
					longer := slices.Insert(slices.Clone(demo), i+1, id)
					if k.Verify(p, longer).Correct {
						t.Fatalf("accepts %s", Text(k.Vocab(), longer))
					}
				}
			}
		}
	})
}

// FuzzVerify feeds arbitrary tokens, also ids outside the vocabulary.
func FuzzVerify(f *testing.F) {
	for i := range Table {
		rng := seeded(13)
		k := Table[i].New()
		p := Draw(k, rng)
		var seed []byte
		for _, id := range k.Demonstration(nil, p, rng) {
			seed = append(seed, byte(id))
		}
		f.Add(byte(i), p.ID, seed)
	}
	f.Add(byte(0), int64(-1), []byte{255, 254, 7, 7})
	f.Fuzz(func(t *testing.T, which byte, id int64, data []byte) {
		k := Table[int(which)%len(Table)].New()
		p := k.Reproduce(id)
		response := make([]int32, len(data))
		for i, b := range data {
			response[i] = int32(int8(b))
		}
		v := k.Verify(p, response)
		want := strings.HasSuffix(" "+Text(k.Vocab(), response), " # "+oracle(t, k, p)+" <eos>")
		for i, id := range response {
			last := i == len(response)-1
			want = want && id != PAD && id != BOS && (id != EOS || last)
		}
		count := 0
		for _, id := range response {
			if id == answerMark {
				count++
			}
		}
		if v.Correct != (want && count == 1) {
			t.Errorf("%s: correct is %v", Text(k.Vocab(), response), v.Correct)
		}
		end := -1
		for _, s := range v.Steps() {
			if int(s.End) <= end || int(s.End) >= len(response) {
				t.Errorf("step ends at %d after %d, of %d tokens", s.End, end, len(response))
			}
			end = int(s.End)
		}
	})
}
