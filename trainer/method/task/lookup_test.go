package task

import (
	"slices"
	"strings"
	"testing"
)

// play writes a noiseless pass through a lookup prompt that calls for every
// hidden operand, with the replies of the tool itself.
func play(t *testing.T, l *Lookup, p Prompt) []int32 {
	t.Helper()
	words := strings.Fields(Text(lookupVocab, p.Tokens))[1:]
	value := int(p.Tokens[len(p.Tokens)-1] - digit0)
	var response []int32
	for i := 0; i < len(words)-2; i += 3 {
		response = append(response, p.Tokens[1+i])
		if words[i+2] == "?" {
			response = append(response, callMark)
			reply := l.Reply(nil, p.Tokens, response)
			if len(reply) != l.Output+1 {
				t.Fatalf("reply of %d tokens, want %d", len(reply), l.Output+1)
			}
			response = append(response, reply...)
			words[i+2] = Text(lookupVocab, reply[l.Output:])
		}
		value = evaluate(t, words[i:i+3], value)
		response = append(response, digit(value))
	}
	return append(response, answerMark, digit(value), EOS)
}

// TestReplies: who calls for what is hidden gets everything right, and the
// verifier reads the working step by step.
func TestReplies(t *testing.T) {
	l := NewLookup()
	rng := seeded(30)
	calls := 0
	for range 500 {
		p := Draw(l, rng)
		response := play(t, l, p)
		v := l.Verify(p, response)
		if !v.Correct || !v.Format || len(v.Steps()) != p.Difficulty {
			t.Fatalf("%s | %s: %v %v, %d steps", Text(lookupVocab, p.Tokens), Text(lookupVocab, response), v.Correct, v.Format, len(v.Steps()))
		}
		for _, s := range v.Steps() {
			if !s.Valid || !s.Exact {
				t.Fatalf("%s: step ending at %d is faulty", Text(lookupVocab, response), s.End)
			}
		}
		hiddenOnes := 0
		for _, id := range p.Tokens {
			if id == hidden {
				hiddenOnes++
			}
		}
		mask := Generated(nil, l, p.Tokens, response)
		written := 0
		for n, own := range mask {
			if own {
				written++
			}
			if rare := response[n] >= familiar0+familiarSize; rare && own {
				t.Fatalf("token %d of %s is a reply's and passes for the policy's", n, Text(lookupVocab, response))
			}
		}
		if len(mask) != len(response) || len(response)-written != hiddenOnes*(l.Output+1) {
			t.Fatalf("%d of %d tokens are the policy's, with %d calls", written, len(response), hiddenOnes)
		}
		calls += hiddenOnes
	}
	if calls < 500 {
		t.Errorf("%d calls: the test needs more", calls)
	}
}

// TestReply: what is replied to what.
func TestReply(t *testing.T) {
	l := &Lookup{MaxCalls: 2, Output: 3}
	prompt := tokens(t, lookupVocab, "<bos> b + 3 a * ? : 7")
	reply := func(text string) []int32 { return l.Reply(nil, prompt, tokens(t, lookupVocab, text)) }
	for _, text := range []string{"", "b", "b 0 a", "@ b", "@ @ @"} {
		if got := reply(text); len(got) != 0 {
			t.Errorf("%q is answered %s", text, Text(lookupVocab, got))
		}
	}
	visible, secret := reply("b @"), reply("a @")
	if want := digit(3); visible[3] != want {
		t.Errorf("the operand of b is %s", Text(lookupVocab, visible[3:]))
	}
	if want := digit(table(prompt, marker0)); secret[3] != want {
		t.Errorf("the operand of a is %s, the table has %s", Text(lookupVocab, secret[3:]), Text(lookupVocab, []int32{want}))
	}
	if again := reply("b 0 a @"); !slices.Equal(again, secret) {
		t.Error("the first call for a is answered in two ways")
	}
	if second := reply("b @ A A A 3 0 a @"); second[3] != secret[3] || slices.Equal(second[:3], secret[:3]) {
		t.Errorf("the second call is answered %s, the first %s", Text(lookupVocab, second), Text(lookupVocab, secret))
	}
	for _, text := range []string{"@", "c @", "5 @"} {
		if got := reply(text); len(got) != 4 {
			t.Errorf("%q without a marker of the prompt is answered %s", text, Text(lookupVocab, got))
		}
	}
	buf := make([]int32, 0, 8)
	response := tokens(t, lookupVocab, "b 0 a @")
	if n := testing.AllocsPerRun(100, func() { buf = l.Reply(buf[:0], prompt, response) }); n != 0 {
		t.Errorf("Reply allocates %v times", n)
	}
}

// TestRareSymbols: the tool writes rare symbols only, all of them; a
// demonstration has them as often as Rare says, and familiar ones else.
func TestRareSymbols(t *testing.T) {
	l := NewLookup()
	rng := seeded(31)
	seen := map[int32]bool{}
	rare, with := 0, 0
	const n = 4000
	for range n {
		p := Draw(l, rng)
		response := play(t, l, p)
		for k, own := range Generated(nil, l, p.Tokens, response) {
			if id := response[k]; !own && id >= int32(sharedSize) {
				if !slices.Contains(l.Symbols(true), id) {
					t.Fatalf("the tool writes %s", Text(lookupVocab, []int32{id}))
				}
				seen[id] = true
			}
		}
		demo := l.Demonstration(nil, p, rng)
		known := slices.ContainsFunc(demo, func(id int32) bool { return slices.Contains(l.Symbols(false), id) })
		unknown := slices.ContainsFunc(demo, func(id int32) bool { return slices.Contains(l.Symbols(true), id) })
		if known && unknown {
			t.Fatalf("%s mixes symbols", Text(lookupVocab, demo))
		}
		if known || unknown {
			with++
		}
		if unknown {
			rare++
		}
	}
	if len(seen) != rareSize {
		t.Errorf("%d of %d rare symbols occur", len(seen), rareSize)
	}
	if share := float64(rare) / float64(with); share < 0.03 || share > 0.07 {
		t.Errorf("%.3f of the demonstrations with replies are rare, want %.2f", share, l.Rare)
	}
}

// TestGuessing: without a call a hidden operand cannot be known. The best guess
// over many prompts is right once in ten.
func TestGuessing(t *testing.T) {
	rng := seeded(32)
	l := &Lookup{Difficulty: Range{5, 5}, Calls: Range{1, 1}, MaxCalls: 1}
	var count [10]int
	const n = 5000
	for range n {
		p := Draw(l, rng)
		at := slices.Index(p.Tokens, hidden)
		count[table(p.Tokens, p.Tokens[at-2])]++
	}
	for d, c := range count {
		if c < n/10-120 || c > n/10+120 {
			t.Errorf("operand %d comes %d times in %d", d, c, n)
		}
	}
}

// TestGeneratedWithoutTool: all of it.
func TestGeneratedWithoutTool(t *testing.T) {
	for _, e := range Table {
		k := e.New()
		p := Draw(k, seeded(33))
		demo := k.Demonstration(nil, p, seeded(33))
		if _, tool := k.(Tool); !tool && slices.Contains(Generated(nil, k, p.Tokens, demo), false) {
			t.Errorf("%s: the policy did not write all of its response", e.Name)
		}
	}
}

// TestNotes: a prompt that asks for notes hides nothing, has the answer of the
// chain, and its demonstrations write out every operand, all by themselves.
func TestNotes(t *testing.T) {
	l := NewLookup()
	l.Notes, l.Noise = 1, 0
	rng := seeded(34)
	longest := 0
	for range 300 {
		p := Draw(l, rng)
		if slices.Contains(p.Tokens, hidden) || p.Tokens[len(p.Tokens)-2] != equals {
			t.Fatalf("%s asks for no notes", Text(lookupVocab, p.Tokens))
		}
		if got, want := Text(lookupVocab, p.Answer), oracle(t, l, p); got != want {
			t.Fatalf("%s: answer %s, want %s", Text(lookupVocab, p.Tokens), got, want)
		}
		demo := l.Demonstration(nil, p, rng)
		longest = max(longest, len(demo))
		if len(demo) != p.Difficulty*(4+l.Output)+3 {
			t.Fatalf("%s has %d tokens", Text(lookupVocab, demo), len(demo))
		}
		for i := range p.Difficulty {
			step := demo[i*(4+l.Output):]
			if step[0] != p.Tokens[1+3*i] || step[1] != noteMark || step[2+l.Output] != p.Tokens[3+3*i] {
				t.Fatalf("step %d of %s | %s", i, Text(lookupVocab, p.Tokens), Text(lookupVocab, demo))
			}
		}
		v := l.Verify(p, demo)
		if !v.Correct || !v.Format || len(v.Steps()) != p.Difficulty || slices.Contains(Generated(nil, l, p.Tokens, demo), false) {
			t.Fatalf("%s: %+v", Text(lookupVocab, demo), v)
		}
	}
	if longest != l.MaxResponse() {
		t.Errorf("longest demonstration of %d tokens, bound %d", longest, l.MaxResponse())
	}
	l.Notes = 0.25
	notes := 0
	for range 2000 {
		if wantsNotes(Draw(l, rng).Tokens) {
			notes++
		}
	}
	if notes < 420 || notes > 580 {
		t.Errorf("%d of 2000 prompts ask for notes, want %v", notes, l.Notes)
	}
}
